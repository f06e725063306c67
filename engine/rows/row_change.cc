#include "engine/rows/row_change.h"

#include <fmt/format.h>

#include <cstring>

#include "palimpsest/error.h"

#include "engine/rows/index_entries.h"
#include "engine/rows/row_copy.h"
#include "engine/rows/row_messages.h"
#include "engine/tables/value_text.h"

namespace palimpsest::engine {
namespace {

ByteView view_of(MutableBytes bytes) noexcept {
  return as_view(bytes.data(), bytes.size());
}

std::span<char> chars_of(MutableBytes bytes) noexcept {
  return {static_cast<char*>(static_cast<void*>(bytes.data())), bytes.size()};
}

}  // namespace

bool RowInPlace::begin(ByteView row) noexcept {
  called_ = true;
  damaged_ = !format_->rows().fits(row);
  return !damaged_;
}

void RowInPlace::require_undamaged() const {
  if (damaged_) [[unlikely]] {
    refuse_damaged_row(*format_, key_, "its bytes are none of the table's");
  }
}

// The values fit, which was asked before: nothing throws here.
void ColumnsInPlace::operator()(MutableBytes value) {
  if (begin(view_of(value))) {
    format().rows().change_in_place(value, changes_);
  }
}

void EditInPlace::operator()(MutableBytes value) {
  if (!begin(view_of(value))) {
    return;
  }
  const bool any_bytes = format().is_key_value() && format().indexes().empty();
  if (!any_bytes) {
    before_.assign_clamped(view_of(value));
  }
  RowEditor editor(chars_of(value));
  edit_(editor);
  if (editor.was_refused() || (!any_bytes && !is_allowed(view_of(value)))) [[unlikely]] {
    refused_ = true;
    if (!any_bytes && !before_.view().empty()) {
      std::memcpy(value.data(), before_.view().data(), before_.view().size());
    }
  }
}

bool EditInPlace::is_allowed(ByteView edited) {
  if (!format().rows().validate(edited)) [[likely]] {
    return same_in_indexes(format(), before_.view(), edited);
  }
  if (format().rows().validate(before_.view())) {
    mark_damaged();  // and not by the editor
  }
  return false;
}

void EditInPlace::require_done() const {
  require_undamaged();
  if (refused_) [[unlikely]] {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\": a row is edited in place in columns of fixed width that "
                            "are in no index, and stays a row of the table",
                            format().schema().name));
  }
}

/// The new bytes; nothing if they are none of the table's.
std::optional<ByteView> RewriteInPlace::rewritten(ByteView row) {
  if (!begin(row)) {
    return std::nullopt;
  }
  const ByteView bytes = rewrite_(RowView(key(), row, format(), parts_));
  if (!format().is_key_value()) {
    fault_ = format().rows().validate(bytes);
  } else if (bytes.size() > kRowBytesMax) {
    fault_ = fmt::format("a row of {} bytes, the longest has {}", bytes.size(), kRowBytesMax);
  }
  if (fault_) [[unlikely]] {
    return std::nullopt;
  }
  moves_entries_ = !same_in_indexes(format(), row, bytes);
  return bytes;
}

/// Bytes that are longer than what a leaf holds do not lie in it.
void RewriteInPlace::keep(ByteView bytes) noexcept {
  if (bytes.size() <= kRowInLeafBytesMax) {
    memory_.assign_clamped(bytes);
    bytes = memory_.view();
  }
  kept_ = bytes;
}

void RewriteInPlace::operator()(MutableBytes value) {
  const auto bytes = rewritten(view_of(value));
  if (!bytes) [[unlikely]] {
    return;
  }
  if (bytes->size() == value.size() && !moves_entries_) [[likely]] {
    if (!value.empty()) {
      std::memmove(value.data(), bytes->data(), value.size());  // they may be the row's own
    }
    stored_ = true;
    return;
  }
  keep(*bytes);
}

void RewriteInPlace::look_at(ByteView row) {
  if (const auto bytes = rewritten(row)) {
    kept_ = *bytes;
  }
}

void RewriteInPlace::require_done() const {
  require_undamaged();
  if (fault_) [[unlikely]] {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\": new bytes of the row {} are no row: {}",
                            format().schema().name, text_of_key(format().keys(), key()), *fault_));
  }
}

}  // namespace palimpsest::engine
