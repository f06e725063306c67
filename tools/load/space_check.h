// Whether the disk has room for what a load is going to sort, asked when few of its rows are there.
//
// What is still to come is taken to be as what has come: rows sorted so far, for the part of the
// input that they came from. It is asked again whenever the sorted rows have doubled, and when all
// are there. The table counts as well, with no more than what it is certain to grow by: its rows,
// without its indexes, as far as they could not take pages that are free. Of input whose size
// that is not known (a pipe), only what has come counts.
// Thread-safety: belongs to one thread. Failure: Error no_space.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "palimpsest/row_sort.h"

#include "tools/load/row_origin.h"

namespace palimpsest::load {

struct SpaceCheckOptions {
  std::filesystem::path directory{};  ///< the database's
  /// Of the whole input, decompressed, as far as can be told by now; nothing: not known.
  std::function<std::optional<std::uint64_t>()> input_bytes{};
  bool adds_all = true;          ///< false: rows may be skipped, or replace others
  std::uint64_t data_bytes = 0;  ///< of the page file before the load
  /// What may still be written into the directory; empty: asks the operating system.
  std::function<std::uint64_t()> free_bytes{};
};

class SpaceCheck {
 public:
  static constexpr std::uint64_t kFirstBytes = std::uint64_t{256} << 10U;

  explicit SpaceCheck(SpaceCheckOptions options);

  /// A row was added to the sort, with a note of so many bytes.
  void added(const RowSort& sort, const EncodedRow& row, std::uint64_t note_bytes,
             const RowOrigin& origin) {
    count(row, note_bytes, origin);
    if (added_.bytes >= next_bytes_) {
      next_bytes_ = 2 * added_.bytes;
      check(sort, growth());
    }
  }
  /// All rows have been added.
  void ended(const RowSort& sort) const { check(sort, 1); }

 private:
  void count(const EncodedRow& row, std::uint64_t note_bytes, const RowOrigin& origin);
  [[nodiscard]] double growth() const;
  void check(const RowSort& sort, double growth) const;

  SpaceCheckOptions options_;
  std::uint64_t next_bytes_ = kFirstBytes;
  /// Of rows that were added.
  struct Added {
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;        ///< with their notes
    std::uint64_t table_bytes = 0;  ///< without
  };

  [[nodiscard]] Added all(double growth) const;

  Added added_{};
  Added before_{};                 ///< the last one: the input up to where that begins is theirs
  std::uint64_t file_ = 0;         ///< of the row that was added last
  std::uint64_t files_bytes_ = 0;  ///< of the files before that one
  std::uint64_t position_ = 0;     ///< of that row, in the input as a whole
  std::optional<std::uint64_t> begin_{};  ///< of the first row, there
};

}  // namespace palimpsest::load
