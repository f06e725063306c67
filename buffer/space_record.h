// The log's record of freed pages: those of replaced and removed large values, and those that a
// bulk built in vain.
//
// Pages that a change of a tree takes or frees are named by that change's own record
// (btree/log/tree_record_format.h). This record is for pages freed later than the change that made
// them useless, because a reader could still have read them.
// In the log (little-endian; offsets in bytes), the body of a record of BodyKind::space:
//   0  1  kind      1: the pages are free
//   1  1  zero
//   2  2  count     of runs, 1 to kSpaceRunsMax
//   4  4  zero
//   8  .  runs      of 16 bytes each: 8 first page, 4 pages, 4 zero; no page is in two of them
// Failure: bytes may be hostile: decode returns nothing for anything but such a record. Whether the
//          pages belong to the file is for SpaceMap::recover to validate.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "buffer/page_run.h"

namespace palimpsest::buffer {

/// 0 is reserved, so that bytes never written are noticed.
enum class SpaceRecordKind : std::uint8_t { free = 1 };

struct SpaceRecordHeader {
  SpaceRecordKind kind;
  std::uint8_t reserved_byte;
  std::uint16_t count;
  std::uint32_t reserved_word;
};

struct LoggedRun {
  PageId first;
  std::uint32_t pages;
  std::uint32_t reserved;
};

static_assert(sizeof(SpaceRecordHeader) == 8 && offsetof(SpaceRecordHeader, count) == 2);
static_assert(sizeof(LoggedRun) == 16 && offsetof(LoggedRun, pages) == 8);

/// The most runs in one record; further runs go into further records.
inline constexpr std::size_t kSpaceRunsMax = 64;

[[nodiscard]] constexpr std::size_t space_record_bytes(std::size_t runs) noexcept {
  return sizeof(SpaceRecordHeader) + runs * sizeof(LoggedRun);
}

/// Writes the record that frees these pages into `body`, of space_record_bytes(runs.size()) bytes.
/// Allocates nothing.
void encode_space_record(std::span<const PageRun> runs, MutableBytes body) noexcept;

/// A validated record; a view of its bytes.
class SpaceRecord {
 public:
  /// Nothing unless `body` is exactly one whole record, with possible runs.
  [[nodiscard]] static std::optional<SpaceRecord> decode(ConstBytes body) noexcept;

  [[nodiscard]] SpaceRecordKind kind() const noexcept { return SpaceRecordKind::free; }
  [[nodiscard]] std::size_t count() const noexcept {
    return (body_.size() - sizeof(SpaceRecordHeader)) / sizeof(LoggedRun);
  }
  [[nodiscard]] PageRun run(std::size_t index) const noexcept;

 private:
  explicit SpaceRecord(ConstBytes body) noexcept : body_(body) {}
  [[nodiscard]] LoggedRun logged(std::size_t index) const noexcept;
  [[nodiscard]] bool run_can_be(std::size_t index) const noexcept;

  ConstBytes body_;
};

/// One line.
[[nodiscard]] std::string print(const SpaceRecord& record);

}  // namespace palimpsest::buffer
