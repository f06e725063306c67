// What a caller gives to a table to look at rows, or to change them; table.h says when it is
// called, and what it may do meanwhile.
//
// A view of something callable, valid during the call that it is given to.
// Thread-safety: called in the thread of the table's caller.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "palimpsest/function_ref.h"
#include "palimpsest/row.h"

namespace palimpsest {

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
