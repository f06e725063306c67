#include "btree/btree.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "palimpsest/error.h"

#include "btree/leaf_entries.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;
using buffer::OptimisticPage;
using buffer::PageType;
using versioning::kNoWriter;

namespace {

/// Contended writes at changing places of a leaf before it is split although it is not full
/// ("Contention and Space Management in B-Trees", CIDR 2021).
constexpr std::uint8_t kContentionMax = 64;

/// A thin leaf whose neighbours are full is not asked again at every removal.
constexpr SlotIndex kMergeEvery = 8;

// Claims a record that no other writer has, as was seen under the same latch.
void claim_free(LeafEntries& entries, const SearchResult& at, ByteView key,
                versioning::Writer& writer) {
  const Claim claim = entries.claim(at, key, writer);
  check(claim.result != Claim::Result::conflict, "a record that nobody has is claimed");
}

}  // namespace

BTree BTree::create(buffer::BufferPool& pool, LargeValueStore& large_values, TreeId id) {
  auto reservation = pool.reserve(1);
  ExclusivePage root = pool.new_root(reservation, PageType::tree_leaf);
  const PageId page = root.frame().page_id.load(std::memory_order_relaxed);
  LeafNode(root.modify(), pool.page_size_bytes()).init(page, id, ByteView(), std::nullopt);
  return BTree(pool, large_values, id, page, pool.index_of(root.frame()));
}

BTree BTree::open(buffer::BufferPool& pool, LargeValueStore& large_values, TreeId id, PageId root) {
  const FrameIndex frame = pool.pin_root(root, id);
  return BTree(pool, large_values, id, root, frame);
}

void BTree::refuse_key(ByteView key) const {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("a key of {} bytes: keys have 1 to {} bytes with pages of {} bytes",
                          key.size(), key_bytes_max(page_size()), page_size()));
}

void BTree::refuse_in_place(ByteView key) const {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the value of the key of {} bytes is stored outside its leaf and cannot "
                          "be changed in place",
                          key.size()));
}

// Reading

BTree::Found BTree::find(ByteView key, ValueBuffer& value, LastLeaf* last) const {
  check_key(key);
  if (last != nullptr && last->covers(key)) {
    const auto leaf = descent_.pool().remembered(last->frame(), last->version());
    if (leaf) {
      const auto found = find_in(*leaf, key, value, nullptr);
      if (found) {
        leaf->frame().touch();
        return *found;
      }
    }
  }
  for (;;) {
    const auto leaf = descent_.try_node<OptimisticPage>(Target{key}, 0);
    if (!leaf) {
      continue;
    }
    const auto found = find_in(*leaf, key, value, last);
    if (found) {
      return *found;
    }
  }
}

Attempt<BTree::Found> BTree::find_in(const OptimisticPage& leaf, ByteView key, ValueBuffer& value,
                                     LastLeaf* last) const {
  const auto found = leaf.read([&](const std::byte* page) {
    const LeafView view(page, page_size());
    const SearchResult at = view.find(key);
    if (!at.found) {
      return Found{};
    }
    const std::uint16_t flags = view.flags(at.slot);
    if ((flags & kGhost) != 0) [[unlikely]] {
      return Found{};
    }
    value.assign_clamped(view.value(at.slot));
    return Found{true, flags};
  });
  if (!found || last == nullptr) {
    return found;
  }
  KeyBuffer lower;
  KeyBuffer upper;
  const auto infinite = leaf.read([&](const std::byte* page) {
    const LeafView view(page, page_size());
    lower.assign_clamped(view.lower_fence(), ByteView());
    upper.assign_clamped(view.upper_fence(), ByteView());
    return view.upper_is_infinite();
  });
  if (infinite) {
    last->remember(descent_.pool().index_of(leaf.frame()), leaf.version(), lower.view(),
                   *infinite ? std::nullopt : std::optional(upper.view()));
  }
  return found;
}

bool BTree::lookup(ByteView key, std::string& value, LastLeaf* last) const {
  return lookup_with(key, [&](ByteView found) { value.assign(found); }, last);
}

