#include "tests/experiments/oltp/memory_store.h"

#include "tests/experiments/oltp/store_operations.h"
#include "tests/experiments/oltp/store_sessions.h"

namespace palimpsest::experiments::oltp::test {
namespace {

struct InMemory {
  using Store = MemoryStore;
  static constexpr Isolation kIsolation = Isolation::none;
  static constexpr Durability kDurability = Durability::async;
  static constexpr Concurrency kConcurrency = Concurrency::one;

  std::unique_ptr<MemoryStore> open(const StoreSettings& settings) const {
    return memory_store(disk).open(settings);
  }

  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreOperations, InMemory);
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreSessions, InMemory);

}  // namespace
}  // namespace palimpsest::experiments::oltp::test
