// Calls of the public API in the model's terms: its rows as tables have them, and changes of one
// row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "palimpsest/database.h"

#include "tests/engine/api/model_database.h"

namespace palimpsest::test {

inline constexpr const char* kByGroup = "by_group";
inline constexpr const char* kByNumber = "by_number";

[[nodiscard]] TableSchema model_schema(const std::string& name);
[[nodiscard]] ModelKey key_of(const RowView& row);
[[nodiscard]] ModelRow row_of(const RowView& row);
/// The rows from the cursor's position on; backward, from the end to the beginning.
[[nodiscard]] ModelRows rows_of(Cursor cursor, Direction direction);

enum class ChangeKind : std::uint8_t {
  insert,
  insert_many,
  upsert,
  update,
  modify,
  modify_many,
  rewrite,
  erase
};
inline constexpr int kChangeKinds = 8;

[[nodiscard]] constexpr bool is_insertion(ChangeKind kind) noexcept {
  return kind == ChangeKind::insert || kind == ChangeKind::insert_many;
}
/// Whether the call changes the row in its page; a row outside its page refuses that.
[[nodiscard]] constexpr bool is_modification(ChangeKind kind) noexcept {
  return kind == ChangeKind::modify || kind == ChangeKind::modify_many;
}

/// The row after such a change, given the row found, or none.
[[nodiscard]] std::optional<ModelRow> changed_by(ChangeKind kind, const ModelRow* seen,
                                                 const ModelRow& row);
/// Null `in`: in no transaction.
[[nodiscard]] Outcome change(const Table& table, Transaction* in, ChangeKind kind,
                             const ModelKey& key, const ModelRow& row);

}  // namespace palimpsest::test