// Calls read(descriptor) until it is complete; the value may be replaced meanwhile, and then the
// key is looked up again. False if the key, or a large value of it, is gone; `read` then says what
// to do.
template <class Read>
bool BTree::with_large(ByteView key, ByteView descriptor, Read&& read) const {
  LargeValueDescriptor value = large_values_->decode(descriptor);
  for (;;) {
    if (read(value) == ReadOutcome::complete) {
      return true;
    }
    ValueBuffer now;
    const Found found = find(key, now, nullptr);
    if (!found.exists || (found.flags & kLargeValue) == 0) {
      return false;
    }
    const LargeValueDescriptor current = large_values_->decode(now.view());
    if (current == value) {
      large_values_->verify(value);  // nobody freed its pages: names what is corrupt, or passes
    }
    value = current;
  }
}

bool BTree::read_large(ByteView key, ByteView descriptor, std::string& value) const {
  if (with_large(key, descriptor, [&](const LargeValueDescriptor& large) {
        return large_values_->read_all(large, value);
      })) {
    return true;
  }
  return lookup(key, value);  // a small value by now, or none
}

std::optional<std::uint64_t> BTree::value_bytes(ByteView key) const {
  ValueBuffer value;
  const Found found = find(key, value, nullptr);
  if (!found.exists) {
    return std::nullopt;
  }
  return (found.flags & kLargeValue) == 0 ? value.view().size()
                                          : large_values_->decode(value.view()).size_bytes();
}

bool BTree::read_piece(ByteView key, std::uint64_t offset_bytes, MutableBytes out) const {
  for (;;) {
    ValueBuffer value;
    const Found found = find(key, value, nullptr);
    if (!found.exists) {
      return false;
    }
    if ((found.flags & kLargeValue) == 0) {
      const ByteView bytes = value.view();
      if (offset_bytes > bytes.size() || out.size() > bytes.size() - offset_bytes) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} bytes from offset {} of a value of {} bytes", out.size(),
                                offset_bytes, bytes.size()));
      }
      std::ranges::copy(std::as_bytes(std::span(bytes)).subspan(offset_bytes, out.size()),
                        out.begin());
      return true;
    }
    if (with_large(key, value.view(), [&](const LargeValueDescriptor& large) {
          return large_values_->read(large, offset_bytes, out);
        })) {
      return true;
    }
  }
}

void BTree::prefetch(std::span<const ByteView> keys) const {
  buffer::BufferPool& pool = descent_.pool();
  const std::size_t loads_max =
      std::clamp<std::size_t>(pool.frame_count() / 16, 1, buffer::PageLoader::kLoadsMax);
  std::vector<buffer::BufferPool::Load> loads;
  for (; !keys.empty(); keys = keys.subspan(std::min(keys.size(), loads_max))) {
    bool more = true;
    for (std::uint32_t round = 0; more && round <= kLevelMax; ++round) {  // a level at a time
      for (const ByteView key : keys.first(std::min(keys.size(), loads_max))) {
        descent_.begin_load(Target{key}, loads);
      }
      more = !loads.empty();
      pool.finish_loads(loads);
    }
  }
}

// Writing

ExclusivePage BTree::exclusive_leaf(ByteView key, LastLeaf* last) const {
  if (last != nullptr && last->covers(key)) {
    auto remembered = descent_.pool().remembered(last->frame(), last->version());
    if (remembered) {
      auto leaf = (*std::move(remembered)).to_exclusive();
      if (leaf) {
        leaf->frame().touch();
        return *std::move(leaf);
      }
    }
  }
  return descent_.leaf<ExclusivePage>(Target{key});
}

