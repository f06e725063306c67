// Fails any allocation of any call, while everything is evicted all the time: each call succeeds,
// or throws std::bad_alloc without an effect. None is left half done or half undone; no frame, page
// or entry of the fault table leaks.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/sync_point.h"
#include "btree/btree.h"
#include "btree/cursor.h"
#include "bulk/page_allocator.h"
#include "tests/btree/allocation_faults.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::SimDisk;
using palimpsest::test::sound;
using palimpsest::test::TreeDatabase;
using palimpsest::test::TreeOptions;
using test::AllocationFault;

constexpr TreeOptions kOptions{.page_size_bytes = 4096, .frames = 32};
constexpr std::uint64_t kKeys = 1500;

/// The first attempt's failing allocation is among this many; those of later attempts among more.
constexpr std::uint64_t kAllocations = 8;

class BTreeMemoryFault : public ::testing::Test {
 protected:
  BTreeMemoryFault()
      : random_(palimpsest::test::seed()),
        inner_device_(disk_.device()),
        device_(test::without_allocation_faults(*inner_device_)),
        database_(TreeDatabase::create(*device_, kOptions)) {}

  [[nodiscard]] BTree& tree() { return database_->tree(); }

  /// Longer than what strings and fences hold without allocating.
  static std::string key_of(std::uint64_t i) { return std::string(30, 'k') + test::big_endian(i); }

  /// Repeats a call, each time with another allocation failing, until it succeeds.
  template <class Call>
  void repeat(Call call) {
    for (std::uint64_t attempt = 1;; ++attempt) {
      const std::uint64_t nth = random_.between(1, kAllocations * attempt);
      try {
        const AllocationFault fault(nth);
        call();
        succeeded_in_spite_ += fault.met() ? 1 : 0;
        return;
      } catch (const std::bad_alloc&) {
        ++failed_;
      }
    }
  }

  void step() {
    const std::string key = key_of(random_.below(kKeys));
    const std::string value(random_.one_in(8) ? 2000 + random_.below(9000) : random_.below(300),
                            static_cast<char>(random_()));
    const auto record = model_.find(key);
    const bool there = record != model_.end();
    LastLeaf fresh;  // remembering allocates
    LastLeaf* last = random_.one_in(2) ? &last_ : &fresh;
    switch (random_.below(9)) {
      case 0:
      case 1:
        repeat([&] { ASSERT_EQ(tree().insert(key, value, last), !there); });
        model_.emplace(key, value);
        break;
      case 2:
      case 3:
        repeat([&] { ASSERT_EQ(tree().upsert(key, value, last), !there); });
        model_[key] = value;
        break;
      case 4:
        repeat([&] { ASSERT_EQ(tree().update(key, value, last), there); });
        if (there) {
          record->second = value;
        }
        break;
      case 5:
        repeat([&] { ASSERT_EQ(tree().remove(key, last), there); });
        model_.erase(key);
        break;
      case 6: scan(key); break;
      case 7: random_.one_in(30) ? flush() : prefetch(); break;
      default: lookup(key, last); break;
    }
  }

  void lookup(const std::string& key, LastLeaf* last) {
    const auto record = model_.find(key);
    std::string found;
    repeat([&] { ASSERT_EQ(tree().lookup(key, found, last), record != model_.end()); });
    if (record != model_.end()) {
      ASSERT_EQ(found, record->second);
    }
  }

  /// Scans a few leaves, beginning at a key.
  void scan(const std::string& key) {
    const auto first = model_.lower_bound(key);
    std::vector<std::string> expected;
    std::vector<std::string> keys;
    for (auto at = first; at != model_.end() && expected.size() < 30; ++at) {
      expected.push_back(at->first);
    }
    repeat([&] {
      keys.clear();
      Cursor cursor(tree());
      for (cursor.seek(key); cursor.valid() && keys.size() < 30; cursor.next()) {
        keys.emplace_back(cursor.key());
      }
    });
    ASSERT_EQ(keys, expected);
  }

  void prefetch() {
    std::vector<std::string> keys(5);
    for (std::string& key : keys) {
      key = key_of(random_.below(kKeys));
    }
    const std::vector<ByteView> views(keys.begin(), keys.end());
    repeat([&] { tree().prefetch(views); });
  }

  void flush() {
    repeat([&] { database_->pool().flush(); });
    repeat([&] { database_->space().flush(database_->writer()); });
    const buffer::SpaceMap on_disk(database_->file());
    for (PageId page = database_->file().first_page(); database_->file().contains(page);
         page = PageId{raw(page) + 1}) {
      ASSERT_EQ(on_disk.is_allocated(page), database_->space().is_allocated(page)) << raw(page);
    }
  }

  /// Restarts with a fault table that has never held anything, and so allocates.
  void reopen() {
    database_->close();
    last_.forget();
    database_.reset();
    database_ = TreeDatabase::open(*device_, kOptions);
  }

