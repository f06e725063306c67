#include "versioning/mapping_table.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "base/check.h"
#include "versioning/chain.h"

namespace palimpsest::versioning {

void TableDeleter::operator()(MappingTable* table) const noexcept {
  MappingTable::destroy(*table);
}

TablePtr MappingTable::make(EntryMemory& memory, std::size_t entries) {
  void* at = memory.allocate(sizeof(MappingTable));
  TablePtr table(new (at) MappingTable(memory));
  table->renew();
  table->reserve(entries);
  return table;
}

void MappingTable::destroy(MappingTable& table) noexcept {
  EntryMemory& memory = table.memory_;
  table.~MappingTable();
  memory.deallocate(&table, sizeof(MappingTable));
  memory.count_tables(-1);
}

void MappingTable::renew() noexcept {
  memory_.count_tables(1);
  forget_youngest();
  counter_seen_ = counter_.load(std::memory_order_relaxed);
  quiet_since_.store(kUnknown, std::memory_order_relaxed);
  looks_ = 0;
  vain_ = 0;
  purges_in_vain_ = 0;
}

MappingTable::~MappingTable() {
  check(count_ == 0 && reserved_bytes_ == 0, "a table that ends has no entries");
  forget_spans();
  free_cells(cells_, cell_count_);
}

void MappingTable::free_cells(TableCell* cells, std::size_t count) noexcept {
  if (cells != own_cells_.data()) {
    memory_.deallocate(cells, count * sizeof(TableCell));
  }
}

Entry* MappingTable::find(ByteView key, std::uint32_t hash) const noexcept {
  const std::size_t at = cell_at(
      hash, [&](TableCell cell) { return cell.hash() == hash && cell.entry()->has_key(key); });
  return cells_[at].entry();
}

bool MappingTable::has(const Entry& entry) const noexcept {
  return !cells_[cell_of(entry)].is_empty();
}

void MappingTable::visit(FunctionRef<void(const Entry&)> visitor) const {
  for (const TableCell cell : cells()) {
    if (!cell.is_empty()) {
      visitor(*cell.entry());
    }
  }
}

void MappingTable::visit_chains(FunctionRef<void(Entry&)> visitor) {
  for (const TableCell cell : cells()) {
    if (!cell.is_empty()) {
      visitor(*cell.entry());
    }
  }
}

Spans& MappingTable::make_spans() {
  if (spans_ == nullptr) {
    spans_ = new (memory_.allocate(sizeof(Spans))) Spans(memory_);
    memory_.count_spans(1);
  }
  return *spans_;
}

void MappingTable::forget_spans(Gsn horizon) noexcept {
  if (spans_ != nullptr) {
    spans_->forget_seen_from(horizon);
    if (!spans_->any()) {
      forget_spans();
    }
  }
}

void MappingTable::forget_spans() noexcept {
  if (Spans* const spans = std::exchange(spans_, nullptr)) {
    spans->~Spans();
    memory_.deallocate(spans, sizeof(Spans));
    memory_.count_spans(-1);
  }
}

void MappingTable::prefetch_cells() const noexcept {
  if (!is_small()) {
    const std::span<const std::byte> bytes = std::as_bytes(cells());
    palimpsest::prefetch(bytes.data(), bytes.data() + bytes.size());
  }
}

void MappingTable::prefetch_entries() const noexcept {
  for (const TableCell cell : cells()) {
    prefetch_line(cell.entry());
  }
}

void MappingTable::prefetch_versions() const noexcept {
  for (const TableCell cell : cells()) {
    if (!cell.is_empty()) {
      prefetch_line(cell.entry()->newest());
    }
  }
}

Gsn MappingTable::look_since_when_quiet() const noexcept {
  prefetch_entries();
  for (const TableCell cell : cells()) {
    if (!cell.is_empty() && cell.entry()->writer() != kNoWriter) {
      return kUnknown;
    }
  }
  prefetch_versions();
  Gsn newest = spans_ == nullptr ? Gsn{0} : spans_->newest();
  for (const TableCell cell : cells()) {
    if (!cell.is_empty() && cell.entry()->has_versions()) {
      newest = std::max(newest, newest_date(*cell.entry()));
    }
  }
  return newest;
}

void MappingTable::reserve(std::size_t more) {
  if (!has_room_for(more)) {
    const std::size_t cells = cells_for(count_ + more);
    use_cells(static_cast<TableCell*>(memory_.allocate(cells * sizeof(TableCell))), cells);
  }
}

void MappingTable::use_cells(TableCell* cells, std::size_t count) noexcept {
  std::uninitialized_fill_n(cells, count, TableCell());
  TableCell* old = std::exchange(cells_, cells);
  const std::size_t old_count = std::exchange(cell_count_, count);
  for (std::size_t i = 0; i < old_count; ++i) {
    if (!old[i].is_empty()) {
      place(old[i]);
    }
  }
  free_cells(old, old_count);
}

// There is a free cell.
void MappingTable::place(TableCell cell) noexcept {
  cells_[cell_at(cell.hash(), [](TableCell) { return false; })] = cell;
}

// Closes the gap: each entry of the run behind it moves up, unless that would put it before the
// cell where its search begins.
void MappingTable::remove_at(std::size_t cell) noexcept {
  const std::size_t mask = cell_count_ - 1;
  std::size_t gap = cell;
  for (std::size_t at = (gap + 1) & mask; !cells_[at].is_empty(); at = (at + 1) & mask) {
    const std::size_t home = cells_[at].hash() & mask;
    if (((at - home) & mask) >= ((at - gap) & mask)) {
      cells_[gap] = cells_[at];
      gap = at;
    }
  }
  cells_[gap] = TableCell();
  --count_;
}

// There is room; the entry is in no table.
void MappingTable::adopt(Entry& entry) noexcept {
  PALIMPSEST_DEBUG_CHECK(has_room_for(1), "memory for an entry is reserved beforehand");
  entry.counter_.store(&counter_, std::memory_order_relaxed);
  quiet_since_.store(kUnknown, std::memory_order_relaxed);
  reserved_bytes_ += entry.reserved_bytes_;
  place(TableCell(entry));
  ++count_;
}

Entry& MappingTable::insert(EntryPtr entry, WriterId writer) noexcept {
  PALIMPSEST_DEBUG_CHECK(find(entry->key()) == nullptr, "a record has only one entry");
  Entry& inserted = *entry.release();
  inserted.reserved_bytes_ = 0;
  inserted.writer_.store(writer, std::memory_order_relaxed);  // readers hold the page's latch
  adopt(inserted);
  return inserted;
}

EntryPtr MappingTable::erase(Entry& entry) noexcept {
  const std::size_t at = cell_of(entry);
  check(!cells_[at].is_empty(), "an entry is erased from its own table");
  set_reserved(entry, 0);
  remove_at(at);
  return EntryPtr(&entry, EntryDeleter{&memory_});
}

void MappingTable::take_over(Entry& entry, WriterId writer) noexcept {
  PALIMPSEST_DEBUG_CHECK(entry.writer() == kNoWriter, "an entry has only one writer");
  set_reserved(entry, 0);
  quiet_since_.store(kUnknown, std::memory_order_relaxed);
  entry.writer_.store(writer, std::memory_order_relaxed);
}

void MappingTable::set_reserved(Entry& entry, std::uint32_t bytes) noexcept {
  reserved_bytes_ = reserved_bytes_ - entry.reserved_bytes_ + bytes;
  entry.reserved_bytes_ = static_cast<std::uint16_t>(bytes);
}

std::size_t MappingTable::empty_count() const noexcept {
  std::size_t empty = 0;
  visit([&](const Entry& entry) { empty += entry.is_empty() ? 1U : 0U; });
  return empty;
}

std::size_t MappingTable::prune(FunctionRef<void(EntryPtr)> taken) noexcept {
  counter_seen_ = counter_.load(std::memory_order_acquire);  // before looking: see Entry::release
  looks_ = 0;
  forget_spans(memory_.horizon());
  const std::size_t before = count_;
  prefetch_entries();
  for (std::size_t at = 0; at < cell_count_;) {
    Entry* const entry = cells_[at].entry();
    if (entry == nullptr || entry->writer() != kNoWriter) {
      ++at;
      continue;
    }
    set_reserved(*entry, 0);  // no change of it will be undone
    if (!entry->is_empty()) {
      ++at;
      continue;
    }
    remove_at(at);  // another one may stand here now
    taken(EntryPtr(entry, EntryDeleter{&memory_}));
  }
  const std::size_t gone = before - count_;
  const bool in_vain = gone * kEmptyShare < before;
  vain_ = in_vain ? std::min<std::uint8_t>(vain_ + 1, kVainMax) : 0;
  return gone;
}

EntryPtr MappingTable::take_empty() noexcept {
  if (cell_count_ == kCellsMin && empty_hint() != 0) {
    const std::uint32_t seen = counter_.load(std::memory_order_acquire);  // as in prune()
    for (std::size_t at = 0; at < kCellsMin; ++at) {
      Entry* const entry = cells_[at].entry();
      if (entry != nullptr && entry->is_empty()) {
        set_reserved(*entry, 0);
        remove_at(at);
        return {entry, EntryDeleter{&memory_}};
      }
    }
    counter_seen_ = seen;
  }
  return {nullptr, EntryDeleter{&memory_}};
}

void MappingTable::trim() noexcept {
  if (cell_count_ > kCellsMin && cells_for(count_) == kCellsMin) {
    use_cells(own_cells_.data(), kCellsMin);
  }
}

std::size_t MappingTable::count_from(ByteView separator) const noexcept {
  prefetch_entries();
  std::size_t from = 0;
  visit([&](const Entry& entry) { from += entry.key() >= separator ? 1U : 0U; });
  return from;
}

void MappingTable::split_off(ByteView separator, MappingTable& right) noexcept {
  for (std::size_t at = 0; at < cell_count_;) {
    Entry* const entry = cells_[at].entry();
    if (entry == nullptr || entry->key() < separator) {
      ++at;
      continue;
    }
    reserved_bytes_ -= entry->reserved_bytes_;
    remove_at(at);  // another one may stand here now
    right.adopt(*entry);
  }
  if (spans_ != nullptr && right.spans_ != nullptr) {
    right.take_in(*spans_);
  }
  right.raise_youngest(youngest());
  right.looks_ =
      kLooksMax << kVainMax;  // its counter knows nothing of entries that are empty already
}

// There is room for them.
void MappingTable::take_in(const Spans& spans) noexcept {
  for (const SpanKind kind : {SpanKind::made, SpanKind::removed}) {
    spans_->extend(kind, spans.of(kind));
  }
  quiet_since_.store(kUnknown, std::memory_order_relaxed);
}

void MappingTable::absorb(MappingTable& other) noexcept {
  for (TableCell& cell : other.cells()) {
    if (!cell.is_empty()) {
      adopt(*std::exchange(cell, TableCell()).entry());
    }
  }
  other.count_ = 0;
  other.reserved_bytes_ = 0;
  if (other.spans_ != nullptr) {
    take_in(*other.spans_);
  }
  raise_youngest(other.youngest());
  looks_ = kLooksMax << kVainMax;  // as in split_off()
}

}  // namespace palimpsest::versioning
