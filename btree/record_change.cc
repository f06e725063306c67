#include "btree/record_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/prefetch.h"
#include "btree/log/tree_redo.h"
#include "btree/log/tree_undo.h"
#include "btree/log_change.h"
#include "btree/node/resolve_records.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;
using versioning::kNoWriter;
using versioning::VersionKind;
using versioning::WriterId;

namespace {

constexpr std::size_t kPrefetchValueBytes = 256;
/// A shorter value is compared as a whole.
constexpr std::size_t kEditedPartOfMin = 64;

/// Finds the key, and prefetches what claiming the record and changing its value will read.
SearchResult search(const ExclusivePage& leaf, std::uint32_t page_size, ByteView key) noexcept {
  if (const versioning::MappingTable* table = table_of(leaf.frame())) {
    table->prefetch();
  }
  const LeafView view(leaf.page(), page_size);
  const SearchResult at = view.find_within(key);
  if (at.found) {
    const ByteView value = view.record(at.slot).value;
    const auto* begin = reinterpret_cast<const std::byte*>(value.data());
    prefetch(begin, begin + std::min(value.size(), kPrefetchValueBytes));
  }
  return at;
}

}  // namespace

RecordChange::RecordChange(const WriteContext& by, ExclusivePage& leaf, buffer::SpaceMap& space,
                           ByteView key, std::uint32_t page_size) noexcept
    : RecordChange(by, leaf, space, key, page_size, search(leaf, page_size, key)) {}

RecordChange::RecordChange(const WriteContext& by, ExclusivePage& leaf, buffer::SpaceMap& space,
                           ByteView key, std::uint32_t page_size, const SearchResult& at) noexcept
    : by_(by),
      leaf_(leaf),
      space_(space),
      key_(key),
      page_size_(page_size),
      entries_(leaf, page_size),
      at_(at) {}

RecordPlace RecordChange::place() const noexcept {
  return {view().tree_id(), page_id_of(leaf_), at_.slot, key_};
}

RecordState RecordChange::state() const noexcept {
  return {view().value(at_.slot),
          static_cast<std::uint16_t>(view().flags(at_.slot) & kRecordFlagsKnown)};
}

std::optional<LargeValueDescriptor> RecordChange::large_only_in(const RecordState& one,
                                                                const RecordState& other) const {
  if ((one.flags & kNamesLarge) == 0) [[likely]] {
    return std::nullopt;
  }
  const auto descriptor = btree::large_only_in(one, other);
  return descriptor ? std::optional(LargeValueDescriptor::decode(*descriptor, page_size_))
                    : std::nullopt;
}

WriterId RecordChange::conflicting_writer() noexcept {
  const WriterId conflicting_writer = find_conflicting_writer();
  if (conflicting_writer != kNoWriter) [[unlikely]] {
    by_.writer()->note_conflicting_writer(conflicting_writer);
  }
  return conflicting_writer;
}

WriterId RecordChange::find_conflicting_writer() noexcept {
  if (by_.writer() == nullptr) {
    return kNoWriter;
  }
  if (const bool is_virtual = has_slot() && has_virtual_version(view(), at_.slot);
      is_virtual || by_.is_bulk()) [[unlikely]] {
    return conflicting_bulk(is_virtual);
  }
  const WriterId conflicting_writer = LeafEntries::conflicting_writer(entry(), by_.writer()->id());
  return conflicting_writer == kNoWriter && is_newer_than_snapshot() ? versioning::kCommittedSince
                                                                     : conflicting_writer;
}

// A virtual version that is still there belongs to a bulk that this transaction does not see, or
// that it cannot keep in versions of its own (VirtualVersionResolver). A bulk has the table to
// itself.
WriterId RecordChange::conflicting_bulk(bool is_virtual) noexcept {
  const bool is_own = by_.is_bulk() && view().bulk_epoch() == by_.bulk_epoch();
  if (is_own || (!is_virtual && !by_.is_bulk())) {
    return entry() == nullptr ? kNoWriter
                              : LeafEntries::conflicting_writer(entry(), by_.writer()->id());
  }
  return versioning::kCommittedSince;
}

