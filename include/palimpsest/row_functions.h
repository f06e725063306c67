// What a caller gives to a table to look at rows, or to change them: columns' new values, or
// something callable; table.h says when that is called, and what it may do meanwhile.
//
// All are views, valid during the call that they are given to.
// Thread-safety: what is callable is called in the thread of the table's caller.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "palimpsest/function_ref.h"
#include "palimpsest/row.h"
#include "palimpsest/value.h"

namespace palimpsest {

/// A new value for a column.
struct Change {
  std::string_view column;
  Value value{};
};

/// Changes of different columns.
class Changes {
 public:
  // NOLINTBEGIN(google-explicit-constructor): a list of changes is passed where they are asked for
  constexpr Changes(std::initializer_list<Change> changes) noexcept
      : changes_(changes.begin(), changes.size()) {}
  constexpr Changes(std::span<const Change> changes) noexcept : changes_(changes) {}
  Changes(const std::vector<Change>& changes) noexcept : changes_(changes) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] constexpr std::span<const Change> span() const noexcept { return changes_; }

 private:
  std::span<const Change> changes_;
};

using ReadRow = FunctionRef<void(const RowView& row)>;
/// Rows by the number of their key; returns nothing.
using ReadRows = FunctionRef<void(std::size_t key, const RowView& row)>;
/// Returns whether to go on.
using VisitRow = FunctionRef<bool(const RowView& row)>;
using EditRow = FunctionRef<void(RowEditor& row)>;
/// Rows by the number of their key.
using EditRows = FunctionRef<void(std::size_t key, RowEditor& row)>;
/// Returns the bytes that the row is to have, RowView::bytes(), as a view that is valid until the
/// call of the table returns: so not a std::string of its own.
class RewriteRow : public FunctionRef<std::string_view(const RowView& row)> {
 public:
  template <class Callable>
    requires(!std::is_base_of_v<FunctionRef, std::remove_cvref_t<Callable>> &&
             std::is_invocable_r_v<std::string_view, Callable&, const RowView&> &&
             !std::is_same_v<std::invoke_result_t<Callable&, const RowView&>, std::string>)
  // NOLINTNEXTLINE(google-explicit-constructor): as FunctionRef
  RewriteRow(Callable&& rewrite) noexcept : FunctionRef(rewrite) {}
};

}  // namespace palimpsest
