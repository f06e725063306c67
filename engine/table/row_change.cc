#include "engine/table/row_change.h"

#include <fmt/format.h>

#include <cstring>

#include "palimpsest/error.h"

#include "btree/value_edit.h"
#include "engine/format/value_text.h"
#include "engine/table/index_entries.h"
#include "engine/table/row_messages.h"

namespace palimpsest::engine {

using btree::view_of;

bool RowInPlace::begin(ByteView row) noexcept {
  called_ = true;
  damaged_ = !format_->rows().fits(row);
  return !damaged_;
}

void RowInPlace::require_undamaged() const {
  if (damaged_) [[unlikely]] {
    refuse_damaged_row(*format_, key_, "its bytes are not a row of the table");
  }
}

// The values fit, which was checked before: nothing throws here.
void ColumnsInPlace::operator()(ValueEditor& value) {
  if (begin(view_of(value))) {
    format().rows().change_in_place(value, changes_);
  }
}

void EditInPlace::operator()(ValueEditor& value) {
  if (!begin(view_of(value))) {
    return;
  }
  RowEditor editor(value, format().layout);
  edit_(editor);
  const bool any_bytes = format().is_key_value() && format().indexes().empty();
  if (editor.was_refused() || (!any_bytes && !is_allowed(value))) [[unlikely]] {
    refused_ = true;
    value.restore();
  }
}

bool EditInPlace::is_allowed(ValueEditor& edited) {
  if (!format().rows().validate(view_of(edited))) [[likely]] {
    return format().indexes().empty() ||
           same_in_indexes(format(), edited.whole_before(), view_of(edited));
  }
  if (format().rows().validate(edited.whole_before())) {
    mark_damaged();  // not by the editor
  }
  return false;
}

void EditInPlace::require_done() const {
  require_undamaged();
  if (refused_) [[unlikely]] {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\": a row can be edited in place only in columns of fixed "
                            "width that are in no index, and must remain a row of the table",
                            format().schema().name));
  }
}

/// The new bytes; nothing if they are no valid row of the table.
std::optional<ByteView> RewriteInPlace::rewritten(ByteView row) {
  if (!begin(row)) {
    return std::nullopt;
  }
  const ByteView bytes = rewrite_(RowView(key(), row, format(), parts_));
  if (!format().is_key_value()) {
    fault_ = format().rows().validate(bytes);
  } else if (bytes.size() > kRowBytesMax) {
    fault_ = fmt::format("a row of {} bytes is too long: the longest has {}", bytes.size(),
                         kRowBytesMax);
  }
  if (fault_) [[unlikely]] {
    return std::nullopt;
  }
  moves_entries_ = !same_in_indexes(format(), row, bytes);
  return bytes;
}

/// Bytes longer than any value in a leaf cannot be in the leaf, so they are not copied.
void RewriteInPlace::keep(ByteView bytes) noexcept {
  if (bytes.size() <= btree::record_bytes_max(buffer::kPageSizeMax)) {
    memory_.assign_clamped(bytes);
    bytes = memory_.view();
  }
  kept_ = bytes;
}

void RewriteInPlace::operator()(ValueEditor& value) {
  const auto bytes = rewritten(view_of(value));
  if (!bytes) [[unlikely]] {
    return;
  }
  if (bytes->size() == value.bytes().size() && !moves_entries_) [[likely]] {
    if (!bytes->empty()) {  // they may be the row's own
      std::memmove(value.edit_all().data(), bytes->data(), bytes->size());
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
                fmt::format("table \"{}\": the new bytes of the row {} are not a row: {}",
                            format().schema().name, text_of_key(format().keys(), key()), *fault_));
  }
}

}  // namespace palimpsest::engine