// A change that leaves no versions must not change a record that versions, or a mark, refer to.
bool RecordChange::is_newer_than_snapshot() noexcept {
  if (by_.versions() != nullptr) {
    return (entry() != nullptr &&
            versioning::has_changed_since(*entry(), by_.versions()->read_view)) ||
           (at_.found && entries_.is_hidden(at_.slot, by_.versions()->read_view.snapshot));
  }
  if (at_.found && entries_.is_removed_in_span(at_.slot, by_.pruner())) {
    return true;
  }
  if (entry() == nullptr) [[likely]] {
    return false;
  }
  if (entry()->has_versions() && by_.pruner() != nullptr) [[unlikely]] {
    by_.pruner()->prune(*entry(), exists() ? versioning::Pruner::Newest::record
                                           : versioning::Pruner::Newest::nothing);
  }
  return entry()->has_versions();
}

// Versions are kept after the record is claimed and before it is changed. For a record that the
// transaction created, none are kept: other readers undo its creation as a whole.
// A first claim means that the transaction did not create the record.
bool RecordChange::keeps_versions() noexcept {
  return by_.versions() != nullptr &&
         (claims_first_ || !versioning::is_new_of(*entry(), by_.versions()->read_view.mine));
}

// Prunes, because an old reader would make the chain of a frequently changed record grow.
template <class Fill>
void RecordChange::keep(VersionKind kind, std::uint16_t flags_before, std::size_t payload_bytes,
                        Fill&& fill) noexcept {
  entries_.left_version(by_.versions()->start);
  if (by_.versions()->buffer.push(*entry(), kind, flags_before, payload_bytes, fill)) [[unlikely]] {
    by_.pruner()->prune(*entry(), versioning::Pruner::Newest::record);
  }
}

void RecordChange::keep_update(const RecordState& before, const LoggedUpdate& change) noexcept {
  if (!keeps_versions()) {
    return;
  }
  const std::size_t patch_bytes = change.is_patch() ? change.before_runs_bytes() : SIZE_MAX;
  if (patch_bytes < before.value.size()) {
    keep(VersionKind::patched, before.flags, patch_bytes,
         [&](MutableBytes into) { change.put_before_runs(into); });
    return;
  }
  PALIMPSEST_DEBUG_CHECK(change.is_of_whole(),
                         "the before-image that is kept whole is known whole");
  keep(VersionKind::replaced, before.flags, before.value.size(), [&](MutableBytes into) {
    std::memcpy(into.data(), before.value.data(), before.value.size());
  });
}

// Logs a change that takes the pages of `taken` into use.
template <class Change>
void RecordChange::log(const Change& change,
                       const std::optional<LargeValueDescriptor>& taken) noexcept {
  if (by_.log() == nullptr) {
    return;
  }
  if (!taken) [[likely]] {
    log_change(by_, leaf_, change);
    return;
  }
  auto space = space_.change();
  const Gsn gsn = log_change(by_, leaf_, change);
  for (const buffer::PageRun& run : taken->runs()) {
    space.take(run, gsn);
  }
}

void RecordChange::give_up(const std::optional<LargeValueDescriptor>& value) {
  if (value && by_.log() != nullptr) {
    by_.large_values().given_up.push_back(*value);  // prepare() reserved memory
  } else {
    freed_ = value;
  }
}

void RecordChange::claim() {
  if (by_.writer() != nullptr && !by_.is_alone()) [[likely]] {
    claim_for_undo();
  }
}

// Ghosts are always claimed: other transactions purge unclaimed ones.
void RecordChange::claim_ghost() {
  if (by_.writer() != nullptr) {
    claim_for_undo();
  }
}

void RecordChange::claim_for_undo() {
  const Claim claim = entries_.claim(entry(), at_, key_, *by_.writer());
  check(claim.result != Claim::Result::conflict, "an unclaimed record can be claimed");
  claims_first_ = claim.result == Claim::Result::claimed;
  entry_ = claim.entry;
}

