#include "engine/salvage/committed_records.h"

#include <algorithm>
#include <utility>

#include "btree/large/extent_reader.h"
#include "btree/large/large_value_format.h"
#include "btree/log/tree_record.h"
#include "btree/log/tree_redo.h"
#include "btree/log/tree_undo.h"
#include "btree/node/resolve_records.h"
#include "buffer/page_header.h"

namespace palimpsest::engine {

using btree::KeyBuffer;
using btree::LeafNode;
using btree::LeafView;
using btree::RecordState;
using btree::SlotIndex;

std::optional<btree::Resolution> BulkOutcomes::of(BulkEpoch epoch) const {
  if (stored.aborted.contains(epoch)) {
    return btree::Resolution::undone;
  }
  if (!is_whole || raw(epoch) >= stored.next) {
    return std::nullopt;
  }
  return btree::Resolution::kept;
}

CommittedRecords::CommittedRecords(const PageDirectory& pages, const BulkOutcomes& bulks,
                                   ChangeSource& changes, Gsn known_up_to, RecordSink& sink)
    : pages_(pages),
      bulks_(bulks),
      changes_(changes),
      known_up_to_(known_up_to),
      sink_(sink),
      page_size_(pages.file().page_size_bytes()),
      memory_(page_size_, page_size_) {}

void CommittedRecords::take(const LeafRef& leaf, const KeyPart& part) {
  if (!pages_.read(leaf.page, memory_.bytes())) {
    sink_.miss(part);
    return;
  }
  const LeafNode node(memory_.data(), page_size_);
  if (!pages_.is_consistent() && buffer::header_of(memory_.bytes()).gsn > known_up_to_) {
    younger_.insert(leaf.page);
  }
  take_back(node, part);
  const SlotIndex end = part.to ? node.lower_bound(*part.to) : node.count();
  for (SlotIndex slot = node.lower_bound(part.from); slot < end; ++slot) {
    show(node, slot);
  }
  show_refused_before(std::nullopt);
}

// Changes of what lies in gaps have nothing to be taken back from. What a younger page holds may
// have been changed again since, by a transaction that is not known.
void CommittedRecords::take_back(LeafNode leaf, const KeyPart& part) {
  refused_.clear();
  shown_refused_ = 0;
  const bool is_known = buffer::header_of(leaf.bytes()).gsn <= known_up_to_;
  for (const UnfinishedChange* change = changes_.front();
       change != nullptr && (!part.to || change->key < *part.to); change = changes_.front()) {
    const bool is_refused = !refused_.empty() && refused_.back() == change->key;
    if (change->key >= part.from && !is_refused &&
        !((pages_.is_consistent() || is_known) && undo(leaf, *change))) {
      refused_.push_back(change->key);
    }
    changes_.pop();
  }
}

bool CommittedRecords::undo(LeafNode leaf, const UnfinishedChange& change) const {
  btree::TreeRecord record;
  const ConstBytes body = std::as_bytes(std::span(change.body));
  const btree::SearchResult at = leaf.find(change.key);
  if (!at.found || btree::parse_tree_record(body, page_size_, record)) {
    return false;
  }
  const PageId page = leaf.page_id();
  std::vector<std::byte> inverse(btree::inverse_bytes(record, page, at.slot));
  btree::write_inverse(record, page, at.slot, inverse);
  if (btree::redo_fault(inverse, page, leaf.bytes())) {
    return false;
  }
  const MutableBytes image(leaf.mutable_page(), page_size_);
  btree::redo(inverse, page, image, buffer::header_of(image).gsn);
  return true;
}

/// Those that no record has are told, too: one may have been there.
void CommittedRecords::show_refused_before(std::optional<ByteView> key) {
  for (; shown_refused_ < refused_.size() && (!key || refused_[shown_refused_] < *key);
       ++shown_refused_) {
    sink_.left_out(refused_[shown_refused_], LeftOut::unfinished);
  }
}

void CommittedRecords::show(const LeafView& leaf, SlotIndex slot) {
  KeyBuffer key;
  leaf.copy_key(slot, key);
  show_refused_before(key.view());
  if (shown_refused_ < refused_.size() && refused_[shown_refused_] == key.view()) {
    sink_.left_out(key.view(), LeftOut::unfinished);
    ++shown_refused_;
    return;
  }
  const RecordState stored = btree::stored_in(leaf, slot);
  if (!btree::are_record_flags(stored.flags) ||
      !btree::is_stored_value(stored.value, stored.flags)) {
    sink_.left_out(key.view(), LeftOut::undecodable);
    return;
  }
  if (!btree::has_virtual_version(leaf, slot)) {
    show_value(key.view(), stored);
    return;
  }
  const std::optional<btree::Resolution> outcome = bulks_.of(leaf.bulk_epoch());
  if (!outcome) {
    sink_.left_out(key.view(), LeftOut::bulk);
    return;
  }
  const std::optional<RecordState> state = *outcome == btree::Resolution::kept
                                               ? std::optional(btree::now_of(stored))
                                               : btree::before_of(stored);
  if (state) {
    show_value(key.view(), *state);
  }
}

void CommittedRecords::show_value(ByteView key, const RecordState& record) {
  if ((record.flags & btree::kGhost) != 0) {
    return;
  }
  if ((record.flags & btree::kLargeValue) == 0) {
    sink_.record(key, record.value);
    return;
  }
  if (const auto value = large_value(record.value)) {
    sink_.record(key, *value);
  } else {
    sink_.left_out(key, LeftOut::large_value);
  }
}

// Each block says whose it is, and which one: the value is whole, or there is none.
std::optional<std::string> CommittedRecords::large_value(ByteView descriptor) const {
  using btree::LargeValueDescriptor;
  if (LargeValueDescriptor::judge(descriptor, page_size_) != btree::DescriptorFault::none) {
    return std::nullopt;
  }
  const LargeValueDescriptor value = LargeValueDescriptor::decode(descriptor, page_size_);
  std::string bytes;
  btree::ExtentReader reader(pages_.file(), nullptr, value, 0, value.block_count());
  while (reader.next_batch()) {
    for (std::uint32_t block = reader.first(); block < reader.end(); ++block) {
      const buffer::PageRead& read = reader.page(block);
      if (!read.ok() || btree::judge_block(read.into, value, block) != btree::BlockFault::none) {
        return std::nullopt;
      }
      bytes.append(as_view(read.into.data() + btree::kExtentPayloadOffset,
                           btree::payload_bytes_of(value, block, page_size_)));
    }
  }
  return bytes;
}

}  // namespace palimpsest::engine
