// Reads and changes of many keys by one call, compared with single calls: in any order, with pages
// evicted and leaves split in between, and by several threads.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "btree/btree.h"
#include "btree/key_places.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::SimDisk;
using palimpsest::test::TreeDatabase;

/// The number at the beginning of a value.
std::uint64_t number_of(ByteView value) {
  std::uint64_t number = 0;
  std::memcpy(&number, value.data(), sizeof number);
  return number;
}
void add(MutableBytes value, std::uint64_t more) {
  const std::uint64_t number = number_of(as_view(value.data(), value.size())) + more;
  std::memcpy(value.data(), &number, sizeof number);
}
void add(ValueEditor& value, std::uint64_t more) {
  add(std::as_writable_bytes(value.edit(0, sizeof more)), more);
}
std::string value_of(std::uint64_t number, std::size_t bytes) {
  std::string value(bytes, 'v');
  std::memcpy(value.data(), &number, sizeof number);
  return value;
}

class ManyKeysTest : public ::testing::Test {
 protected:
  explicit ManyKeysTest(std::uint32_t frames = 48)
      : device_(disk_.device()),
        database_(TreeDatabase::create(*device_, {.page_size_bytes = 4096, .frames = frames})) {}

  [[nodiscard]] BTree& tree() { return database_->tree(); }

  /// Some keys of the tree, and some that are not there.
  std::vector<std::string> some_keys(Random& random, std::uint64_t below) {
    std::vector<std::string> keys(random.below(50));
    const bool is_run = random.one_in(2);
    std::uint64_t number = random.below(below);
    for (std::string& key : keys) {
      key = test::big_endian(number);
      number = is_run ? number + 1 : random.below(below);
    }
    return keys;
  }

  void expect_read(const std::vector<ByteView>& keys) {
    std::size_t next = 0;
    const auto skip_absent = [&](std::size_t until) {
      for (; next < until; ++next) {
        EXPECT_FALSE(model_.contains(std::string(keys[next])));
      }
    };
    tree().lookup_many(keys, [&](std::size_t number, ByteView value) {
      skip_absent(number);
      const auto found = model_.find(std::string(keys[number]));
      ASSERT_TRUE(found != model_.end());
      EXPECT_EQ(value, found->second);
      next = number + 1;
    });
    skip_absent(keys.size());
  }

