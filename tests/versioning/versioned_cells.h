// Records with versions, without trees: transactions on cells (cells.h) that behave as the tree and
// transactions do.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "tests/versioning/cells.h"
#include "versioning/chain.h"
#include "versioning/prune.h"
#include "versioning/snapshots.h"
#include "versioning/version_buffer.h"
#include "versioning/writer.h"

namespace palimpsest::versioning::test {

/// One slot and its transactions, one after the other.
class CellWriter {
 public:
  explicit CellWriter(Cells& cells)
      : cells_(cells),
        slot_(cells.slots.claim(SlotId{0}).value()),
        writer_(cells.memory, WriterId{raw(slot_) + 1}),
        versions_(cells.memory),
        pruner_(cells.snapshots, cells.memory) {}
  /// Rolls back a transaction that a failed test has left open, which would block the rest.
  ~CellWriter() {
    if (is_open_) {
      roll_back();
    }
    for (; versions_.has_old(); std::this_thread::yield()) {
      collect();  // other readers may still need them
    }
    cells_.slots.release(slot_);
  }

  [[nodiscard]] SlotId slot() const { return slot_; }
  [[nodiscard]] VersionBuffer& versions() { return versions_; }
  [[nodiscard]] Gsn snapshot() const { return snapshot_; }

  void begin(Snapshots::Use use = Snapshots::Use::reads_and_writes) {
    snapshot_ = cells_.snapshots.take(slot_, use);
    is_open_ = true;
    pruner_.begin();
  }

  [[nodiscard]] std::optional<std::string> read(std::size_t number) {
    for (;; std::this_thread::yield()) {
      Cell& cell = *cells_.all[number];
      const std::lock_guard page(cell.latch);
      CellImage image = cell.record;
      if (cell.table->is_quiet_at(snapshot_)) {
        return image.shown();  // as scans do; point reads look at the versions
      }
      Entry* entry = cell.table->find(key_of(number));
      if (entry == nullptr || view(*entry, {snapshot_, &versions_.commit_status()}, image)) {
        return image.shown();
      }
    }
  }

  // False: a conflict, and nothing has changed. Without a `value` it deletes.
  [[nodiscard]] bool write(std::size_t number, const std::optional<std::string>& value) {
    const std::string key = key_of(number);
    writer_.prepare(key);
    versions_.prepare(256);
    Cell& cell = *cells_.all[number];
    const std::lock_guard page(cell.latch);
    Entry* entry = cell.table->find(key);
    prune_idle(entry, cell.record);
    if (entry != nullptr && ((entry->writer() != kNoWriter && entry->writer() != writer_.id()) ||
                             has_changed_since(*entry, {snapshot_, &versions_.commit_status()}))) {
      return false;
    }
    if (entry == nullptr) {
      cell.table->reserve(1);
      entry = &cell.table->insert(writer_.take_prepared(TreeId{1}, key, Entry::hash_of(key)),
                                  writer_.id());
      writer_.add(*entry);
    } else if (entry->writer() == kNoWriter) {
      cell.table->take_over(*entry, writer_.id());
      writer_.add(*entry);
    }
    undo_.emplace_back(number, cell.record);
    change(*entry, cell.record, value);
    if (cell.table->worth_pruning()) {
      cell.table->prune([](EntryPtr) {});
    }
    return true;
  }

  /// Returns the commit's timestamp.
  Gsn commit() {
    versions_.commit_status().announce();
    const Gsn timestamp = cells_.clock.draw(Gsn{0});
    versions_.commit_status().date(timestamp);
    versions_.commit_status().commit();
    versions_.commit(timestamp);
    end();
    return timestamp;
  }
  void roll_back() {
    versions_.commit_status().abort();
    undo_behind(0);
    versions_.abort();
    end();
  }
  /// The start of a statement: the changes from here on can be undone alone.
  struct Mark {
    std::size_t changes = 0;
    std::size_t claims = 0;
    VersionMark versions{};
  };
  [[nodiscard]] Mark mark() const { return {undo_.size(), writer_.claims(), versions_.mark()}; }
  void undo_since(const Mark& mark) {
    undo_behind(mark.changes);
    versions_.abort_since(mark.versions);
    writer_.end_since(mark.claims);
  }
  /// As the purge of ghosts does.
  void prune(std::size_t number) {
    Cell& cell = *cells_.all[number];
    const std::lock_guard page(cell.latch);
    prune_idle(cell.table->find(key_of(number)), cell.record);
  }
  /// Called between two transactions.
  void collect() {
    versions_.collect(cells_.snapshots.horizon());
    pruner_.begin();
    pruner_.merge_recent(versions_);
  }

 private:
  [[nodiscard]] static std::string key_of(std::size_t number) { return std::to_string(number); }

  void undo_behind(std::size_t changes) {
    for (; undo_.size() > changes; undo_.pop_back()) {
      const auto& [number, record] = undo_.back();
      const std::lock_guard page(cells_.all[number]->latch);
      cells_.all[number]->record = record;
    }
  }

  void end() {
    undo_.clear();
    writer_.end();
    cells_.snapshots.drop(slot_);
    is_open_ = false;
  }

  void prune_idle(Entry* entry, const CellImage& record) {
    if (entry != nullptr && entry->writer() == kNoWriter) {
      pruner_.prune(*entry, record.shown() ? Pruner::Newest::record : Pruner::Newest::nothing);
    }
  }

  template <class Fill>
  void keep(Entry& entry, VersionKind kind, std::uint16_t flags, std::size_t bytes, Fill&& fill) {
    if (versions_.push(entry, kind, flags, bytes, fill)) {
      pruner_.prune(entry, Pruner::Newest::record);
    }
  }

  /// If one byte differs, writes a patch, otherwise the whole value.
  void change(Entry& entry, CellImage& record, const std::optional<std::string>& value) {
    const std::string before = record.value;
    if (!record.exists) {
      keep(entry, VersionKind::inserted, 0, 0, [](MutableBytes) {});
    } else if (!value) {
      keep(entry, VersionKind::flags, record.flags, 0, [](MutableBytes) {});
    } else if (value->size() == before.size()) {
      std::uint16_t at = 0;
      while (at < before.size() && (*value)[at] == before[at]) {
        ++at;
      }
      const auto length = static_cast<std::uint16_t>(before.size() - at);
      keep(entry, VersionKind::patched, record.flags, 4U + length, [&](MutableBytes into) {
        std::memcpy(into.data(), &at, 2);
        std::memcpy(into.data() + 2, &length, 2);
        std::memcpy(into.data() + 4, before.data() + at, length);
      });
    } else {
      keep(entry, VersionKind::replaced, record.flags, before.size(),
           [&](MutableBytes into) { std::memcpy(into.data(), before.data(), into.size()); });
    }
    record.exists = true;
    record.flags = value ? kAlive : kGhost;
    if (value) {
      record.value = *value;
    }
  }

  Cells& cells_;
  const SlotId slot_;
  Writer writer_;
  VersionBuffer versions_;
  Pruner pruner_;
  Gsn snapshot_{};
  bool is_open_ = false;
  std::vector<std::pair<std::size_t, CellImage>> undo_;
};

}  // namespace palimpsest::versioning::test