bool RecordChange::store(const RecordState& value) {
  if (by_.is_bulk()) [[unlikely]] {
    const bool is_needed = (entry() != nullptr && entry()->has_versions()) ||
                           (at_.found && entries_.is_removed_in_span(at_.slot, by_.pruner()));
    ValueBuffer memory;
    const RecordState stored =
        stored_by_bulk(at_.found ? std::optional(state()) : std::nullopt, is_needed, value, memory);
    return at_.found ? replace(stored) : insert(stored);
  }
  return at_.found ? replace(value) : insert(value);
}

bool RecordChange::insert(const RecordState& value) {
  if (!can_insert(leaf_, page_size_, key_.size(), value.value.size())) {
    return false;
  }
  const auto taken = large_only_in(value, {});
  claim();
  if (by_.versions() != nullptr) {
    keep(VersionKind::inserted, 0, 0, [](MutableBytes) {});
  }
  log(LoggedInsert{place(), value}, taken);
  const auto flags =
      static_cast<std::uint16_t>(value.flags | (entry() == nullptr ? kPlainRecord : kHasEntry));
  const bool fits = LeafNode(leaf_.modify(), page_size_).insert(at_.slot, key_, value.value, flags);
  check(fits, "an inserted record fits its leaf");
  return true;
}

bool RecordChange::replace(const RecordState& value) {
  const WriterId me = by_.writer() == nullptr ? kNoWriter : by_.writer()->id();
  if (!entries_.can_replace(at_.slot, entry(), value.value.size(), me)) {
    return false;
  }
  const auto taken = large_only_in(value, state());
  const auto replaced = large_only_in(state(), value);
  claim();
  if (by_.is_alone() && by_.writer() != nullptr && value.value.size() < state().value.size())
      [[unlikely]] {
    claim_for_undo();
  }
  log_update(state(), value, taken);
  give_up(replaced);
  entries_.reserve_for_replace(at_.slot, entry(), value.value.size());
  LeafNode node(leaf_.modify(), page_size_);
  const bool fits = node.replace_value(at_.slot, value.value);
  check(fits, "a replaced value fits its leaf");
  node.set_flags(at_.slot,
                 static_cast<std::uint16_t>(value.flags | (node.flags(at_.slot) & kInMemoryOnly)));
  return true;
}

static_assert(versioning::kValueHasPages == kLargeValue,
              "versions with large values know the tree of their pages");

void RecordChange::make_ghost() {
  by_.note_removal();
  if (by_.is_bulk()) [[unlikely]] {
    erase_in_bulk();
    return;
  }
  claim_ghost();
  if (keeps_versions()) {
    keep(VersionKind::flags, state().flags, 0, [](MutableBytes) {});
  }
  mark(static_cast<std::uint16_t>(state().flags | kGhost));
}

// A record that the bulk changed before returns to its previous state, which takes less room.
void RecordChange::erase_in_bulk() {
  const RecordState deleted = deleted_by_bulk(state());
  if (deleted.value.size() == state().value.size()) {
    claim_ghost();
    mark(deleted.flags);
    return;
  }
  ValueBuffer value;
  value.assign_clamped(deleted.value);
  const bool fits = replace({value.view(), deleted.flags});
  check(fits, "a record with a virtual version leaves room for both resolutions");
}

/// Sets and logs other flags.
void RecordChange::mark(std::uint16_t flags) noexcept {
  log(LoggedMark{place(), state().flags, flags}, std::nullopt);
  LeafNode node(leaf_.modify(), page_size_);
  node.set_flags(at_.slot,
                 static_cast<std::uint16_t>(flags | (node.flags(at_.slot) & kInMemoryOnly)));
}