  /// Compares up to the first key that is not there.
  void expect_changed(const std::vector<ByteView>& keys) {
    std::size_t called = 0;
    const ManyWritten written = tree().edit_many({}, keys, [&](std::size_t i, ValueEditor& value) {
      EXPECT_EQ(i, called++);
      add(value, 1 + i);
    });
    EXPECT_EQ(written.done, called);
    for (std::size_t i = 0; i < written.done; ++i) {
      const auto found = model_.find(std::string(keys[i]));
      ASSERT_TRUE(found != model_.end());
      add(std::as_writable_bytes(std::span(found->second)), 1 + i);
    }
    if (written.done < keys.size()) {
      EXPECT_FALSE(model_.contains(std::string(keys[written.done])));
      EXPECT_FALSE(written.refused.existed);
    }
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
  std::map<std::string, std::string> model_;
};

TEST_F(ManyKeysTest, AreWhatSingleOnesWouldBe) {
  constexpr std::uint64_t kKeys = 4000;  // twice as many as the frames hold
  Random random(palimpsest::test::seed());
  for (int step = 0; step < palimpsest::test::repeats(12'000); ++step) {
    const std::vector<std::string> texts = some_keys(random, kKeys);
    const std::vector<ByteView> keys(texts.begin(), texts.end());
    switch (random.below(4)) {
      case 0:
        for (const std::string& key : texts) {
          const std::string value = value_of(random.below(1000), 8 + random.below(200));
          tree().upsert(key, value);
          model_[key] = value;
        }
        break;
      case 1:
        for (std::size_t i = 0; i < texts.size() / 3; ++i) {
          EXPECT_EQ(tree().remove(texts[i]), model_.erase(texts[i]) != 0);
        }
        break;
      case 2: ASSERT_NO_FATAL_FAILURE(expect_read(keys)); break;
      default: ASSERT_NO_FATAL_FAILURE(expect_changed(keys)); break;
    }
  }
}

TEST_F(ManyKeysTest, LargeValuesAreReadAndNotChanged) {
  const std::string large = value_of(7, 100'000);
  EXPECT_TRUE(tree().insert("large", large));
  EXPECT_TRUE(tree().insert("small", value_of(1, 8)));
  model_ = {{"large", large}, {"small", value_of(1, 8)}};
  const std::vector<ByteView> keys{"small", "large", "none", "small"};
  expect_read(keys);
  const auto change = [](std::size_t, ValueEditor& value) { add(value, 1); };
  EXPECT_EQ(
      palimpsest::test::error_of([&] { static_cast<void>(tree().edit_many({}, keys, change)); }),
      ErrorCode::invalid_argument);
  model_["small"] = value_of(2, 8);  // without a transaction, so there is no undo
  expect_read(keys);
}

TEST_F(ManyKeysTest, KeysThatAreNoneAreRefusedBeforeAnythingChanges) {
  EXPECT_TRUE(tree().insert("small", value_of(1, 8)));
  model_ = {{"small", value_of(1, 8)}};
  const std::vector<ByteView> keys{"small", ""};
  const auto change = [](std::size_t, ValueEditor& value) { add(value, 1); };
  EXPECT_EQ(
      palimpsest::test::error_of([&] { static_cast<void>(tree().edit_many({}, keys, change)); }),
      ErrorCode::invalid_argument);
  expect_read({"small"});
}

// A location is valid for one version of its leaf: its user notices that the leaf has changed.
TEST_F(ManyKeysTest, PlacesAreThoseOfTheLeafAsItIs) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_TRUE(tree().insert(test::big_endian(2 * i), value_of(i, 100)));
  }
  std::array<KeyPlace, 3> places;
  const std::string there = test::big_endian(500);
  const std::string absent = test::big_endian(501);
  const std::string far_away = test::big_endian(1500);
  const std::vector<ByteView> keys{there, absent, far_away};
  find_places(tree().descent(), keys, places, Purpose::read);   // resident or not,
  find_places(tree().descent(), keys, places, Purpose::write);  // now they are resident
  ASSERT_TRUE(places[0].is_known() && places[1].is_known() && places[2].is_known());
  EXPECT_TRUE(places[0].at.found);
  EXPECT_FALSE(places[1].at.found);
  EXPECT_TRUE(places[0].is_beside(places[1]));
  EXPECT_FALSE(places[0].is_beside(places[2]));
  auto& pool = tree().descent().pool();
  EXPECT_TRUE(pool.remembered(places[0].frame, places[0].version));
  EXPECT_TRUE(tree().insert(absent, value_of(1, 100)));
  EXPECT_FALSE(pool.remembered(places[0].frame, places[0].version));
}

class ManyKeysStressTest : public ManyKeysTest {
 protected:
  /// Accounts that are consecutive, or not, and may occur twice.
  void pay_from_the_first(Random& random, std::uint64_t accounts) {
    std::vector<std::string> texts(2 + random.below(20));
    std::uint64_t number = random.below(accounts);
    for (std::string& text : texts) {
      text = test::big_endian(number * 16);
      number = (random.one_in(3) ? random.below(accounts) : number + 1) % accounts;
    }
    const std::vector<ByteView> keys(texts.begin(), texts.end());
    const ManyWritten written = tree().edit_many({}, keys, [&](std::size_t i, ValueEditor& value) {
      add(value, i == 0 ? std::uint64_t{0} - (keys.size() - 1) : 1);
    });
    EXPECT_EQ(written.done, keys.size());
  }
};

// Sums stay constant: each change moves money from the first key of a batch to the rest.
TEST_F(ManyKeysStressTest, ThreadsChangeTheSameRecordsWhileLeavesSplit) {
  constexpr std::uint64_t kAccounts = 600;
  constexpr std::size_t kThreads = 5;
  for (std::uint64_t i = 0; i < kAccounts; ++i) {
    EXPECT_TRUE(tree().insert(test::big_endian(i * 16), value_of(1'000'000, 60)));
  }
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::duration<double>(palimpsest::test::test_seconds(3));
  palimpsest::test::run_threads(kThreads, [&](std::size_t thread) {
    Random random(palimpsest::test::seed() + thread);
    do {
      pay_from_the_first(random, kAccounts);
      const std::string own = test::big_endian(random.below(kAccounts) * 16 + 1 + thread);
      random.one_in(2) ? static_cast<void>(tree().upsert(own, value_of(0, 60)))
                       : static_cast<void>(tree().remove(own));
    } while (std::chrono::steady_clock::now() < until);
  });
  std::vector<std::string> texts;
  texts.reserve(kAccounts);
  for (std::uint64_t i = 0; i < kAccounts; ++i) {
    texts.push_back(test::big_endian(i * 16));
  }
  const std::vector<ByteView> keys(texts.begin(), texts.end());
  std::uint64_t sum = 0;
  std::size_t count = 0;
  tree().lookup_many(keys, [&](std::size_t, ByteView value) {
    sum += number_of(value);
    ++count;
  });
  EXPECT_EQ(count, kAccounts);
  EXPECT_EQ(sum, kAccounts * 1'000'000);
}

}  // namespace
}  // namespace palimpsest::btree
