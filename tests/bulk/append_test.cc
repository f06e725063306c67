// Appending records as leaves of their own yields the same tree as inserting them.
#include "bulk/append.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "base/sync_point.h"
#include "btree/audit.h"
#include "btree/btree.h"
#include "btree/cursor.h"
#include "bulk/leaf_builder.h"
#include "bulk/leaf_writer.h"
#include "tests/btree/tree_log_support.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree::test {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using palimpsest::test::sound;
using palimpsest::test::TreeDatabase;
using palimpsest::test::TreeOptions;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

using Records = std::map<std::string, std::string>;

Records random_records(Random& random, KeyShape shape, std::uint32_t page_size, std::size_t tries) {
  Records records;
  for (std::size_t i = 0; i < tries; ++i) {
    std::string key = random_key(random, shape, page_size);
    std::string value = random.one_in(100)
                            ? random_bytes(random, random.below(std::size_t{6} * page_size))
                            : random_value(random, key.size(), page_size);
    records.emplace(std::move(key), std::move(value));
  }
  return records;
}

/// Numbered records with values of that many bytes.
Records numbered(std::uint64_t begin, std::uint64_t end, std::size_t value_bytes) {
  Records records;
  for (std::uint64_t i = begin; i < end; ++i) {
    records.emplace(big_endian(i), std::string(value_bytes, static_cast<char>(i)));
  }
  return records;
}

std::vector<NewRecord> views_of(const Records& records) {
  std::vector<NewRecord> views;
  views.reserve(records.size());
  for (const auto& [key, value] : records) {
    views.push_back({key, value});
  }
  return views;
}

/// Appends as many records as possible; returns their number.
std::size_t append(BTree& tree, std::span<const NewRecord> records) {
  std::size_t done = 0;
  bulk::LeafWriter writer(tree.descent().pool());
  bulk::append(tree, {}, records, writer, done);
  return done;
}

class AppendTest : public ::testing::Test {
 protected:
  void make(const TreeOptions& options) {
    options_ = options;
    database_.reset();
    disk_ = SimDisk();
    device_ = disk_.device();
    database_ = TreeDatabase::create(*device_, options);
  }
  void reopen() {
    database_->close();
    database_.reset();
    database_ = TreeDatabase::open(*device_, options_);
  }
  [[nodiscard]] BTree& tree() { return database_->tree(); }

  /// Whether the tree holds these records and nothing else, and is sound.
  void expect_holds(const Records& records) {
    Cursor cursor(tree(), 100);
    cursor.seek_first();
    std::string value;
    for (const auto& [key, expected] : records) {
      ASSERT_TRUE(cursor.valid());
      ASSERT_EQ(cursor.key(), key);
      ASSERT_TRUE(cursor.read_value(value));
      ASSERT_EQ(value, expected);
      cursor.next();
    }
    ASSERT_FALSE(cursor.valid());
    ASSERT_TRUE(sound(*database_));
  }

  SimDisk disk_;
  TreeOptions options_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
};

// In parts of any length, with insertions in between.
TEST_F(AppendTest, EqualsInsertionsForAllShapesOfKeys) {
  Random random(palimpsest::test::seed());
  std::size_t appended = 0;
  for (const std::uint32_t page_size : {4096U, 16384U, 65536U}) {
    for (const KeyShape shape : kKeyShapes) {
      SCOPED_TRACE(std::to_string(page_size) + " " + std::to_string(static_cast<int>(shape)));
      make({.page_size_bytes = page_size, .frames = 40});
      const PageId root = tree().root_page();
      const Records records =
          random_records(random, shape, page_size, random.below((6U << 20) / page_size));
      const std::vector<NewRecord> views = views_of(records);
      for (std::span<const NewRecord> rest = views; !rest.empty();) {
        const std::size_t part = std::min<std::size_t>(rest.size(), 1 + random.below(300));
        const std::size_t done = append(tree(), rest.first(part));
        appended += done;
        rest = rest.subspan(done);
        for (std::size_t i = random.below(3); !rest.empty() && (i > 0 || done == 0); --i) {
          ASSERT_TRUE(tree().insert(rest[0].key, rest[0].value));
          rest = rest.subspan(1);
          if (i == 0) {
            break;
          }
        }
      }
      EXPECT_EQ(tree().root_page(), root);
      ASSERT_NO_FATAL_FAILURE(expect_holds(records));
      reopen();
      ASSERT_NO_FATAL_FAILURE(expect_holds(records));
    }
  }
  EXPECT_GT(appended, 1000U);
}