// The state before the bulk becomes an ordinary version: older than whatever this transaction does,
// and younger than all versions that the record had.
void RecordChange::keep_before_image(versioning::BulkEpochs::Late& versions) {
  claim();
  entries_.left_version(by_.versions()->start);
  const std::optional<RecordState> before = before_of(state());
  if (!before) {
    versions.push(*entry(), VersionKind::inserted, 0, 0, [](MutableBytes) {});
  } else if ((state().flags & kDeleted) != 0) {
    versions.push(*entry(), VersionKind::flags, before->flags, 0, [](MutableBytes) {});
  } else {
    versions.push(*entry(), VersionKind::replaced, before->flags, before->value.size(),
                  [&](MutableBytes into) {
                    std::memcpy(into.data(), before->value.data(), before->value.size());
                  });
  }
}

void RecordChange::take_out() {
  PALIMPSEST_DEBUG_CHECK(!by_.can_be_undone(),
                         "only a change that cannot be undone removes its record");
  give_up(large_only_in(state(), {}));
  entries_.give_up_reserved(entry());
  LeafNode(leaf_.modify(), page_size_).remove(at_.slot);
}

// The runs before the change take less than the value if they lie within half of it: the head of
// each takes one byte more than the gap before it. Only then is the whole old value not needed.
void RecordChange::log_edited(ValueEditor& value) noexcept {
  const RecordState now = state();
  const std::size_t size = now.value.size();
  const bool is_small_part = size >= kEditedPartOfMin && 2 * (value.end() - value.begin()) <= size;
  if (!is_small_part || (now.flags & kNamesLarge) != 0) {
    log_update({value.whole_before(), now.flags}, now, std::nullopt);
  } else {
    log_update({value.before(), now.flags}, now, std::nullopt, {value.begin(), value.end()});
  }
}

// Also keeps the old value as a version.
void RecordChange::log_update(const RecordState& before, const RecordState& after,
                              const std::optional<LargeValueDescriptor>& taken,
                              const BytesRange& in) noexcept {
  if (by_.log() == nullptr && by_.versions() == nullptr) {
    return;  // finding the differences takes time
  }
  const LoggedUpdate change(place(), before, after, in);
  if (by_.versions() != nullptr) {
    keep_update(before, change);
  }
  log(change, taken);
}

// The compensation is validated before it is logged, because what is in the log is applied in any
// case. The bytes that the undone change had reserved for this are used, or reserved for undoing
// earlier changes.
RecordChange::Freed RecordChange::undo(const TreeRecord& record,
                                       FunctionRef<Gsn(Gsn, ConstBytes)> append) {
  std::vector<std::byte> body(inverse_bytes(record, page_id_of(leaf_), at_.slot));
  write_inverse(record, page_id_of(leaf_), at_.slot, body);
  const ConstBytes image(leaf_.page(), page_size_);
  auto fault = redo_fault(body, page_id_of(leaf_), image);
  TreeRecord compensation;
  if (!fault) {
    fault = parse_tree_record(body, page_size_, compensation);
  }
  if (fault) {
    throw Error(ErrorCode::corruption,
                fmt::format("page {}: a change of kind {} cannot be undone: {}",
                            raw(page_id_of(leaf_)), name_of(record.kind), *fault));
  }
  Freed freed;
  visit_extents(compensation, page_size_,
                [&](const LargeValueDescriptor& value, ExtentEffect effect) {
                  if (effect == ExtentEffect::free) {
                    freed.value = value;
                  }
                });
  if (compensation.kind == TreeRecordKind::erase) {
    entries_.give_up_reserved(entry());
  } else if (compensation.kind == TreeRecordKind::replace) {
    entries_.reserve_for_replace(
        at_.slot, entry(),
        std::size_t{compensation.prefix_len} + compensation.suffix_len + compensation.after.size());
  }
  std::byte* page = leaf_.modify();
  {
    auto space = space_.change();
    freed.gsn = append(gsn_of(page), body);
    if (freed.value) {
      for (const buffer::PageRun& run : freed.value->runs()) {
        space.give(run, freed.gsn);
      }
    }
  }
  redo(body, page_id_of(leaf_), {page, page_size_}, freed.gsn);
  return freed;
}

}  // namespace palimpsest::btree
