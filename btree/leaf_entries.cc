#include "btree/leaf_entries.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "btree/node/span_marks.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;
using versioning::Entry;
using versioning::kNoWriter;
using versioning::MappingTable;
using versioning::SpanKind;
using versioning::TablePtr;
using versioning::WriterId;

namespace {

void set_table(const ExclusivePage& page, MappingTable* table) noexcept {
  page.frame().hang(table);
}

std::uint32_t less_reserved(std::uint32_t free_bytes, const MappingTable* table) noexcept {
  const std::uint32_t reserved = table == nullptr ? 0 : table->reserved_bytes();
  return free_bytes - std::min(free_bytes, reserved);
}

}  // namespace

std::uint32_t unreserved_bytes(const ExclusivePage& leaf, std::uint32_t page_size) noexcept {
  return less_reserved(LeafView(leaf.page(), page_size).free_bytes(), table_of(leaf.frame()));
}

bool can_insert(const ExclusivePage& leaf, std::uint32_t page_size, std::size_t key_len,
                std::size_t value_len) noexcept {
  const LeafView view(leaf.page(), page_size);
  return key_len - view.header().prefix_len + value_len + sizeof(LeafSlot) <=
         less_reserved(view.free_bytes(), table_of(leaf.frame()));
}

Entry* LeafEntries::find(const SearchResult& at, ByteView key) const noexcept {
  if (table_ == nullptr) [[likely]] {
    return nullptr;
  }
  if (at.found && (LeafView(leaf_.page(), page_size_).flags(at.slot) & kHasEntry) == 0) {
    return nullptr;
  }
  return table_->find(key);
}

Claim LeafEntries::claim(Entry* entry, const SearchResult& at, ByteView key,
                         versioning::Writer& writer) {
  const WriterId holder = entry == nullptr ? kNoWriter : entry->writer();
  if (holder == writer.id()) {
    entry->set_changed_in(as_left());
    return {.result = Claim::Result::already_mine, .entry = entry};
  }
  if (holder != kNoWriter) {
    return {.result = Claim::Result::conflict, .with = holder};
  }
  if (entry != nullptr) {
    table_->take_over(*entry, writer.id());
    writer.add(*entry);
    entry->set_changed_in(as_left());
    return {.result = Claim::Result::claimed, .entry = entry};
  }
  if (table_ == nullptr) {
    table_ = writer.take_table().release();
    set_table(leaf_, table_);
  } else {
    if (versioning::EntryPtr empty = table_->take_empty()) {
      unmark(empty->key());
      writer.recycle(std::move(empty));  // still in the cache at the next claim
    }
    table_->reserve(1);
  }
  versioning::EntryPtr prepared =
      writer.take_prepared(LeafView(leaf_.page(), page_size_).tree_id(), key, Entry::hash_of(key));
  Entry& made = table_->insert(std::move(prepared), writer.id());
  writer.add(made);
  made.set_changed_in(as_left());
  if (at.found) {
    LeafNode leaf(leaf_.modify(), page_size_);
    leaf.set_flags(at.slot, leaf.flags(at.slot) | kHasEntry);
  }
  return {.result = Claim::Result::claimed, .entry = &made};
}

void LeafEntries::left_version(Gsn start) noexcept {
  if (leaf_.frame().youngest.load(std::memory_order_relaxed) < start) {
    table_->left_version(start);
    set_table(leaf_, table_);
  }
}

// Clears the mark of a record that has lost its entry, if the record still exists: its readers need
// not latch the leaf any more.
void LeafEntries::unmark(ByteView key) noexcept {
  const LeafView view(leaf_.page(), page_size_);
  if (const SearchResult at = view.find(key); at.found && (view.flags(at.slot) & kMarks) == 0) {
    LeafNode(leaf_.modify(), page_size_)
        .set_flags(at.slot, static_cast<std::uint16_t>(view.flags(at.slot) & ~kHasEntry));
  }
}

