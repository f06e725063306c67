// Many records appended to a tree at once (btree.h): the leaves are written before the tree names
// them.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "base/sync_point.h"
#include "btree/btree.h"
#include "btree/leaf_run.h"

namespace palimpsest::btree {
namespace {

/// The first records that ascend and lie in leaves, and their bytes.
struct Ascending {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};

Ascending ascending_of(std::span<const NewRecord> records, std::uint32_t page_size) noexcept {
  Ascending found;
  for (const auto& [key, value] : records) {
    const bool is_above = found.count == 0 || records[found.count - 1].key < key;
    if (!is_above || key.size() + value.size() > record_bytes_max(page_size)) {
      break;
    }
    ++found.count;
    found.bytes += sizeof(LeafSlot) + key.size() + value.size();
  }
  while (found.count > 0 && !LeafRun::can_end_with(records[found.count - 1].key, page_size)) {
    --found.count;
  }
  return found;
}

}  // namespace

bool BTree::lie_in_leaves(std::span<const NewRecord> records) const noexcept {
  return std::ranges::all_of(records, [&](const NewRecord& record) {
    return record.key.size() + record.value.size() <= record_bytes_max(page_size());
  });
}

bool BTree::is_beyond_end(ByteView key) const {
  KeyBuffer last;
  for (;;) {
    const auto leaf = descent_.try_node<buffer::OptimisticPage>(Target{key}, 0);
    const auto is_beyond = leaf ? leaf->read([&](const std::byte* page) {
      const LeafView view(page, page_size());
      const SlotIndex count = view.count();
      if (count != 0) {
        view.copy_key(count - 1, last);
      }
      return view.upper_is_infinite() && (count == 0 || last.view() < key);
    })
                                : Attempt<bool>(restart);
    if (is_beyond) {
      return *is_beyond;
    }
  }
}

void BTree::append(const WriteContext& by, std::span<const NewRecord> records, std::size_t& done) {
  for (const NewRecord& record : records) {
    check_key(record.key);
  }
  PALIMPSEST_SYNC_POINT("btree.append.begun");
  const Ascending ascending = ascending_of(records, page_size());
  if (ascending.count == 0) {
    return;
  }
  const std::optional<KeyBuffer> lower = structure_.open_end(by, records.front().key);
  if (!lower) {
    return;
  }
  buffer::BufferPool& pool = descent_.pool();
  LeafRun run(pool, {.tree = id_, .lower = lower->view(), .epoch = by.viewer.bulk},
              ascending.bytes);
  for (const auto& [key, value] : records.first(ascending.count)) {
    run.add(key, value);
  }
  run.finish();
  PALIMPSEST_SYNC_POINT("btree.append.written");
  pool.writer().harden();
  std::size_t hung = 0;
  const auto keep = [&] {
    done += run.records_of(hung);
    run.keep(hung);
  };
  try {
    structure_.graft(by, run.leaves(), hung);
  } catch (...) {
    keep();
    throw;
  }
  keep();
}

}  // namespace palimpsest::btree
