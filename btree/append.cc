#include "btree/append.h"

#include <optional>

#include "base/sync_point.h"
#include "btree/structure.h"

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

Structure structure_of(const BTree& tree) noexcept {
  return {tree.descent(), tree.id()};
}

}  // namespace

std::unique_ptr<LeafRun> begin_append(const BTree& tree, const WriteContext& by,
                                      std::span<const NewRecord> records, RunWriter& writer) {
  for (const NewRecord& record : records) {
    tree.check_key(record.key);
  }
  PALIMPSEST_SYNC_POINT("btree.append.begun");
  const Ascending ascending = ascending_of(records, tree.descent().page_size());
  if (ascending.count == 0) {
    return nullptr;
  }
  const std::optional<KeyBuffer> lower = structure_of(tree).open_end(by, records.front().key);
  if (!lower) {
    return nullptr;
  }
  auto run = std::make_unique<LeafRun>(
      tree.descent().pool(),
      LeafRun::Of{.tree = tree.id(), .lower = lower->view(), .epoch = by.viewer.bulk},
      ascending.bytes, writer);
  for (const auto& [key, value] : records.first(ascending.count)) {
    run->add(key, value);
  }
  run->finish();
  return run;
}

void end_append(const BTree& tree, const WriteContext& by, LeafRun& run, std::size_t& done) {
  run.await_durable();
  PALIMPSEST_SYNC_POINT("btree.append.written");
  std::size_t hung = 0;
  const auto keep = [&] {
    done += run.records_of(hung);
    run.keep(hung);
  };
  try {
    structure_of(tree).graft(by, run.leaves(), hung);
  } catch (...) {
    keep();
    throw;
  }
  keep();
}

void append(const BTree& tree, const WriteContext& by, std::span<const NewRecord> records,
            RunWriter& writer, std::size_t& done) {
  if (const std::unique_ptr<LeafRun> run = begin_append(tree, by, records, writer)) {
    end_append(tree, by, *run, done);
  }
}

}  // namespace palimpsest::btree
