// What every key of the typed workloads has, and how messages name it.
//
// A Key has its columns in columns(), its table in kTable, and if it is a table's and no index's,
// the type of the columns beside it in Row. name_of(Table) stands beside the enumeration.
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
