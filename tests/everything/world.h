// The expected contents of the database, kept outside of it: tables with their columns, indexes and
// rows, according to the journals of all lives.
//
// Thread-safety: a plain value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/everything/journal.h"

namespace palimpsest::everything {

inline constexpr std::uint32_t kSharedTables = 3;
inline constexpr std::uint32_t kTables = 2 * kThreads + kSharedTables;
inline constexpr std::uint32_t kIndexes = 2;  ///< of a table: by group, and by number, unique

[[nodiscard]] constexpr std::uint8_t own_table(std::uint32_t thread) {
  return static_cast<std::uint8_t>(thread);
}
/// The number of the table for transactions at isolation none, which are visible before they
/// commit.
[[nodiscard]] constexpr std::uint8_t loose_table(std::uint32_t thread) {
  return static_cast<std::uint8_t>(kThreads + thread);
}
[[nodiscard]] constexpr std::uint8_t shared_table(std::uint32_t number) {
  return static_cast<std::uint8_t>(2 * kThreads + number);
}
[[nodiscard]] constexpr bool is_loose(std::uint32_t table) {
  return table >= kThreads && table < 2 * kThreads;
}
[[nodiscard]] constexpr bool is_shared(std::uint32_t table) {
  return table >= 2 * kThreads;
}
[[nodiscard]] std::string table_name(std::uint32_t table);
/// The name of the table whose only row records how far a thread has come.
[[nodiscard]] std::string marker_name(std::uint32_t thread, bool loose);

struct ExtraColumn {
  Id id = 0;
  Fill fill{};
};
using ExtraColumns = std::vector<ExtraColumn>;

struct TableModel {
  Id schema = 0;  ///< its current columns; 0: there is no such table
  Id made = 0;    ///< the columns that it was made with
  std::array<Id, kIndexes> indexes{};
  std::map<std::int64_t, RowState> rows{};
};

struct World {
  std::array<TableModel, kTables> tables{};
  std::map<Id, ExtraColumns> schemas{};  ///< of all times
  Positions numbers{};                   ///< of each thread's last transaction

  [[nodiscard]] std::size_t rows() const;
};

/// The world with what the threads have committed up to these positions. Throws std::runtime_error
/// for impossible histories: two changes of the same row, or one based on a change that is not
/// there. `looker`: the thread that reads while the other threads go on. Then rows written at
/// isolation none, or without a transaction, by other threads are left unchanged.
[[nodiscard]] World advanced(const World& before, const Shared& shared, const Positions& positions,
                             std::optional<std::uint32_t> looker);
/// Whether the table's expected state was known at that time.
[[nodiscard]] constexpr bool is_known(std::uint32_t table, std::optional<std::uint32_t> looker) {
  return !looker || is_shared(table) || table == own_table(*looker);
}

}  // namespace palimpsest::everything
