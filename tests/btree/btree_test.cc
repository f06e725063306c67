// Random operations against std::map, ghosts included, with pools so small that everything is
// evicted all the time.
#include "btree/btree.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "btree/audit.h"
#include "btree/cursor.h"
#include "btree/leaf_walk.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/test_seconds.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::SimDisk;
using palimpsest::test::TreeDatabase;
using palimpsest::test::TreeOptions;
using test::KeyShape;

/// A tree and its expected contents, changed together.
class Model {
 public:
  Model(io::Device& device, const TreeOptions& options, KeyShape shape, std::uint64_t seed)
      : device_(device),
        options_(options),
        shape_(shape),
        random_(seed),
        database_(TreeDatabase::create(device, options)) {}

  void step() {
    const std::string key = some_key();
    switch (random_.below(18)) {
      case 0:
      case 1:
      case 2: insert(key); break;
      case 3:
      case 4: upsert(key); break;
      case 5: update(key); break;
      case 6: modify(key); break;
      case 7:
      case 8: remove(key); break;
      case 9: lookup_with(key); break;
      case 10: prefetch(); break;
      case 11: scan(key); break;
      case 12:
      case 13: mark_deleted(key); break;
      case 14: unmark_deleted(key); break;
      case 15: purge_ghosts(key); break;
      case 16: visit(key); break;
      default: lookup(key); break;
    }
  }

  void remove_much(std::uint64_t one_stays_in) {
    for (auto record = records_.begin(); record != records_.end();) {
      if (random_.one_in(one_stays_in)) {
        ++record;
        continue;
      }
      ASSERT_TRUE(tree().remove(record->first, last()));
      record = records_.erase(record);
    }
  }

  void check_all() {
    std::string value;
    for (const auto& [key, expected] : records_) {
      ASSERT_TRUE(tree().lookup(key, value)) << printable(key);
      ASSERT_EQ(value, expected) << printable(key);
    }
    ASSERT_TRUE(palimpsest::test::sound(*database_));
    const LevelStatistics leaves = audit(tree()).leaves();
    ASSERT_EQ(leaves.entries, records_.size());
    ASSERT_EQ(leaves.ghosts, ghosts_.size());
  }

  void reopen() {
    database_->close();
    database_.reset();
    last_.forget();
    database_ = TreeDatabase::open(device_, options_);
  }

  [[nodiscard]] std::size_t size() const { return records_.size(); }

 private:
  BTree& tree() { return database_->tree(); }
  LastLeaf* last() { return random_.one_in(2) ? &last_ : nullptr; }

  std::string some_key() {
    if (!ghosts_.empty() && random_.one_in(4)) {
      const auto found =
          ghosts_.lower_bound(test::random_key(random_, shape_, options_.page_size_bytes));
      return found != ghosts_.end() ? found->first : ghosts_.begin()->first;
    }
    if (!records_.empty() && random_.one_in(2)) {  // most likely one that is there
      const auto found =
          records_.lower_bound(test::random_key(random_, shape_, options_.page_size_bytes));
      return found != records_.end() ? found->first : records_.begin()->first;
    }
    return test::random_key(random_, shape_, options_.page_size_bytes);
  }
  std::string some_value(const std::string& key) {
    if (random_.one_in(100)) {
      return test::random_bytes(random_, random_.below(std::size_t{8} * options_.page_size_bytes));
    }
    return test::random_value(random_, key.size(), options_.page_size_bytes);
  }

