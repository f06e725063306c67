// The members of every key of the typed workloads, and its name in messages.
//
// A Key has its columns in columns(), its table in kTable, and, for a table but not an index, the
// type of the other columns in Row. name_of(Table) is defined beside the enumeration.
// Thread-safety: plain values.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tuple>

namespace palimpsest::experiments {

/// The columns that are not key.
template <class Key>
using RowOf = typename Key::Row;

/// "table (column, column)", for messages.
template <class Key>
[[nodiscard]] std::string describe(const Key& key) {
  std::string text{name_of(Key::kTable)};
  std::string_view separator = " (";
  const auto append = [&](const auto& column) {
    if constexpr (requires { column.view(); }) {
      text += fmt::format("{}{}", separator, column.view());
    } else {
      text += fmt::format("{}{}", separator, column);
    }
    separator = ", ";
  };
  std::apply([&](const auto&... column) { (append(column), ...); }, Key::columns(key));
  return text + ")";
}

}  // namespace palimpsest::experiments