// The bytes reserved for this record belong to its writer; if that has ended, they are free. A
// change without a writer may use them too: the record and its reserve together do not shrink.
bool LeafEntries::can_replace(SlotIndex slot, const Entry* entry, std::size_t value_len,
                              WriterId me) const noexcept {
  const LeafView leaf(leaf_.page(), page_size_);
  if (table_ == nullptr) [[likely]] {
    return leaf.can_replace(slot, value_len);
  }
  const WriterId holder = entry == nullptr ? kNoWriter : entry->writer();
  const bool usable = entry != nullptr && (me == kNoWriter || holder == me || holder == kNoWriter);
  const std::uint32_t own = usable ? entry->reserved_bytes() : 0;
  const std::uint32_t others = table_->reserved_bytes() - own;
  const std::uint32_t free = leaf.free_bytes();
  return value_len <= leaf.value(slot).size() + (free - std::min(free, others));
}

void LeafEntries::reserve_for_replace(SlotIndex slot, Entry* entry,
                                      std::size_t value_len) noexcept {
  if (entry == nullptr) {
    return;
  }
  const bool is_idle = entry->writer() == kNoWriter;  // nothing remains to be undone
  const std::size_t largest =
      is_idle ? 0 : LeafView(leaf_.page(), page_size_).value(slot).size() + entry->reserved_bytes();
  table_->set_reserved(*entry, static_cast<std::uint32_t>(largest - std::min(largest, value_len)));
}

void LeafEntries::give_up_reserved(Entry* entry) noexcept {
  if (entry != nullptr) {
    table_->set_reserved(*entry, 0);
  }
}

bool LeafEntries::give_up_if_idle(SlotIndex slot, versioning::Pruner* pruner) noexcept {
  const LeafView leaf(leaf_.page(), page_size_);
  if ((leaf.flags(slot) & kHasEntry) == 0) {
    return true;
  }
  KeyBuffer key;
  leaf.copy_key(slot, key);
  Entry* entry = find({.slot = slot, .found = true}, key.view());
  if (entry != nullptr && entry->writer() == kNoWriter && pruner != nullptr) {
    pruner->prune(*entry, versioning::Pruner::Newest::nothing);
  }
  fold_into_mark(slot, entry, pruner);
  if ((entry != nullptr && !entry->is_empty()) || is_removed_in_span(slot, pruner)) {
    return false;
  }
  give_up_reserved(entry);
  return true;
}

// Changes after the record was made that no reader saw on their own become part of its making.
void LeafEntries::fold_into_mark(SlotIndex slot, Entry* entry,
                                 versioning::Pruner* pruner) noexcept {
  const auto mark = span_of(table_, LeafView(leaf_.page(), page_size_).flags(slot));
  if (mark && entry != nullptr && pruner != nullptr && entry->writer() == kNoWriter) {
    static_cast<void>(pruner->fold(*entry, mark, *table_->spans()));
  }
}

bool LeafEntries::is_hidden(SlotIndex slot, Gsn snapshot) const noexcept {
  return span_hiding(table_, LeafView(leaf_.page(), page_size_).flags(slot), snapshot).has_value();
}

bool LeafEntries::is_removed_in_span(SlotIndex slot, versioning::Pruner* pruner) noexcept {
  const std::uint16_t flags = LeafView(leaf_.page(), page_size_).flags(slot);
  if (span_of(table_, flags) != SpanKind::removed) [[likely]] {
    return false;
  }
  table_->forget_spans(pruner == nullptr ? table_->memory().horizon() : pruner->seen_by_all());
  return span_of(table_, flags).has_value();
}

// The marks remain: invariant (1).
void LeafEntries::prune(versioning::Writer* writer) noexcept {
  table_->prune([&](versioning::EntryPtr entry) {
    if (writer != nullptr) {
      writer->recycle(std::move(entry));
    }
  });
}

bool LeafEntries::release_ended() noexcept {
  if (table_ == nullptr) {
    return false;
  }
  const std::uint32_t before = table_->reserved_bytes();
  prune(nullptr);
  return table_->reserved_bytes() < before;
}

void LeafEntries::finish(versioning::Writer* writer) noexcept {
  if (table_ == nullptr) [[likely]] {
    return;
  }
  const bool any_empty = writer == nullptr && table_->empty_hint() != 0;
  if (any_empty || table_->worth_pruning()) {
    prune(writer);
    table_->trim();
  }
  if (!table_->is_needed()) {
    set_table(leaf_, nullptr);
    MappingTable::destroy(*std::exchange(table_, nullptr));
  }
}