  void insert(const std::string& key) {
    const std::string value = some_value(key);
    const bool is_new = records_.emplace(key, value).second;
    ASSERT_EQ(tree().insert(key, value, last()), is_new);
    ghosts_.erase(key);
  }
  void upsert(const std::string& key) {
    const std::string value = some_value(key);
    ASSERT_EQ(tree().upsert(key, value, last()), records_.insert_or_assign(key, value).second);
    ghosts_.erase(key);
  }
  void update(const std::string& key) {
    const std::string value = some_value(key);
    const auto record = records_.find(key);
    ASSERT_EQ(tree().update(key, value, last()), record != records_.end());
    if (record != records_.end()) {
      record->second = value;
    }
  }
  void modify(const std::string& key) {
    const auto record = records_.find(key);
    const char mark = static_cast<char>(random_());
    const bool large = record != records_.end() && key.size() + record->second.size() >
                                                       record_bytes_max(options_.page_size_bytes);
    const auto change = [&](MutableBytes bytes) {
      ASSERT_EQ(bytes.size(), record->second.size());
      if (!bytes.empty()) {
        bytes.back() = std::byte(mark);
        record->second.back() = mark;
      }
    };
    if (large) {
      ASSERT_THROW(static_cast<void>(tree().modify(key, change, last())), Error);
    } else {
      ASSERT_EQ(tree().modify(key, change, last()), record != records_.end());
    }
  }
  void remove(const std::string& key) {
    ASSERT_EQ(tree().remove(key, last()), records_.erase(key) == 1);
  }
  void mark_deleted(const std::string& key) {
    auto record = records_.extract(key);
    ASSERT_EQ(tree().mark_deleted(key, last()), !record.empty());
    if (record) {
      ASSERT_TRUE(ghosts_.insert(std::move(record)).inserted);
    }
  }
  void unmark_deleted(const std::string& key) {
    auto ghost = ghosts_.extract(key);
    ASSERT_EQ(tree().unmark_deleted(key, last()), !ghost.empty());
    if (ghost) {
      ASSERT_TRUE(records_.insert(std::move(ghost)).inserted);
    }
  }
  void purge_ghosts(const std::string& key) {
    const std::uint64_t one_stays_in = random_.between(1, 4);
    std::vector<std::string> gone;
    const auto may_purge = [&](const LeafView& leaf, SlotIndex slot) {
      if (one_stays_in != 1 && random_.one_in(one_stays_in)) {
        return false;
      }
      gone.push_back(test::key_at(leaf, slot));
      return true;
    };
    const std::size_t purged_count = tree().purge_ghosts({}, key, may_purge);
    ASSERT_EQ(purged_count, gone.size());
    for (const std::string& purged : gone) {
      ASSERT_EQ(ghosts_.erase(purged), 1U) << printable(purged);
    }
  }
  // Visits the records from a key on, in either direction, up to some number of leaves.
  void visit(const std::string& key) {
    const bool forward = random_.one_in(2);
    std::vector<std::string> seen;
    std::uint64_t runs = random_.between(1, 8);
    const auto visitor = [&](const LeafView& leaf, SlotIndex first, SlotIndex last) {
      for (SlotIndex i = first; i < last; ++i) {
        const SlotIndex slot = forward ? i : first + last - 1 - i;
        seen.push_back(test::key_at(leaf, slot));
      }
      return --runs > 0;
    };
    if (forward) {
      visit_leaves(tree().descent(), {.lower = key, .upper = {}}, Direction::forward, visitor);
      auto record = records_.lower_bound(key);
      for (const std::string& found : seen) {
        ASSERT_EQ(found, (record++)->first);
      }
      ASSERT_TRUE(runs == 0 || record == records_.end());
    } else {
      visit_leaves(tree().descent(), {.lower = {}, .upper = key}, Direction::backward, visitor);
      auto record = std::make_reverse_iterator(records_.lower_bound(key));
      for (const std::string& found : seen) {
        ASSERT_EQ(found, (record++)->first);
      }
      ASSERT_TRUE(runs == 0 || record == records_.rend());
    }
  }
  void lookup(const std::string& key) {
    const auto record = records_.find(key);
    std::string value;
    ASSERT_EQ(tree().lookup(key, value, last()), record != records_.end());
    if (record != records_.end()) {
      ASSERT_EQ(value, record->second);
    }
  }
  void lookup_with(const std::string& key) {
    const auto record = records_.find(key);
    int calls = 0;
    const bool found = tree().lookup_with(
        key,
        [&](ByteView value) {
          ++calls;
          ASSERT_EQ(value, record->second);
        },
        last());
    ASSERT_EQ(found, record != records_.end());
    ASSERT_EQ(calls, found ? 1 : 0);
  }
  void prefetch() {
    std::vector<std::string> keys;
    keys.reserve(6);
    for (int i = 0; i < 6; ++i) {
      keys.push_back(some_key());
    }
    const std::vector<ByteView> views(keys.begin(), keys.end());
    tree().prefetch(views);
    for (const auto& key : keys) {
      lookup(key);
    }
  }

