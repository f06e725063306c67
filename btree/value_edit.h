// Types for caller functions that change values in place (palimpsest/value_editor.h).
#pragma once

#include <cstddef>
#include <span>

#include "palimpsest/function_ref.h"
#include "palimpsest/value_editor.h"

#include "base/bytes.h"

namespace palimpsest::btree {

using Edit = FunctionRef<void(ValueEditor& value)>;
using EditMany = FunctionRef<void(std::size_t number, ValueEditor& value)>;

[[nodiscard]] inline ByteView view_of(const ValueEditor& value) noexcept {
  return {value.bytes().data(), value.bytes().size()};
}

/// An edit that may change all bytes of the value: calls change(MutableBytes). Refers to `change`.
template <class Change>
[[nodiscard]] auto of_all_bytes(Change& change) noexcept {
  return [&change](ValueEditor& value) { change(std::as_writable_bytes(value.edit_all())); };
}

}  // namespace palimpsest::btree
