#include "experiments/engines/palimpsest/store.h"
#include "tests/experiments/oltp/store_operations.h"
#include "tests/experiments/oltp/store_sessions.h"

namespace palimpsest::experiments::oltp::test {
namespace {

template <Durability kDurable, Isolation kIsolated>
struct Palimpsest {
  using Store = PalimpsestStore;
  static constexpr Isolation kIsolation = kIsolated;
  static constexpr Durability kDurability = kDurable;
  static constexpr Concurrency kConcurrency = Concurrency::any;

  std::unique_ptr<PalimpsestStore> open(const StoreSettings& settings) const {
    return palimpsest_store().open(settings);
  }
};

using Palimpsests = ::testing::Types<Palimpsest<Durability::async, Isolation::none>,
                                     Palimpsest<Durability::async, Isolation::read_committed>,
                                     Palimpsest<Durability::async, Isolation::snapshot>,
                                     Palimpsest<Durability::sync, Isolation::snapshot>>;

INSTANTIATE_TYPED_TEST_SUITE_P(Palimpsest, StoreOperations, Palimpsests);
INSTANTIATE_TYPED_TEST_SUITE_P(Palimpsest, StoreSessions, Palimpsests);

TEST(PalimpsestStore, MissesWhatWasLoaded) {
  expect_to_miss_what_was_loaded([](StoreSettings settings) {
    settings.isolation = Isolation::snapshot;
    return palimpsest_store().open(settings);
  });
}

}  // namespace
}  // namespace palimpsest::experiments::oltp::test