// Ends a write: remembers the leaf, and splits it if too many writers meet in it. The write is
// done, so nothing fails here: both are wishes.
void BTree::let_go(ExclusivePage leaf, ByteView key, SlotIndex slot, LastLeaf* last) noexcept {
  LeafEntries(leaf, page_size()).finish();
  buffer::Frame& frame = leaf.frame();
  if (last != nullptr) {
    const LeafView view(leaf.page(), page_size());
    last->remember(descent_.pool().index_of(frame), leaf.version_after_release(),
                   view.lower_fence(),
                   view.upper_is_infinite() ? std::nullopt : std::optional(view.upper_fence()));
  }
  if (!leaf.was_contended()) [[likely]] {
    return;
  }
  frame.count_contention(static_cast<std::uint16_t>(slot));
  if (frame.contention.load(std::memory_order_relaxed) >= kContentionMax) {
    frame.contention.store(0, std::memory_order_relaxed);
    leaf.release();
    try {
      structure_.split_leaf(key);
    } catch (const std::exception&) {
      return;  // the leaf stays as it is
    }
  }
}

BTree::Written BTree::write(ByteView key, ByteView value, WriteMode mode, LastLeaf* last,
                            versioning::Writer* writer) {
  check_key(key);
  if (key.size() + value.size() <= record_bytes_max(page_size())) [[likely]] {
    return write_stored(key, {.bytes = value}, mode, last, writer);
  }
  const LargeValueDescriptor large = large_values_->write(value);
  const EncodedDescriptor encoded = large.encode();
  try {
    Written written =
        write_stored(key, {.bytes = encoded.view(), .flags = kLargeValue}, mode, last, writer);
    const bool refused = written.existed ? mode == WriteMode::insert : mode == WriteMode::update;
    if (refused || written.rival != kNoWriter) {
      large_values_->free(large);  // not used
    }
    return written;
  } catch (...) {
    large_values_->free(large);
    throw;
  }
}

BTree::Written BTree::write_stored(ByteView key, const Stored& stored, WriteMode mode,
                                   LastLeaf* last, versioning::Writer* writer) {
  for (;;) {
    if (writer != nullptr) {
      writer->prepare(id_, key);
    }
    ExclusivePage leaf = exclusive_leaf(key, last);
    LeafEntries entries(leaf, page_size());
    const LeafView view(leaf.page(), page_size());
    const SearchResult at = view.find(key);
    Written written{.existed = at.found && !view.is_ghost(at.slot),
                    .replaced = std::nullopt,
                    .rival = entries.rival(at, key, writer)};
    const bool refused = written.existed ? mode == WriteMode::insert : mode == WriteMode::update;
    if (refused || written.rival != kNoWriter) {
      entries.release_unwritten();
      return written;
    }
    if (try_store(entries, key, stored, at, writer, written) ||
        (entries.settle() && try_store(entries, key, stored, at, writer, written))) {
      let_go(std::move(leaf), key, at.slot, last);
      return written;
    }
    entries.release_unwritten();
    if (at.found) {
      structure_.split_leaf(key);
    } else {
      structure_.make_room(key, stored.bytes.size());
    }
  }
}

// Over a record or a ghost, or as a new record. False, and nothing changed, if it does not fit.
bool BTree::try_store(LeafEntries& entries, ByteView key, const Stored& stored,
                      const SearchResult& at, versioning::Writer* writer, Written& written) const {
  if (at.found) {
    return try_replace(entries, key, stored, at, writer, written);
  }
  if (!can_insert(entries.leaf(), page_size(), key.size(), stored.bytes.size())) {
    return false;
  }
  if (writer != nullptr) {
    claim_free(entries, at, key, *writer);
  }
  const auto flags = static_cast<std::uint16_t>(stored.flags | entries.slot_flags(key));
  const bool fits =
      LeafNode(entries.leaf().modify(), page_size()).insert(at.slot, key, stored.bytes, flags);
  check(fits, "a record that can be inserted fits");
  return true;
}