// Around the sizes at which a leaf is full, or the node above, and nothing else can be inserted.
TEST_F(AppendTest, EveryNumberOfRecords) {
  for (std::uint64_t count = 0; count <= 130; ++count) {
    SCOPED_TRACE(count);
    make({.page_size_bytes = 4096, .frames = 64});
    Records records;
    for (std::uint64_t i = 0; i < count; ++i) {
      records.emplace(big_endian(i) + std::string(500, 'k'), std::string(300, 'v'));
    }
    ASSERT_EQ(append(tree(), views_of(records)), count);
    ASSERT_NO_FATAL_FAILURE(expect_holds(records));
    // It is a tree like any other.
    for (const auto& [key, value] : records) {
      ASSERT_TRUE(tree().insert(key + "a", value));
      ASSERT_TRUE(tree().remove(key));
    }
    ASSERT_TRUE(sound(*database_));
  }
}

TEST_F(AppendTest, LeavesAreFull) {
  make({.page_size_bytes = 4096, .frames = 64});
  ASSERT_EQ(append(tree(), views_of(numbered(0, 40'000, 24))), 40'000U);
  const TreeAudit audited = audit(tree());
  ASSERT_TRUE(audited.sound()) << audited.text();
  EXPECT_GT(audited.leaves().fill(), 0.97);
}

TEST_F(AppendTest, LargerThanMemoryInSeveralParts) {
  make({.page_size_bytes = 4096, .frames = 32});
  Records all;
  for (std::uint64_t part = 0; part < 6; ++part) {
    const Records records = numbered(10'000 * part, 10'000 * (part + 1), 100);
    ASSERT_EQ(append(tree(), views_of(records)), records.size());
    all.insert(records.begin(), records.end());
  }
  EXPECT_GT(audit(tree()).node_count(), 50 * 32U);
  ASSERT_NO_FATAL_FAILURE(expect_holds(all));
  reopen();
  ASSERT_NO_FATAL_FAILURE(expect_holds(all));
  ASSERT_EQ(append(tree(), views_of(numbered(60'000, 60'100, 100))), 100U);
}

TEST_F(AppendTest, StopsWhereRecordsDoNotAscendOrAreLarge) {
  make({.page_size_bytes = 4096, .frames = 64});
  const std::string large(5'000, 'l');
  const std::vector<NewRecord> records{{"a", "1"}, {"b", "2"}, {"b", "3"}, {"c", "4"}};
  EXPECT_EQ(append(tree(), records), 2U);
  const std::vector<NewRecord> with_large{{"m", "1"}, {"n", large}, {"o", "2"}};
  EXPECT_EQ(append(tree(), with_large), 1U);
  const std::vector<NewRecord> begins_large{{"p", large}, {"q", "2"}};
  EXPECT_EQ(append(tree(), begins_large), 0U);
  EXPECT_EQ(append(tree(), {}), 0U);
  ASSERT_NO_FATAL_FAILURE(expect_holds({{"a", "1"}, {"b", "2"}, {"m", "1"}}));
}

TEST_F(AppendTest, NothingIsAppendedBelowTheEnd) {
  make({.page_size_bytes = 4096, .frames = 64});
  ASSERT_TRUE(tree().insert("m", "1"));
  const std::uint64_t allocated = database_->space().counts().allocated;
  for (const std::string_view key : {"a", "m"}) {
    const std::vector<NewRecord> records{{key, "x"}, {"z", "y"}};
    EXPECT_EQ(append(tree(), records), 0U);
  }
  EXPECT_EQ(database_->space().counts().allocated, allocated);
  ASSERT_NO_FATAL_FAILURE(expect_holds({{"m", "1"}}));
  const std::vector<NewRecord> above{{"m1", "x"}, {"z", "y"}};
  EXPECT_EQ(append(tree(), above), 2U);
  const std::vector<NewRecord> within{{"n", "x"}};
  EXPECT_EQ(append(tree(), within), 0U);
  ASSERT_NO_FATAL_FAILURE(expect_holds({{"m", "1"}, {"m1", "x"}, {"z", "y"}}));
}

TEST_F(AppendTest, KeysHaveLimits) {
  make({.page_size_bytes = 4096, .frames = 64});
  const std::string longest(512, 'x');
  const std::string too_long(513, 'y');
  for (const std::string_view bad : {std::string_view(), std::string_view(too_long)}) {
    const std::vector<NewRecord> records{{"a", "1"}, {bad, "2"}};
    EXPECT_EQ(error_of([&] { append(tree(), records); }), ErrorCode::invalid_argument);
  }
  ASSERT_NO_FATAL_FAILURE(expect_holds({}));
  // No longer key exists at which its leaf could end.
  const std::vector<NewRecord> records{{"a", "1"}, {longest, "2"}};
  EXPECT_EQ(append(tree(), records), 1U);
  const std::vector<NewRecord> in_between{{longest, "2"}, {"y", "3"}};
  EXPECT_EQ(append(tree(), in_between), 2U);
  ASSERT_NO_FATAL_FAILURE(expect_holds({{"a", "1"}, {longest, "2"}, {"y", "3"}}));
}

// No space at the n-th time the file grows, a failed write at the n-th write or sync: for every n.
// Records appended before are there, and no other page is in use.
TEST_F(AppendTest, FaultAtEveryPointLeaksNothing) {
  struct Case {
    unsigned kinds;
    int error;
    ErrorCode code;
  };
  const Records records = numbered(0, 15'000, 100);
  const std::vector<NewRecord> views = views_of(records);
  for (const Case& fault : {Case{unsigned(SimKind::allocate), ENOSPC, ErrorCode::no_space},
                            Case{unsigned(SimKind::write), ENOSPC, ErrorCode::no_space},
                            Case{unsigned(SimKind::write), EIO, ErrorCode::io_error}}) {
    bool failed = true;
    std::uint64_t nth = 1;
    for (; failed; ++nth) {
      SCOPED_TRACE(nth);
      make({.page_size_bytes = 4096, .frames = 64});
      disk_.inject({.error = fault.error, .kinds = fault.kinds, .nth = nth, .for_good = true});
      std::size_t done = 0;
      const auto code = error_of([&] {
        bulk::LeafWriter writer(database_->pool());
        bulk::append(tree(), {}, views, writer, done);
      });
      disk_.clear_faults();
      failed = code.has_value();
      if (failed) {
        ASSERT_EQ(*code, fault.code);
      } else {
        ASSERT_EQ(done, records.size());
      }
      const auto end = std::next(records.begin(), static_cast<std::ptrdiff_t>(done));
      ASSERT_NO_FATAL_FAILURE(expect_holds(Records(records.begin(), end)));
    }
    EXPECT_GT(nth, 2U);
  }
}

// One run is written while records for the next one are collected.
TEST_F(AppendTest, ManyRunsOfOneWriter) {
  make({.page_size_bytes = 4096, .frames = 64});
  bulk::LeafWriter writer(database_->pool());
  Records all;
  for (std::uint64_t part = 0; part < 5; ++part) {
    // The last ones exceed the writer's memory.
    const Records records =
        numbered(60'000 * part, 60'000 * part + (part < 3 ? 5'000 : 60'000), 150);
    const std::vector<NewRecord> views = views_of(records);
    const std::unique_ptr<bulk::LeafBuilder> run = bulk::begin_append(tree(), {}, views, writer);
    ASSERT_NE(run, nullptr);
    ASSERT_TRUE(tree().is_beyond_end(views.front().key)) << "the tree does not have them yet";
    std::size_t done = 0;
    bulk::end_append(tree(), {}, *run, done);
    ASSERT_EQ(done, records.size());
    all.insert(records.begin(), records.end());
  }
  ASSERT_NO_FATAL_FAILURE(expect_holds(all));
}

#ifdef PALIMPSEST_SYNC_POINTS

// Its pages are freed at once, and may be allocated again: so the release waits for their writes.
TEST_F(AppendTest, ARunThatIsLetGoIsNotWrittenAnyMore) {
  make({.page_size_bytes = 4096, .frames = 64});
  ASSERT_EQ(append(tree(), views_of(numbered(0, 1'000, 100))), 1'000U);
  const std::uint64_t allocated = database_->space().counts().allocated;
  const Records records = numbered(1'000, 30'000, 100);
  const std::vector<NewRecord> views = views_of(records);
  bulk::LeafWriter writer(database_->pool());
  std::atomic<int> writes = 0;
  std::atomic<bool> is_let_go = false;
  const auto let_go = [&] {
    is_let_go = true;
    is_let_go.notify_all();
  };
  disk_.set_hook(
      [&, owner = std::this_thread::get_id()](const palimpsest::test::SimOperation& operation) {
        if (operation.kind == SimKind::write && std::this_thread::get_id() != owner) {
          ++writes;
          is_let_go.wait(false);
        }
      });
  const SyncHook dropping("buffer.fresh.dropping", let_go);
  std::unique_ptr<bulk::LeafBuilder> run = bulk::begin_append(tree(), {}, views, writer);
  ASSERT_NE(run, nullptr);
  run.reset();
  const int written = writes;
  EXPECT_LE(written, 1) << "what was not begun is not worth waiting for";
  EXPECT_EQ(database_->space().counts().allocated, allocated);
  let_go();
  writer.await();
  EXPECT_EQ(writes, written);
  disk_.set_hook({});
  EXPECT_EQ(append(tree(), views), records.size());
  Records all = numbered(0, 1'000, 100);
  all.insert(records.begin(), records.end());
  ASSERT_NO_FATAL_FAILURE(expect_holds(all));
}

#endif

TEST_F(AppendTest, FullDisk) {
  const Records records = numbered(0, 40'000, 100);
  const std::vector<NewRecord> views = views_of(records);
  std::vector<bool> fits;
  for (std::uint64_t mebibytes = 2; mebibytes < 10; ++mebibytes) {
    SCOPED_TRACE(mebibytes);
    database_.reset();
    disk_ = SimDisk({.capacity_bytes = mebibytes << 20});
    device_ = disk_.device();
    database_ = TreeDatabase::create(*device_, {});
    const auto code = error_of([&] { append(tree(), views); });
    EXPECT_EQ(code.value_or(ErrorCode::no_space), ErrorCode::no_space);
    fits.push_back(!code.has_value());
    ASSERT_TRUE(sound(*database_));
  }
  EXPECT_FALSE(fits.front());
  EXPECT_TRUE(fits.back());
  EXPECT_TRUE(std::ranges::is_sorted(fits));
}

#ifdef PALIMPSEST_SYNC_POINTS

// Between writing the leaves and attaching them: they are freed.
TEST_F(AppendTest, AnotherEndMeanwhile) {
  make({.page_size_bytes = 4096, .frames = 64});
  const Records records = numbered(0, 2'000, 100);
  for (const std::string& key : {big_endian(500), big_endian(5'000)}) {
    SCOPED_TRACE(printable(key));
    const SyncHook hook("btree.append.written", [&] { EXPECT_TRUE(tree().insert(key, "other")); });
    EXPECT_EQ(append(tree(), views_of(records)), 0U);
    ASSERT_NO_FATAL_FAILURE(expect_holds({{key, "other"}}));
    ASSERT_TRUE(tree().remove(key));
  }
}

#endif

/// A tree with leaves appended, and a run to be attached behind them.
class GraftRecordTest : public AppendTest {
 protected:
  void SetUp() override {
    make({.page_size_bytes = 4096, .frames = 64});
    ASSERT_EQ(append(tree(), views_of(numbered(0, 1'000, 100))), 1'000U);
    const std::optional<KeyBuffer> lower = structure_for(tree()).open_end({}, big_endian(1'000));
    ASSERT_TRUE(lower);
    run_ = std::make_unique<bulk::LeafBuilder>(
        database_->pool(), bulk::LeafBuilder::Of{.tree = tree().id(), .lower = lower->view()},
        100'000, writer_.emplace(database_->pool()));
    for (std::uint64_t i = 1'000; i < 2'000; ++i) {
      run_->add(big_endian(i), std::string(100, 'v'));
    }
    run_->finish();
    run_->await_durable();
    ASSERT_EQ(run_->records_of(run_->leaves().size()), 1'000U);
    last_ = page_of(Target{{}, Target::Side::last}, 0);
  }
  [[nodiscard]] static Structure structure_for(const BTree& tree) {
    return {tree.descent(), tree.id()};
  }
  [[nodiscard]] PageId page_of(const Target& target, std::uint32_t level) {
    return NodeView(tree().descent().node<buffer::SharedPage>(target, level).page(), 4096)
        .page_id();
  }
  /// With pages instead of frames for children.
  [[nodiscard]] PageMemory copy_of(const Target& target, std::uint32_t level) {
    PageMemory copy(4096);
    const auto page = tree().descent().node<buffer::SharedPage>(target, level);
    std::memcpy(copy.data(), page.page(), 4096);
    InnerNode node = copy.inner();
    for (SlotIndex child = 0; level != 0 && child < node.child_count(); ++child) {
      if (const auto swip = buffer::Swip::of_word(node.swip_at(child)); swip.swizzled()) {
        node.set_swip(child, raw(database_->pool().frames()[swip.frame()].page_id.load()));
      }
    }
    return copy;
  }
  [[nodiscard]] Payload payload(SlotIndex slot) const {
    return encoded(LoggedGraft{.tree = TreeDatabase::kTree,
                               .last = last_,
                               .parent = tree_root_,
                               .parent_slot = slot,
                               .leaves = run_->leaves()});
  }

  std::optional<bulk::LeafWriter> writer_;
  std::unique_ptr<bulk::LeafBuilder> run_;
  PageId last_ = kNoPage;
  PageId tree_root_ = kNoPage;
};

TEST_F(GraftRecordTest, RedoDoesWhatHangingDoes) {
  tree_root_ = tree().root_page();
  const PageMemory parent = copy_of(Target{}, 1);
  const PageMemory last = copy_of(Target{{}, Target::Side::last}, 0);
  const SlotIndex slot = parent.inner().count();
  std::size_t hung = 0;
  structure_for(tree()).graft({}, run_->leaves(), hung);
  ASSERT_EQ(hung, run_->leaves().size());
  ASSERT_GT(hung, 20U);

  const Payload graft = payload(slot);
  const TreeRecord record = parsed(graft, 4096);
  EXPECT_FALSE(record.is_undoable());
  std::map<PageId, PageEffect> pages;
  visit_pages(record, [&](PageId page, PageEffect effect) { pages.emplace(page, effect); });
  EXPECT_EQ(pages.size(), hung + 2);
  EXPECT_THAT(pages, Contains(Pair(last_, PageEffect::rewrite)));
  EXPECT_THAT(pages, Contains(Pair(tree_root_, PageEffect::change)));
  EXPECT_THAT(pages, Contains(Pair(run_->leaves()[0].page, PageEffect::adopt)));
  EXPECT_THAT(print_tree_record(graft, 4096), HasSubstr("graft tree 7"));

  redo(graft, tree_root_, {parent.data(), 4096}, Gsn{1});
  redo(graft, last_, {last.data(), 4096}, Gsn{1});
  EXPECT_TRUE(same_page(parent.bytes(), copy_of(Target{}, 1).bytes()));
  EXPECT_TRUE(same_page(last.bytes(), copy_of(Target{{}, Target::Side::last}, 0).bytes()));
  EXPECT_EQ(gsn_of(parent.bytes()), Gsn{1});
  run_->keep(hung);
  ASSERT_NO_FATAL_FAILURE(expect_holds([] {
    Records records = numbered(0, 1'000, 100);
    for (std::uint64_t i = 1'000; i < 2'000; ++i) {
      records.emplace(big_endian(i), std::string(100, 'v'));
    }
    return records;
  }()));
}

TEST_F(GraftRecordTest, RedoRefusesWhatDoesNotSuitThePage) {
  tree_root_ = tree().root_page();
  const PageMemory parent = copy_of(Target{}, 1);
  const SlotIndex slot = parent.inner().count();
  EXPECT_EQ(redo_fault(payload(slot), tree_root_, parent.bytes()), std::nullopt);
  const auto fault_of = [&](const Payload& graft) {
    return redo_fault(graft, tree_root_, parent.bytes()).value_or("none");
  };
  EXPECT_THAT(fault_of(payload(slot - 1)), HasSubstr("is not its last child"));
  const PageId last = std::exchange(last_, PageId{12345});
  EXPECT_THAT(fault_of(payload(slot)), HasSubstr("is not its last child"));
  last_ = last;

  PageMemory again = copy_of(Target{}, 1);
  redo(payload(slot), tree_root_, {again.data(), 4096}, Gsn{1});
  EXPECT_THAT(redo_fault(payload(again.inner().count()), tree_root_, again.bytes()).value_or(""),
              HasSubstr("is not above the existing ones"));

  PageMemory full = copy_of(Target{}, 1);
  const std::string filler = big_endian(900) + std::string(300, 'f');
  InnerNode node = full.inner();
  for (char digit = '0'; node.free_bytes() > 600; ++digit) {
    ASSERT_TRUE(node.insert(node.find(filler + digit).slot, filler + digit, raw(last_)));
  }
  EXPECT_THAT(redo_fault(payload(node.count()), tree_root_, full.bytes()).value_or(""),
              HasSubstr("do not fit"));
}

TEST_F(GraftRecordTest, DamagedRecordsAreRefused) {
  tree_root_ = tree().root_page();
  const Payload graft = payload(3);
  const auto fault_of = [&](const Payload& bytes) {
    TreeRecord record;
    return parse_tree_record(bytes, 4096, record).value_or("none");
  };
  EXPECT_EQ(fault_of(graft), "none");
  for (std::size_t bytes = 0; bytes < graft.size(); ++bytes) {
    EXPECT_NE(fault_of({graft.begin(), graft.begin() + static_cast<std::ptrdiff_t>(bytes)}), "none")
        << bytes;
  }
  const auto with = [&](std::size_t offset, std::uint8_t value) {
    Payload changed = graft;
    changed.at(offset) = std::byte{value};
    return fault_of(changed);
  };
  EXPECT_THAT(with(0, kind_byte(TreeRecordKind::graft, kCompensation)), HasSubstr("unknown bits"));
  EXPECT_THAT(with(1, 1), HasSubstr("unknown bits"));
  EXPECT_THAT(with(offsetof(GraftHeader, count), 0), HasSubstr("are announced"));
  EXPECT_THAT(with(offsetof(GraftHeader, last) + 7, 0x80), HasSubstr("is not a possible page"));
  EXPECT_THAT(with(offsetof(GraftHeader, above) + 7, 0x80), HasSubstr("together"));
}

}  // namespace
}  // namespace palimpsest::btree::test
