#include "experiments/kv_bench/memory_engine.h"

#include <algorithm>
#include <cstring>

namespace palimpsest::experiments {
namespace {

class MemorySession final : public KvSession {
 public:
  explicit MemorySession(MemoryStore& store) : store_(store) {}

  void insert(ByteView key, ByteView value) override {
    MemoryStore::Shard& shard = store_.shard(store_.shard_of(key));
    const std::lock_guard lock(shard.mutex);
    shard.records.insert_or_assign(std::string(key), std::string(value));
  }

  void finish_load() override {}

  std::optional<std::size_t> lookup(ByteView key, std::span<char> out) override {
    MemoryStore::Shard& shard = store_.shard(store_.shard_of(key));
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.records.find(key);
    if (found == shard.records.end()) {
      return std::nullopt;
    }
    std::memcpy(out.data(), found->second.data(), std::min(out.size(), found->second.size()));
    return found->second.size();
  }

  bool update(ByteView key, RecordChange& change) override {
    MemoryStore::Shard& shard = store_.shard(store_.shard_of(key));
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.records.find(key);
    if (found == shard.records.end()) {
      return false;
    }
    change(found->second);
    return true;
  }

  void scan(ByteView from, ScanSink& sink) override {
    for (std::size_t index = store_.shard_of(from); index < MemoryStore::kShards; ++index) {
      MemoryStore::Shard& shard = store_.shard(index);
      const std::lock_guard lock(shard.mutex);
      for (auto at = shard.records.lower_bound(from); at != shard.records.end(); ++at) {
        if (!sink.record(at->first, at->second)) {
          return;
        }
      }
    }
  }

 private:
  MemoryStore& store_;
};

class MemoryEngine final : public KvEngine {
 public:
  explicit MemoryEngine(std::shared_ptr<MemoryStore> store) : store_(std::move(store)) {}

  std::unique_ptr<KvSession> open_session(SessionUse /*use*/) override {
    return std::make_unique<MemorySession>(*store_);
  }
  void finish_load() override {}
  EngineStats stats() const override { return {.page_reads = 0, .page_writes = 0}; }
  std::string io_description() const override { return "none"; }
  void close() override {}

 private:
  std::shared_ptr<MemoryStore> store_;
};

}  // namespace

std::size_t MemoryStore::shard_of(ByteView key) const noexcept {
  const std::uint64_t per_shard = records_ / kShards + 1;
  return std::min<std::uint64_t>(record_of(key) / per_shard, kShards - 1);
}

std::unique_ptr<KvEngine> open_memory_engine(std::shared_ptr<MemoryStore> store) {
  return std::make_unique<MemoryEngine>(std::move(store));
}

EngineEntry memory_engine() {
  return {.traits = {.name = "memory", .persistent = false},
          .open = [](const EngineSettings& settings) {
            return open_memory_engine(std::make_shared<MemoryStore>(settings.records));
          }};
}

}  // namespace palimpsest::experiments
