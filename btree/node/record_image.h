// A record as a reader reconstructs it: from its state in the leaf back to an older version
// (versioning/version.h).
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "btree/node/value_buffer.h"
#include "btree/node/virtual_version.h"

namespace palimpsest::btree {

class RecordImage {
 public:
  /// Starts with a record or nothing; `value` is the caller's memory for its value.
  RecordImage(const std::optional<RecordState>& record, ValueBuffer& value) noexcept
      : is_there_(record.has_value()),
        flags_(record ? record->flags : std::uint16_t{kPlainRecord}),
        value_(value) {
    value_.assign_clamped(record ? record->value : ByteView());
  }

  /// Whether there is a record that is not a ghost.
  [[nodiscard]] bool exists() const noexcept { return is_there_ && (flags_ & kGhost) == 0; }
  [[nodiscard]] std::uint16_t flags() const noexcept { return flags_ & kRecordFlagsKnown; }
  [[nodiscard]] ByteView value() const noexcept { return value_.view(); }

  // Called to undo versions:

  void take_away() noexcept { is_there_ = false; }
  void set_flags(std::uint16_t flags) noexcept {
    is_there_ = true;
    flags_ = flags;
  }
  /// Does nothing if the value is too short: while a transaction is being undone, its value may
  /// already have changed. Then the version that set the length follows, and holds the whole value.
  void patch(std::uint16_t offset, ByteView bytes) noexcept {
    const std::size_t size = value_.view().size();
    if (offset <= size && bytes.size() <= size - offset) {
      value_.patch(offset, bytes);
    }
  }
  void replace(ByteView bytes) noexcept { value_.assign_clamped(bytes); }

 private:
  bool is_there_;
  std::uint16_t flags_;
  ValueBuffer& value_;
};

}  // namespace palimpsest::btree
