// Parses the lists inside a tree's log records: runs of a patch, entries of a purge, runs of a bulk
// erasure, leaves of a graft (tree_record_format.h).
//
// The take_ functions bound everything; the for_each_ functions are for lists that passed
// parse_tree_record(). Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/varint.h"
#include "btree/log/tree_record_format.h"
#include "btree/node/node_layout.h"

namespace palimpsest::btree {

/// Takes a varint off the front of `bytes`. False if there is none.
[[nodiscard]] inline bool take_number(ByteView& bytes, std::uint64_t& number) noexcept {
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  const std::byte* end = begin + bytes.size();
  const std::byte* next = take_varint(begin, end, number);
  if (next == nullptr) {
    return false;
  }
  bytes.remove_prefix(static_cast<std::size_t>(next - begin));
  return true;
}

/// Takes a varint of at most 16 bits off the front of `bytes`.
template <class Short>
[[nodiscard]] bool take_short(ByteView& bytes, Short& number) noexcept {
  std::uint64_t taken = 0;
  if (!take_number(bytes, taken) || taken > std::numeric_limits<std::uint16_t>::max()) {
    return false;
  }
  number = static_cast<Short>(taken);
  return true;
}

/// A run of changed bytes in a value.
struct PatchRun {
  std::uint32_t offset = 0;
  ByteView difference;  ///< the bytes before XOR the bytes after

  [[nodiscard]] std::uint32_t end() const noexcept {
    return offset + static_cast<std::uint32_t>(difference.size());
  }
};

/// Takes the run after one that ends at `end` off the list. False if no whole run is there. Gaps
/// have 16 bits, so no sum of them wraps around before it is checked.
[[nodiscard]] inline bool take_patch_run(ByteView& list, std::uint32_t end,
                                         PatchRun& run) noexcept {
  std::uint32_t gap = 0;
  std::uint32_t len = 0;
  if (!take_short(list, gap) || !take_short(list, len) || len > list.size()) {
    return false;
  }
  run = {end + gap, list.substr(0, len)};
  list.remove_prefix(len);
  return true;
}

/// Calls use(PatchRun) for each run of a patch.
template <class Use>
void for_each_patch_run(ByteView list, Use&& use) {
  PatchRun run;
  for (std::uint32_t end = 0; take_patch_run(list, end, run); end = run.end()) {
    use(run);
  }
}

/// Calls use(slot, descriptor) for each entry of a purge or resolution.
template <class Use>
void for_each_purged(ByteView list, Use&& use) {
  while (!list.empty()) {
    PurgeEntry entry;
    std::memcpy(&entry, list.data(), sizeof entry);
    list.remove_prefix(sizeof entry);
    use(SlotIndex{entry.slot}, list.substr(0, entry.descriptor_len));
    list.remove_prefix(entry.descriptor_len);
  }
}

/// Calls use(slot) for each slot of a bulk erasure.
template <class Use>
void for_each_erased(ByteView list, Use&& use) {
  for (; !list.empty(); list.remove_prefix(sizeof(SlotRun))) {
    SlotRun run;
    std::memcpy(&run, list.data(), sizeof run);
    for (SlotIndex slot = run.first; slot < SlotIndex{run.first} + run.count; ++slot) {
      use(slot);
    }
  }
}

/// Takes a leaf of a graft, and its separator, off the list. False if no whole one is there.
[[nodiscard]] inline bool take_grafted(ByteView& list, PageId& page, ByteView& separator) noexcept {
  std::uint64_t id = 0;
  std::uint32_t len = 0;
  if (!take_number(list, id) || !take_short(list, len) || len > list.size()) {
    return false;
  }
  page = PageId{id};
  separator = list.substr(0, len);
  list.remove_prefix(len);
  return true;
}

/// Calls use(page, separator) for each leaf of a graft, ascending.
template <class Use>
void for_each_grafted(ByteView list, Use&& use) {
  PageId page = kNoPage;
  ByteView separator;
  while (!list.empty() && take_grafted(list, page, separator)) {
    use(page, separator);
  }
}

}  // namespace palimpsest::btree
