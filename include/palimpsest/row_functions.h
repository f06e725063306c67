// What a caller passes to a table for reading or changing rows: new column values, or a callable.
// table.h says when a callable is called, and what it may do meanwhile.
//
// All are views, valid during the call that they are passed to.
// Thread-safety: callables run in the thread that calls the table.
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

/// A new value of a column.
struct Change {
  std::string_view column;
  Value value{};
};

/// New values of different columns.
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
/// Called with a row and the index of its key; returns nothing.
using ReadRows = FunctionRef<void(std::size_t key, const RowView& row)>;
/// Returns whether to go on.
using VisitRow = FunctionRef<bool(const RowView& row)>;
using EditRow = FunctionRef<void(RowEditor& row)>;
/// Called with a row and the index of its key.
using EditRows = FunctionRef<void(std::size_t key, RowEditor& row)>;
/// Returns the row's new bytes (RowView::bytes()) as a view that is valid until the table's call
/// returns: therefore not a std::string by value.
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
