// Sorts any number of rows of a table by key, within a bound of memory. Sorted rows are inserted
// several times faster, above all by a bulk transaction into a table that is larger than memory.
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
// Rows that do not fit in memory go to a temporary file in the database's directory, which is
// removed with the object, or at the next opening of the database. Rows with equal keys keep the
// order in which they were added.
// Thread-safety: belongs to one thread. Must not outlive its database. A moved-from sort sorts no
//                rows (row_bytes_max() is 0); its other calls throw invalid_argument.
// Failure: Error invalid_argument for a row that is longer than the memory allows
//          (row_bytes_max()), and for calls in the wrong order; the sort can go on. Any other error
//          ends it, and every later call throws failed: no_space, io_error, permission_denied,
//          corruption (these name the file), out_of_memory. The constructor also throws
//          invalid_argument for a bad name, or for runs that were saved with another memory size;
//          and not_found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "palimpsest/table.h"

namespace palimpsest {

struct RowSortOptions {
  /// 0: as for the creation of indexes (docs/tuning.md).
  std::size_t memory_bytes = 0;
  /// Threads that sort and write in the background.
  std::size_t threads = 1;
  /// Name, "<any>.runs", of a file in the database's directory that keeps the rows of the last
  /// save() until the caller removes it. Empty: a temporary file, and no save().
  std::string kept_as{};
  /// With kept_as: the result of save(). The sort begins with the rows saved then. Empty: it begins
  /// with none, and discards the contents of an existing file of that name.
  std::string saved{};
};

class RowSort {
 public:
  explicit RowSort(const Table& table, const RowSortOptions& options = {});
  RowSort(RowSort&&) noexcept;
  RowSort& operator=(RowSort&&) noexcept;
  ~RowSort();

  /// Maximum bytes of key, row and note together.
  [[nodiscard]] std::size_t row_bytes_max() const noexcept;
  /// Approximate size of the temporary file after so many rows with `bytes` of keys, rows and notes
  /// together; 0 if they fit in memory.
  [[nodiscard]] std::uint64_t file_bytes(std::uint64_t rows, std::uint64_t bytes) const noexcept;
  /// Copies a row, with a note for the caller's own use. Before finish().
  void add(const EncodedRow& row, std::string_view note = {});
  /// With kept_as, before finish(): makes all rows so far durable in the file. The result, a line
  /// of text, lets another sort resume once this one is gone: of a table with the same schema, with
  /// the same memory. Waits for the disk: call it after many rows.
  [[nodiscard]] std::string save();
  /// Ends the input. Merges runs if there are very many.
  void finish();

  /// After finish(): moves to the first row, then to the next; false at the end.
  [[nodiscard]] bool next();
  /// The current row's: views, valid until the next call of next().
  [[nodiscard]] EncodedRow row() const;
  [[nodiscard]] std::string_view note() const;

 private:
  class State;

  [[nodiscard]] State& state() const;
  [[nodiscard]] bool is_usable() const noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace palimpsest
