// Sorts rows of a table by their keys, any number of them within a bound of memory: sorted rows are
// inserted several times faster, above all by a bulk transaction into a table that is larger than
// memory.
//
//   RowEncoder encode(words);
//   RowSort sort(words);
//   for (const Line& line : lines) {
//     sort.add(encode({line.word, line.count}));
//   }
//   sort.finish();
//   while (sort.next()) {
//     words.insert(bulk, sort.row()).require();
//   }
//
// What does not fit into the memory is written to a temporary file in the database's directory,
// which goes with the object, or when the database is opened again. Rows with the same key stay in
// the order in which they came.
// Thread-safety: belongs to one thread. Must not outlive its database. One that was moved from
//                sorts no rows (row_bytes_max() is 0), its other calls throw invalid_argument.
// Failure: Error invalid_argument for a row that is longer than the memory allows
//          (row_bytes_max()), and for calls out of turn; the sort goes on. Any other one ends it,
//          and every later call throws failed: no_space, io_error, permission_denied, corruption,
//          naming the file; out_of_memory. The constructor: also invalid_argument for a name that
//          is none, or runs that were saved with another memory; not_found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "palimpsest/table.h"

namespace palimpsest {

struct RowSortOptions {
  /// 0: as for indexes that are made (docs/tuning.md).
  std::size_t memory_bytes = 0;
  /// That sort and write beside the caller.
  std::size_t threads = 1;
  /// A name, "<any>.runs", in the database's directory: of a file that stays with the rows of the
  /// last save(), until whoever gave the name removes it. Empty: a temporary file, and no save().
  std::string kept_as{};
  /// With kept_as: what save() has returned. The sort begins with the rows of then. Empty: it
  /// begins with none, and what a file of that name has is given up.
  std::string saved{};
};

class RowSort {
 public:
  explicit RowSort(const Table& table, const RowSortOptions& options = {});
  RowSort(RowSort&&) noexcept;
  RowSort& operator=(RowSort&&) noexcept;
  ~RowSort();

  /// Bytes of key, row and note together that can be sorted.
  [[nodiscard]] std::size_t row_bytes_max() const noexcept;
  /// About what the temporary file takes when so many rows have been added, with `bytes` of keys,
  /// rows and notes together: 0 if they fit into the memory.
  [[nodiscard]] std::uint64_t file_bytes(std::uint64_t rows, std::uint64_t bytes) const noexcept;
  /// Takes a copy, with anything that the caller wants to know of the row later. Before finish().
  void add(const EncodedRow& row, std::string_view note = {});
  /// With kept_as, before finish(): all rows so far are in the file, and survive any crash. What it
  /// returns, a line of text, is for another sort of a table with the same schema, with the same
  /// memory, once this one has gone. Waits for the disk: to be called after many rows.
  [[nodiscard]] std::string save();
  /// There are no more rows. Merges, where there are very many.
  void finish();

  /// After finish(): to the first row, then to the next; false at the end.
  [[nodiscard]] bool next();
  /// Of the row that next() has come to: views, valid until it is called again.
  [[nodiscard]] EncodedRow row() const;
  [[nodiscard]] std::string_view note() const;

 private:
  class State;

  [[nodiscard]] State& state() const;
  [[nodiscard]] bool is_usable() const noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace palimpsest
