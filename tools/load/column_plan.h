// Which field of a record is which column of the table.
//
// By the table's own order, by --columns, or by a header line that names them.
// Failure: UsageError, which names what does not fit. Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/schema.h"

#include "tools/load/chunk_reader.h"
#include "tools/load/dialect.h"

namespace palimpsest::load {

enum class Header : std::uint8_t {
  off = 1,    ///< the first line is a record
  on,         ///< the first line is not looked at, but for columns in another order
  match,      ///< the first line names the columns
  automatic,  ///< by what it has: one of those above, before anything is loaded
};

struct ColumnPlan {
  static constexpr std::size_t kIgnored = ~std::size_t{0};

  /// The number of the column that each field is, or kIgnored.
  std::vector<std::size_t> columns{};
  /// Numbers of the columns that no field is: they become null.
  std::vector<std::size_t> absent{};
  /// The column that no field is and that counts the rows.
  std::optional<std::size_t> numbered{};
  std::string header{};  ///< the file's header line as it stands there, with its end
};

/// Fields by the names of their columns, "" for one that is ignored; no names: all columns in their
/// order. Columns that are not named can be null.
struct PlanOptions {
  std::string numbered{};       ///< the column that counts the rows; empty: none
  bool ignore_unknown = false;  ///< names that are no columns' are ignored
};
[[nodiscard]] ColumnPlan plan_of(const TableSchema& table, std::span<const std::string> names,
                                 const PlanOptions& options = {});

/// Plans for each file, whose first line may say it.
class ColumnPlanner {
 public:
  /// `columns`: what --columns has named, or nothing. `numbered`: as of PlanOptions. All of them
  /// outlive the planner.
  ColumnPlanner(const TableSchema& table, const Dialect& dialect, Header header,
                std::vector<std::string> columns, std::string numbered = {});
  /// Each file has this header, to the byte: names were made of it that it has not.
  void require_header(std::vector<std::string> names) { required_ = std::move(names); }

  /// The plan for the file that a chunk begins, which loses its header line.
  [[nodiscard]] std::shared_ptr<const ColumnPlan> begin_file(Chunk& chunk,
                                                             const std::string& path) const;
  /// Throws what begin_file() would.
  void check_file(const Chunk& chunk, const std::string& path) const;

 private:
  [[nodiscard]] ColumnPlan plan_by(const std::vector<std::string>& header,
                                   const std::string& path) const;
  void check_required(const std::vector<std::string>& header) const;
  void check_order(const std::vector<std::string>& names) const;

  const TableSchema& table_;
  const Dialect& dialect_;
  Header header_;
  std::vector<std::string> columns_;
  PlanOptions options_;
  std::vector<std::string> required_{};
};

/// The header line of a file that a chunk begins, as it stands there.
[[nodiscard]] std::string header_text(const Chunk& chunk, const Dialect& dialect,
                                      const std::string& path);

/// A chunk's first record as fields; nothing if it has none, or that is none.
[[nodiscard]] std::optional<std::vector<std::string>> first_record(const Chunk& chunk,
                                                                   const Dialect& dialect);

/// The fields of a chunk's first record, which is taken off. Throws UsageError if it is none.
[[nodiscard]] std::vector<std::string> take_header(Chunk& chunk, const Dialect& dialect,
                                                   const std::string& path);

}  // namespace palimpsest::load