  void check_all() {
    std::string value;
    for (const auto& [key, expected] : model_) {
      ASSERT_TRUE(tree().lookup(key, value));
      ASSERT_EQ(value, expected);
    }
    ASSERT_FALSE(database_->file().failed());
    ASSERT_TRUE(sound(*database_));
    const buffer::FrameTable& frames = database_->pool().frames();
    for (std::uint32_t i = 0; i < frames.count(); ++i) {
      ASSERT_NE(frames[FrameIndex{i}].state.load(), buffer::FrameState::loading) << "frame " << i;
    }
  }

  Random random_;
  SimDisk disk_;
  std::unique_ptr<io::Device> inner_device_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
  LastLeaf last_;
  std::map<std::string, std::string> model_;
  int failed_ = 0;
  int succeeded_in_spite_ = 0;
};

TEST_F(BTreeMemoryFault, AtAnyAllocation) {
  for (int i = 0; i < 6000 && !HasFatalFailure(); ++i) {
    step();
    if (i % 500 == 499) {
      ASSERT_NO_FATAL_FAILURE(check_all());
      ASSERT_NO_THROW(reopen());
    }
  }
  std::printf("%d calls failed, %d succeeded in spite of a failed allocation, %zu records\n",
              failed_, succeeded_in_spite_, model_.size());
  EXPECT_GT(failed_, 1000);
  EXPECT_GT(succeeded_in_spite_, 100);
  ASSERT_NO_FATAL_FAILURE(check_all());
}

// After the failure the cursor does not stand on a record that it had copied before.
TEST_F(BTreeMemoryFault, ACursorThatHasFailedIsInvalid) {
  for (std::uint64_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(tree().insert(key_of(i), "small"));
  }
  int failed = 0;
  for (const bool is_backward : {false, true}) {
    bool met = true;
    for (std::uint64_t nth = 1; met; ++nth) {
      Cursor cursor(tree(), 64);
      const AllocationFault fault(nth);
      try {
        is_backward ? cursor.seek_last() : cursor.seek_first();
      } catch (const std::bad_alloc&) {
        EXPECT_FALSE(cursor.valid()) << nth;
        ++failed;
      }
      met = fault.met();
    }
  }
  EXPECT_GE(failed, 8);
}

TEST_F(BTreeMemoryFault, NoPageOfABulkBuildIsLost) {
  buffer::SpaceMap& space = database_->space();
  std::vector<PageId> pages(400);
  for (PageId& page : pages) {
    page = space.allocate(0);
  }
  for (std::size_t i = 0; i < pages.size(); i += 2) {
    space.free(pages[i]);  // so that the free runs are not adjacent
  }
  const std::uint64_t in_use = space.counts().allocated;
  bool met = true;
  std::uint64_t nth = 0;
  while (met) {
    bulk::PageAllocator supply(space, 1, 0);
    const AllocationFault fault(++nth);
    try {
      for (int i = 0; i < 100; ++i) {
        static_cast<void>(supply.take());
      }
    } catch (const std::bad_alloc&) {
      ++failed_;
    }
    met = fault.met();
    supply.give_back_all();
    ASSERT_EQ(space.counts().allocated, in_use) << nth;
  }
  EXPECT_GT(failed_, 100);
  for (std::size_t i = 1; i < pages.size(); i += 2) {
    space.free(pages[i]);
  }
}

#ifdef PALIMPSEST_SYNC_POINTS

// A contended write waits for its leaf and then splits it, since the leaf has seen too much
// contention. The value is in the leaf by then: even if the split fails, its pages are not freed.
TEST_F(BTreeMemoryFault, SplitAfterAContendedWrite) {
  for (std::uint64_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(tree().insert(key_of(i), "small"));
  }
  const std::string key = key_of(150);
  bool met = true;
  std::uint64_t nth = 0;
  while (met) {
    const std::string value(5000, static_cast<char>(++nth));
    buffer::ExclusivePage leaf = tree().descent().leaf<buffer::ExclusivePage>(Target{key});
    leaf.frame().contention.store(UINT8_MAX);
    std::optional<AllocationFault> fault;  // of the writer's thread
    std::atomic<bool> waits = false;
    const SyncHook hook("latch.park.marked", [&] {
      if (!waits.exchange(true)) {
        fault.emplace(nth);
        waits.notify_all();
      }
    });
    std::thread writer([&] {
      EXPECT_NO_THROW(tree().upsert(key, value));
      met = fault && fault->met();
      fault.reset();
    });
    waits.wait(false);
    leaf.release_unchanged();
    writer.join();
    std::string found;
    ASSERT_TRUE(tree().lookup(key, found));
    ASSERT_EQ(found, value);
    ASSERT_NO_FATAL_FAILURE(check_all());
  }
  EXPECT_GT(nth, 2U) << "the split allocates";
}

#endif

}  // namespace
}  // namespace palimpsest::btree