void LeafEntries::release_unwritten() noexcept {
  finish();
  leaf_.release_unchanged();
}

std::uint32_t LeafReserve::operator()(SlotIndex slot) const noexcept {
  if (table_ == nullptr || table_->reserved_bytes() == 0 || (leaf_.flags(slot) & kHasEntry) == 0) {
    return 0;
  }
  KeyBuffer key;
  leaf_.copy_key(slot, key);
  const Entry* entry = table_->find(key.view());
  return entry == nullptr ? 0 : entry->reserved_bytes();
}

TablePtr table_for_right(const ExclusivePage& left, ByteView separator, std::uint32_t page_size) {
  MappingTable* table = table_of(left.frame());
  const std::size_t entries = table == nullptr ? 0 : table->count_from(separator);
  const LeafView leaf(left.page(), page_size);
  const bool has_spans = any_marked(leaf, table, leaf.is_leaf() ? leaf.lower_bound(separator) : 0);
  if (entries == 0 && !has_spans) {
    return {};
  }
  TablePtr right = MappingTable::make(table->memory(), entries);
  if (has_spans) {
    static_cast<void>(right->make_spans());
  }
  return right;
}

void split_table(const ExclusivePage& left, const ExclusivePage& right, ByteView separator,
                 TablePtr right_table) noexcept {
  if (right_table != nullptr) {
    table_of(left.frame())->split_off(separator, *right_table);
    set_table(right, right_table.release());
  }
}

void forget_unmarked_spans(const ExclusivePage& leaf, std::uint32_t page_size) noexcept {
  MappingTable* const table = table_of(leaf.frame());
  if (table != nullptr && !any_marked(LeafView(leaf.page(), page_size), table)) {
    table->forget_spans();
  }
}

bool can_merge_tables(const ExclusivePage& left, const ExclusivePage& right,
                      versioning::Pruner* pruner) noexcept {
  const MappingTable* const one = table_of(left.frame());
  const MappingTable* const other = table_of(right.frame());
  if (one == nullptr || other == nullptr || one->spans() == nullptr || other->spans() == nullptr) {
    return true;
  }
  return std::ranges::all_of(std::array{SpanKind::made, SpanKind::removed}, [&](SpanKind kind) {
    const versioning::Span& of_one = one->spans()->of(kind);
    const versioning::Span& of_other = other->spans()->of(kind);
    return of_one.is_empty() || of_other.is_empty() ||
           (pruner != nullptr && pruner->can_join(of_one, of_other));
  });
}

void prepare_merge_tables(const ExclusivePage& left, const ExclusivePage& right) {
  MappingTable* into = table_of(left.frame());
  const MappingTable* from = table_of(right.frame());
  if (into != nullptr && from != nullptr) {
    into->reserve(from->count());
    if (from->spans() != nullptr) {
      static_cast<void>(into->make_spans());
    }
  }
}

void merge_tables(const ExclusivePage& left, const ExclusivePage& right) noexcept {
  MappingTable* into = table_of(left.frame());
  MappingTable* from = table_of(right.frame());
  if (from == nullptr) {
    return;
  }
  if (into == nullptr) {
    move_table(right, left);
    return;
  }
  into->absorb(*from);
  set_table(left, into);  // its youngest version may be a newer one
  set_table(right, nullptr);
  MappingTable::destroy(*from);
}

void move_table(const ExclusivePage& from, const ExclusivePage& to) noexcept {
  MappingTable* table = table_of(from.frame());
  PALIMPSEST_DEBUG_CHECK(table == nullptr || table_of(to.frame()) == nullptr,
                         "a page has only one mapping table");
  if (table != nullptr) {
    set_table(from, nullptr);
    set_table(to, table);
  }
}

bool drop_idle_table(ExclusivePage& leaf, std::uint32_t page_size) noexcept {
  forget_unmarked_spans(leaf, page_size);
  LeafEntries entries(leaf, page_size);
  static_cast<void>(entries.release_ended());
  entries.finish();
  return table_of(leaf.frame()) == nullptr;
}

}  // namespace palimpsest::btree