bool BTree::try_replace(LeafEntries& entries, ByteView key, const Stored& stored,
                        const SearchResult& at, versioning::Writer* writer,
                        Written& written) const {
  const versioning::WriterId me = writer == nullptr ? kNoWriter : writer->id();
  if (!entries.can_replace(at.slot, key, stored.bytes.size(), me)) {
    return false;
  }
  written.replaced = large_value_at(LeafView(entries.leaf().page(), page_size()), at.slot);
  if (writer != nullptr) {
    claim_free(entries, at, key, *writer);
  }
  entries.reserve_for_replace(at.slot, key, stored.bytes.size());
  LeafNode node(entries.leaf().modify(), page_size());
  const bool fits = node.replace_value(at.slot, stored.bytes);
  check(fits, "a value that can be replaced fits");
  node.set_flags(at.slot,
                 static_cast<std::uint16_t>(stored.flags | (node.flags(at.slot) & kHasEntry)));
  return true;
}

std::optional<LargeValueDescriptor> BTree::large_value_at(const LeafView& leaf,
                                                          SlotIndex slot) const {
  if ((leaf.flags(slot) & kLargeValue) == 0) {
    return std::nullopt;
  }
  return large_values_->decode(leaf.value(slot));
}

void BTree::free_replaced(const Written& written) {
  if (written.replaced) {
    large_values_->free(*written.replaced);
  }
}

bool BTree::insert(ByteView key, ByteView value, LastLeaf* last) {
  const Written written = write(key, value, WriteMode::insert, last, nullptr);
  free_replaced(written);  // of a ghost
  return !written.existed;
}

bool BTree::upsert(ByteView key, ByteView value, LastLeaf* last) {
  const Written written = write(key, value, WriteMode::upsert, last, nullptr);
  free_replaced(written);
  return !written.existed;
}

bool BTree::upsert_large(ByteView key, const LargeValueDescriptor& value) {
  check_key(key);
  const EncodedDescriptor encoded = value.encode();
  const Written written = write_stored(key, {.bytes = encoded.view(), .flags = kLargeValue},
                                       WriteMode::upsert, nullptr, nullptr);
  free_replaced(written);
  return !written.existed;
}

bool BTree::update(ByteView key, ByteView value, LastLeaf* last) {
  const Written written = write(key, value, WriteMode::update, last, nullptr);
  free_replaced(written);
  return written.existed;
}

bool BTree::remove(ByteView key, LastLeaf* last) {
  return remove_for(nullptr, key, last).existed;
}

BTree::Written BTree::remove_for(versioning::Writer* writer, ByteView key, LastLeaf* last) {
  check_key(key);
  if (writer != nullptr) {
    writer->prepare(id_, key);
  }
  ExclusivePage leaf = exclusive_leaf(key, last);
  LeafEntries entries(leaf, page_size());
  const LeafView view(leaf.page(), page_size());
  const SearchResult at = view.find(key);
  Written written{.existed = at.found && !view.is_ghost(at.slot),
                  .replaced = std::nullopt,
                  .rival = entries.rival(at, key, writer)};
  if (!written.existed || written.rival != kNoWriter) {
    entries.release_unwritten();
    return written;
  }
  written.replaced = large_value_at(view, at.slot);
  if (writer != nullptr) {
    claim_free(entries, at, key, *writer);
  }
  const auto is_thin = [&] {
    return Structure::thinly_filled(unreserved_bytes(leaf, page_size()), page_size());
  };
  const bool was_thin = is_thin();
  entries.give_up_reserved(at, key);
  LeafNode(leaf.modify(), page_size()).remove(at.slot);
  const bool merge = is_thin() && (!was_thin || view.count() % kMergeEvery == 0);
  let_go(std::move(leaf), key, at.slot, last);
  if (merge) {
    structure_.merge_leaf(key);
  }
  free_replaced(written);
  return written;
}

