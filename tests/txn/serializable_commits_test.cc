// A serializable transaction appends its commit record after it takes its date: rounds of the log
// go on in between, and the durable horizon they publish does not include it.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/sync_point.h"
#include "tests/engine/engine_fixture.h"

namespace palimpsest::engine::test {
namespace {

#ifdef PALIMPSEST_SYNC_POINTS

TEST(SerializableCommits, AreDurableWhenTheyReturnWhateverRoundHasPassedTheirDate) {
  palimpsest::test::SimDisk disk;
  auto device = disk.device();
  EngineOptions options = small_options();
  options.transactions.asynchronous_interval = std::chrono::seconds(60);
  auto database = Engine::open(*device, *device, options);
  static_cast<void>(database->make_tree("records"));
  {
    const auto transaction =
        database->begin(txn::Durability::synchronous, txn::Isolation::serializable);
    btree::BTree& tree = *database->find_tree("records");
    ASSERT_FALSE(transaction->insert(tree, "key", "value").existed);
    const SyncHook hook("txn.commit.dated", [&] {
      database->log().write_pending();
      database->log().write_pending();
    });
    transaction->commit();
    EXPECT_EQ(hook.hits(), 1U);
  }
  lose_power(disk, database);
  device = disk.device();
  database = Engine::open(*device, *device, options);
  EXPECT_EQ(content_of(*database->find_tree("records")), (Content{{"key", "value"}}));
}

#endif

}  // namespace
}  // namespace palimpsest::engine::test
