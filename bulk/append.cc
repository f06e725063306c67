#include "bulk/append.h"

#include <cstdint>
#include <optional>

#include "base/prefetch.h"
#include "base/sync_point.h"
#include "btree/node/key_bytes.h"
#include "btree/structure.h"
#include "btree/with_room.h"

namespace palimpsest::bulk {

using btree::BTree;
using btree::NewRecord;
using btree::with_room;
using btree::WriteContext;

namespace {

/// How many records ahead of the current one are prefetched: collected records have left the
/// processor's nearer caches.
constexpr std::size_t kPrefetchDistance = 16;

/// The first records that can be stored in leaves, up to one that a leaf may end with, and their
/// bytes.
struct Lying {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};

Lying lying_of(std::span<const NewRecord> records, std::uint32_t page_size) noexcept {
  Lying found;
  for (const auto& [key, value] : records) {
    if (key.size() + value.size() > btree::record_bytes_max(page_size)) {
      break;
    }
    ++found.count;
    found.bytes += sizeof(btree::LeafSlot) + key.size() + value.size();
  }
  while (found.count > 0 && !LeafBuilder::can_end_with(records[found.count - 1].key, page_size)) {
    --found.count;
  }
  return found;
}

/// As operator<, but faster for keys with a long common prefix.
bool is_below(ByteView a, ByteView b) noexcept {
  const std::size_t common = btree::common_prefix_length(a, b);
  return common < b.size() && (common == a.size() || static_cast<unsigned char>(a[common]) <
                                                         static_cast<unsigned char>(b[common]));
}

void prefetch_record(const NewRecord& record) noexcept {
  const auto* const begin = reinterpret_cast<const std::byte*>(record.key.data());
  prefetch(begin, begin + record.key.size() + record.value.size());
}

/// Adds the first records, as long as they ascend; returns how many.
std::size_t add_ascending(LeafBuilder& run, std::span<const NewRecord> records) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (i + kPrefetchDistance < records.size()) {
      prefetch_record(records[i + kPrefetchDistance]);
    }
    if (i > 0 && !is_below(records[i - 1].key, records[i].key)) {
      return i;
    }
    run.add(records[i].key, records[i].value);
  }
  return records.size();
}

btree::Structure structure_of(const BTree& tree) noexcept {
  return {tree.descent(), tree.id()};
}

/// Builds a run of the first records. Keys are compared when they are copied. If the records do not
/// ascend, builds a new run of those that do: it may have to end earlier.
std::unique_ptr<LeafBuilder> make_run(const BTree& tree, const WriteContext& by, ByteView lower,
                                      std::span<const NewRecord> records, LeafWriter& writer) {
  for (;;) {
    const Lying lying = lying_of(records, tree.descent().page_size());
    if (lying.count == 0) {
      return nullptr;
    }
    auto run = std::make_unique<LeafBuilder>(
        tree.descent().pool(),
        LeafBuilder::Of{.tree = tree.id(), .lower = lower, .epoch = by.bulk_epoch()}, lying.bytes,
        writer);
    const std::size_t added = add_ascending(*run, records.first(lying.count));
    if (added == lying.count) {
      run->finish();
      return run;
    }
    records = records.first(added);
  }
}

}  // namespace

std::unique_ptr<LeafBuilder> begin_append(const BTree& tree, const WriteContext& by,
                                          std::span<const NewRecord> records, LeafWriter& writer) {
  for (const NewRecord& record : records) {
    tree.check_key(record.key);
  }
  PALIMPSEST_SYNC_POINT("btree.append.begun");
  if (lying_of(records, tree.descent().page_size()).count == 0) {
    return nullptr;
  }
  // open_end() is repeated as well: a search for space may merge the open end away.
  return with_room(by, 1, [&]() -> std::unique_ptr<LeafBuilder> {
    const std::optional<btree::KeyBuffer> lower =
        structure_of(tree).open_end(by, records.front().key);
    return lower ? make_run(tree, by, lower->view(), records, writer) : nullptr;
  });
}

void end_append(const BTree& tree, const WriteContext& by, LeafBuilder& run, std::size_t& done) {
  run.await_durable();
  PALIMPSEST_SYNC_POINT("btree.append.written");
  std::size_t hung = 0;
  const auto keep = [&] {
    done += run.records_of(hung);
    run.keep(hung);
  };
  try {
    with_room(by, 1, [&] { structure_of(tree).graft(by, run.leaves(), hung); });
  } catch (...) {
    keep();
    throw;
  }
  keep();
}

void append(const BTree& tree, const WriteContext& by, std::span<const NewRecord> records,
            LeafWriter& writer, std::size_t& done) {
  if (const std::unique_ptr<LeafBuilder> run = begin_append(tree, by, records, writer)) {
    end_append(tree, by, *run, done);
  }
}

}  // namespace palimpsest::bulk
