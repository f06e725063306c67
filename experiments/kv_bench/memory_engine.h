// The reference adapter: records in ordered maps behind mutexes. It shows the cost of the driver
// itself, and tests the driver without a storage engine.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "experiments/kv_bench/kv_engine.h"

namespace palimpsest::experiments {

/// The records themselves; outlives engines opened on it, as a disk would.
/// Thread-safety: each shard has its mutex. Shards are key ranges, so that scans see key order.
class MemoryStore {
 public:
  /// Shard limits are chosen for keys of records [0, records).
  explicit MemoryStore(std::uint64_t records) : records_(records) {}

  struct Shard {
    std::mutex mutex;  ///< guards records
    std::map<std::string, std::string, std::less<>> records;
  };
  static constexpr std::size_t kShards = 64;

  [[nodiscard]] std::size_t shard_of(ByteView key) const noexcept;
  [[nodiscard]] Shard& shard(std::size_t index) noexcept { return shards_[index]; }

 private:
  std::uint64_t records_;
  std::array<Shard, kShards> shards_;
};

/// An engine on a store of its own.
[[nodiscard]] EngineEntry memory_engine();

[[nodiscard]] std::unique_ptr<KvEngine> open_memory_engine(std::shared_ptr<MemoryStore> store);

}  // namespace palimpsest::experiments
