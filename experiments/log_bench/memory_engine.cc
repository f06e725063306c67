#include "experiments/log_bench/memory_engine.h"

#include <algorithm>
#include <utility>

namespace palimpsest::experiments {
namespace {

class MemorySession final : public CommitSession {
 public:
  explicit MemorySession(MemoryValues& store) : store_(store) {}

  void update(std::uint64_t record, std::size_t offset, const Field& bytes) override {
    const std::lock_guard lock(store_.mutex_of(record));
    std::copy(bytes.begin(), bytes.end(), store_.values.at(record).data() + offset);
  }

  std::optional<Value> read(std::uint64_t record) override {
    const std::lock_guard lock(store_.mutex_of(record));
    return record < store_.values.size() ? std::optional(store_.values[record]) : std::nullopt;
  }

 private:
  MemoryValues& store_;
};

class MemoryEngine final : public CommitEngine {
 public:
  explicit MemoryEngine(std::shared_ptr<MemoryValues> store) : store_(std::move(store)) {}

  void load(std::uint64_t records) override {
    store_->values.reserve(records);
    for (std::uint64_t record = 0; record < records; ++record) {
      store_->values.push_back(fresh_value(record));
    }
  }

  std::unique_ptr<CommitSession> open_session() override {
    return std::make_unique<MemorySession>(*store_);
  }

  LogCounts log_counts() const override { return {}; }
  std::string durability_description() const override { return "nothing"; }
  void close() override {}

 private:
  std::shared_ptr<MemoryValues> store_;
};

}  // namespace

std::unique_ptr<CommitEngine> open_memory_engine(std::shared_ptr<MemoryValues> values) {
  return std::make_unique<MemoryEngine>(std::move(values));
}

CommitEngineEntry memory_engine() {
  return {.traits = {.name = "memory", .persistent = false},
          .open = [values = std::make_shared<MemoryValues>()](const CommitSettings&) {
            return open_memory_engine(values);
          }};
}

}  // namespace palimpsest::experiments
