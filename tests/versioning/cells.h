// A few cells: each a page of one record with its latch and its mapping table; no trees.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/worker_slots.h"
#include "versioning/entry_memory.h"
#include "versioning/mapping_table.h"
#include "versioning/snapshots.h"

namespace palimpsest::versioning::test {

inline constexpr std::uint16_t kAlive = 1;
inline constexpr std::uint16_t kGhost = 2;  ///< as a ghost: the value stays

/// A record, or none.
struct CellImage {
  bool exists = false;
  std::uint16_t flags = kAlive;
  std::string value;

  void take_away() { exists = false; }
  void set_flags(std::uint16_t now) {
    exists = true;
    flags = now;
  }
  void patch(std::uint16_t offset, ByteView bytes) { value.replace(offset, bytes.size(), bytes); }
  void replace(ByteView bytes) { value.assign(bytes); }

  [[nodiscard]] std::optional<std::string> shown() const {
    return exists && flags == kAlive ? std::optional(value) : std::nullopt;
  }
};

struct Cell {
  std::mutex latch;
  CellImage record;
  TablePtr table;
};

struct Cells {
  explicit Cells(std::size_t count, std::uint32_t slots_max = 64)
      : slots(slots_max), snapshots(clock, slots) {
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(std::make_unique<Cell>());
      all.back()->table = MappingTable::make(memory);
    }
  }
  /// All transactions must have ended, and their versions must be collected.
  ~Cells() {
    for (const auto& cell : all) {
      cell->table->prune([](EntryPtr) {});
    }
  }

  Clock clock{Gsn{1}};
  WorkerSlots slots;
  Snapshots snapshots;
  EntryMemory memory;
  std::vector<std::unique_ptr<Cell>> all;
};

}  // namespace palimpsest::versioning::test
