// A record as a reader makes it out: as it lies in its leaf, then as it was (versioning/version.h).
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "btree/node/value_buffer.h"
#include "btree/node/virtual_version.h"

namespace palimpsest::btree {

class RecordImage {
 public:
  /// To begin with, a record or nothing, with the caller's memory for its value.
  RecordImage(const std::optional<RecordState>& record, ValueBuffer& value) noexcept
      : is_there_(record.has_value()),
        flags_(record ? record->flags : std::uint16_t{kPlainRecord}),
        value_(value) {
    value_.assign_clamped(record ? record->value : ByteView());
  }

  /// Whether there is a record: neither none nor a ghost.
  [[nodiscard]] bool exists() const noexcept { return is_there_ && (flags_ & kGhost) == 0; }
  [[nodiscard]] std::uint16_t flags() const noexcept { return flags_ & kRecordFlagsKnown; }
  [[nodiscard]] ByteView value() const noexcept { return value_.view(); }

  // For versions:

  void take_away() noexcept { is_there_ = false; }
  void set_flags(std::uint16_t flags) noexcept {
    is_there_ = true;
    flags_ = flags;
  }
  /// Nothing, if the value is shorter: while a transaction is undone its value may be another one
  /// already, and then the version by which it got its length follows, and says all of it.
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