  // Scans some records from a position, in either direction, with large values and reversals.
  void scan(const std::string& key) {
    Cursor cursor(tree(), random_.between(1, 20));
    auto record = records_.lower_bound(key);
    switch (random_.below(4)) {
      case 0:
        cursor.seek_first();
        record = records_.begin();
        break;
      case 1:
        cursor.seek_last();
        record = records_.empty() ? records_.end() : std::prev(records_.end());
        break;
      case 2:
        cursor.seek_for_prev(key);
        if (record == records_.end() || record->first != key) {
          record = record == records_.begin() ? records_.end() : std::prev(record);
        }
        break;
      default: cursor.seek(key); break;
    }
    bool forward = random_.one_in(2);
    std::string value;
    for (int i = 0; i < 40 && record != records_.end(); ++i) {
      ASSERT_TRUE(cursor.valid());
      ASSERT_EQ(cursor.key(), record->first);
      ASSERT_TRUE(cursor.read_value(value));
      ASSERT_EQ(value, record->second);
      forward = random_.one_in(15) ? !forward : forward;
      if (forward) {
        cursor.next();
        ++record;
      } else {
        cursor.previous();
        record = record == records_.begin() ? records_.end() : std::prev(record);
      }
    }
    ASSERT_EQ(cursor.valid(), record != records_.end());
  }

  io::Device& device_;
  TreeOptions options_;
  KeyShape shape_;
  Random random_;
  LastLeaf last_;
  std::unique_ptr<TreeDatabase> database_;
  std::map<std::string, std::string> records_;
  std::map<std::string, std::string> ghosts_;  ///< their original values
};

struct Shape {
  std::uint32_t page_size_bytes;
  KeyShape keys;
};

TEST(BTreeLastLeaf, ThatOfAnotherTreeIsNotUsed) {
  SimDisk disk;
  const auto device = disk.device();
  const auto database = TreeDatabase::create(*device, {});
  BTree& one = database->tree();
  BTree other = BTree::create(database->pool(), database->large_values(), TreeId{23});
  LastLeaf last;
  std::string value;
  ASSERT_TRUE(one.insert("key", "one", &last));
  ASSERT_TRUE(last.covers("key"));
  EXPECT_FALSE(other.lookup("key", value, &last));
  EXPECT_TRUE(other.insert("key", "other", &last)) << "its leaf is another one";
  ASSERT_TRUE(last.covers("key"));
  ASSERT_TRUE(one.lookup("key", value, &last));
  EXPECT_EQ(value, "one");
  EXPECT_TRUE(one.update("key", "changed", &last));
  ASSERT_TRUE(other.lookup("key", value));
  EXPECT_EQ(value, "other");
}

class BTreeModel : public ::testing::TestWithParam<Shape> {};

TEST_P(BTreeModel, AgreesWithAMap) {
  const std::uint64_t seed = palimpsest::test::seed();
  Random random(seed);
  SimDisk disk;
  const auto device = disk.device();
  const TreeOptions options{.page_size_bytes = GetParam().page_size_bytes,
                            .frames = static_cast<std::uint32_t>(random.between(32, 100))};
  Model model(*device, options, GetParam().keys, random());
  // In the largest pages each step is expensive, and the tree soon exceeds its memory.
  const int steps = options.page_size_bytes < 65536 ? 1500 : palimpsest::test::repeats(1500);
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::duration<double>(palimpsest::test::test_seconds(0.6));
  int phases = 0;
  do {
    for (int i = 0; i < steps && !HasFatalFailure(); ++i) {
      model.step();
    }
    if (phases % 4 == 3) {
      model.remove_much(random.between(2, 50));
    }
    ASSERT_NO_FATAL_FAILURE(model.check_all());
    if (phases % 3 == 1) {
      model.reopen();
      ASSERT_NO_FATAL_FAILURE(model.check_all());
    }
    ++phases;
  } while (phases < 4 || std::chrono::steady_clock::now() < until);
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const std::uint32_t page_size : {4096U, 16384U, 65536U}) {
    for (const KeyShape keys : test::kKeyShapes) {
      all.push_back({page_size, keys});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, BTreeModel, ::testing::ValuesIn(shapes()), [](const auto& shape) {
  return "pages" + std::to_string(shape.param.page_size_bytes) + "keys" +
         std::to_string(static_cast<int>(shape.param.keys));
});

}  // namespace
}  // namespace palimpsest::btree
