#include "experiments/engines/lmdb/store.h"
#include "experiments/engines/rocksdb/store.h"
#include "experiments/engines/wiredtiger/store.h"
#include "tests/experiments/oltp/store_operations.h"
#include "tests/experiments/oltp/store_sessions.h"

namespace palimpsest::experiments::oltp::test {
namespace {

template <class S, StoreEntry<S> (*kEntry)(), Isolation kIsolated, Durability kDurable,
          Concurrency kConcurrent>
struct Peer {
  using Store = S;
  static constexpr Isolation kIsolation = kIsolated;
  static constexpr Durability kDurability = kDurable;
  static constexpr Concurrency kConcurrency = kConcurrent;

  std::unique_ptr<S> open(const StoreSettings& settings) { return kEntry().open(settings); }
};

template <StoreEntry<RocksdbStore> (*kEntry)(), Isolation kIsolated, Durability kDurable>
using Rocksdb = Peer<RocksdbStore, kEntry, kIsolated, kDurable, Concurrency::any>;
template <Durability kDurable>
using WiredTiger =
    Peer<WiredTigerStore, wiredtiger_store, Isolation::snapshot, kDurable, Concurrency::any>;
template <Durability kDurable>
using Lmdb =
    Peer<LmdbStore, lmdb_store, Isolation::serializable, kDurable, Concurrency::one_writer>;

using Peers =
    ::testing::Types<Rocksdb<rocksdb_store, Isolation::snapshot, Durability::async>,
                     Rocksdb<rocksdb_store, Isolation::none, Durability::sync>,
                     Rocksdb<rocksdb_optimistic_store, Isolation::snapshot, Durability::sync>,
                     Rocksdb<rocksdb_optimistic_store, Isolation::snapshot, Durability::async>,
                     WiredTiger<Durability::async>, WiredTiger<Durability::sync>,
                     Lmdb<Durability::async>, Lmdb<Durability::sync>>;

INSTANTIATE_TYPED_TEST_SUITE_P(Peers, StoreOperations, Peers);
INSTANTIATE_TYPED_TEST_SUITE_P(Peers, StoreSessions, Peers);

TEST(PeerStores, MissWhatWasLoaded) {
  const auto check = [](const auto& entry) {
    SCOPED_TRACE(entry.traits.name);
    expect_to_miss_what_was_loaded([&](StoreSettings settings) {
      settings.isolation = entry.traits.isolations.front();
      return entry.open(settings);
    });
  };
  check(lmdb_store());
  check(wiredtiger_store());
  check(rocksdb_store());
  check(rocksdb_optimistic_store());
}

TEST(PeerStores, RefuseADirectoryThatIsNotThere) {
  const palimpsest::test::TemporaryDirectory directory;
  const StoreSettings settings{.directory = directory.path("a/b"),
                               .tables = {"first"},
                               .memory_bytes = std::uint64_t{64} << 20U,
                               .sessions_max = 1};
  EXPECT_THROW(lmdb_store().open(settings), std::runtime_error);
  EXPECT_THROW(wiredtiger_store().open(settings), std::runtime_error);
}

}  // namespace
}  // namespace palimpsest::experiments::oltp::test