// The value, claimed by the writer if there is one.
BTree::LatchedValue BTree::latch_value(versioning::Writer* writer, ByteView key, LastLeaf* last) {
  check_key(key);
  if (writer != nullptr) {
    writer->prepare(id_, key);
  }
  LatchedValue value;
  ExclusivePage leaf = exclusive_leaf(key, last);
  LeafEntries entries(leaf, page_size());
  const LeafView view(leaf.page(), page_size());
  const SearchResult at = view.find(key);
  value.written.existed = at.found && !view.is_ghost(at.slot);
  value.written.rival = entries.rival(at, key, writer);
  if (!value.written.existed || value.written.rival != kNoWriter) {
    entries.release_unwritten();
    return value;
  }
  if ((view.flags(at.slot) & kLargeValue) != 0) {
    entries.release_unwritten();
    refuse_in_place(key);
  }
  if (writer != nullptr) {
    claim_free(entries, at, key, *writer);
  }
  value.slot = at.slot;
  value.leaf = std::move(leaf);
  return value;
}

WriteOutcome BTree::outcome_of(const Written& written, ByteView key) {
  if (written.rival != kNoWriter) {
    return {.existed = false, .conflict = Conflict{.key = std::string(key), .with = written.rival}};
  }
  return {.existed = written.existed, .conflict = std::nullopt};
}

WriteOutcome BTree::insert(versioning::Writer& writer, ByteView key, ByteView value,
                           LastLeaf* last) {
  const Written written = write(key, value, WriteMode::insert, last, &writer);
  free_replaced(written);  // of a ghost
  return outcome_of(written, key);
}

WriteOutcome BTree::upsert(versioning::Writer& writer, ByteView key, ByteView value,
                           LastLeaf* last) {
  const Written written = write(key, value, WriteMode::upsert, last, &writer);
  free_replaced(written);
  return outcome_of(written, key);
}

WriteOutcome BTree::update(versioning::Writer& writer, ByteView key, ByteView value,
                           LastLeaf* last) {
  const Written written = write(key, value, WriteMode::update, last, &writer);
  free_replaced(written);
  return outcome_of(written, key);
}

WriteOutcome BTree::remove(versioning::Writer& writer, ByteView key, LastLeaf* last) {
  return outcome_of(remove_for(&writer, key, last), key);
}

// Ghosts

bool BTree::mark_deleted(ByteView key, LastLeaf* last) {
  return set_ghost(key, true, last);
}

bool BTree::unmark_deleted(ByteView key, LastLeaf* last) {
  return set_ghost(key, false, last);
}

// False if there is no record, or is one already.
bool BTree::set_ghost(ByteView key, bool ghost, LastLeaf* last) {
  check_key(key);
  ExclusivePage leaf = exclusive_leaf(key, last);
  const LeafView view(leaf.page(), page_size());
  const SearchResult at = view.find(key);
  if (!at.found || view.is_ghost(at.slot) == ghost) {
    leaf.release_unchanged();
    return false;
  }
  LeafNode(leaf.modify(), page_size()).set_ghost(at.slot, ghost);
  let_go(std::move(leaf), key, at.slot, last);
  return true;
}

std::size_t BTree::purge_ghosts(ByteView key,
                                FunctionRef<bool(const LeafView&, SlotIndex)> may_purge) {
  check_key(key);
  std::vector<SlotIndex> slots;
  std::vector<LargeValueDescriptor> large_values;
  ExclusivePage leaf = exclusive_leaf(key, nullptr);
  LeafEntries entries(leaf, page_size());
  const LeafView view(leaf.page(), page_size());
  for (SlotIndex slot = 0; view.ghost_count() != 0 && slot < view.count(); ++slot) {
    if (view.is_ghost(slot) && entries.give_up_if_idle(slot) && may_purge(view, slot)) {
      slots.push_back(slot);
      if (const auto large = large_value_at(view, slot)) {
        large_values.push_back(*large);
      }
    }
  }
  if (slots.empty()) {
    entries.release_unwritten();
    return 0;
  }
  LeafNode(leaf.modify(), page_size()).purge_ghosts(slots);
  entries.finish();
  const bool thin = Structure::thinly_filled(unreserved_bytes(leaf, page_size()), page_size());
  leaf.release();
  if (thin) {
    structure_.merge_leaf(key);
  }
  for (const LargeValueDescriptor& large : large_values) {
    large_values_->free(large);
  }
  return slots.size();
}

}  // namespace palimpsest::btree
