// Redo and undo on single pages and small families of pages, in every page size: redo of an older
// copy reproduces the same bytes, and redo refuses records that were not logged for the page.
#include "btree/log/tree_redo.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "btree/log/tree_record_encode.h"
#include "btree/node/node_split.h"
#include "tests/btree/tree_log_support.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::btree::test {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::Sweep;

constexpr TreeId kTree{7};
constexpr PageId kLeft{2};
constexpr PageId kRight{3};
constexpr PageId kAbove{1};
/// For each damaged record: the minimum number of truncated sizes and flipped bits to try, and the
/// limit in time for the rest.
constexpr std::uint64_t kSizesMin = 200;
constexpr std::uint64_t kBitsMin = 500;
constexpr double kSecondsPerSample = 0.15;

MutableBytes bytes_of(const PageMemory& page) {
  return {page.data(), page.size()};
}

std::string large_value(Random& random, std::uint32_t page_size) {
  const std::array<buffer::PageRun, 1> runs{{{PageId{1000 + random.below(1000)}, 2}}};
  return std::string(
      LargeValueDescriptor::make(page_size + 1, {1, 1 + random.below(1000)}, runs, page_size)
          .encode()
          .view());
}

/// A leaf that is changed at random, and the log of its changes.
class LoggedLeaf {
 public:
  LoggedLeaf(std::uint32_t page_size, KeyShape shape, Random& random)
      : page_size_(page_size), shape_(shape), random_(random), page_(page_size) {
    page_.leaf().init(kLeft, kTree, {}, std::nullopt);
  }

  /// `shrinks`: whether a value may get shorter, after which undo might not find space.
  void step(bool shrinks) {
    LeafNode leaf = page_.leaf();
    const SlotIndex count = leaf.count();
    if (count == 0 || random_.below(3) == 0) {
      insert();
      return;
    }
    const auto slot = static_cast<SlotIndex>(random_.below(count));
    switch (random_.below(shrinks ? 6 : 4)) {
      case 0:
      case 1: update(slot, shrinks); break;
      case 2: patch(slot); break;
      case 3: mark(slot); break;
      case 4: purge(); break;
      default: mark(slot); break;
    }
  }

  [[nodiscard]] const PageMemory& page() const { return page_; }
  [[nodiscard]] const std::vector<Payload>& log() const { return log_; }
  void forget_log() { log_.clear(); }

 private:
  void logged(Payload payload) {
    log_.push_back(std::move(payload));
    const Gsn gsn{log_.size()};
    std::memcpy(page_.data() + offsetof(buffer::PageHeader, gsn), &gsn, sizeof gsn);
  }
  [[nodiscard]] RecordPlace place(SlotIndex slot, ByteView key) const {
    return {kTree, kLeft, slot, key};
  }
  [[nodiscard]] StoredRecord new_value(std::size_t key_len, std::size_t bytes_min) {
    if (bytes_min <= 44 && random_.one_in(10)) {
      return {large_value(random_, page_size_), kLargeValue};
    }
    std::string value = random_value(random_, key_len, page_size_);
    if (value.size() < bytes_min) {
      value = random_bytes(random_, bytes_min);
    }
    return {std::move(value), kPlainRecord};
  }

  void insert() {
    LeafNode leaf = page_.leaf();
    const std::string key = random_key(random_, shape_, page_size_);
    const SearchResult at = leaf.find(key);
    const StoredRecord made = new_value(key.size(), 0);
    if (!at.found && leaf.insert(at.slot, key, made.value, made.flags)) {
      logged(encoded(LoggedInsert{place(at.slot, key), {made.value, made.flags}}));
    }
  }
  void update(SlotIndex slot, bool shrinks) {
    LeafNode leaf = page_.leaf();
    const std::string key = key_at(leaf, slot);
    StoredRecord made = new_value(key.size(), shrinks ? 0 : leaf.value(slot).size());
    if (random_.one_in(4) && made.flags == kPlainRecord && leaf.value(slot).size() >= 4) {
      made.value = std::string(leaf.value(slot));  // mostly unchanged, but longer
      made.value.insert(2, random_.one_in(2) ? "" : "more");
    }
    if (key.size() + made.value.size() > record_bytes_max(page_size_) ||
        !leaf.can_replace(slot, made.value.size())) {
      return;
    }
    const Payload payload = encoded(LoggedUpdate{
        place(slot, key), {leaf.value(slot), leaf.flags(slot)}, {made.value, made.flags}});
    ASSERT_TRUE(leaf.replace_value(slot, made.value));
    leaf.set_flags(slot, made.flags);
    logged(payload);
  }
  void patch(SlotIndex slot) {
    LeafNode leaf = page_.leaf();
    if (leaf.flags(slot) != kPlainRecord) {
      return;
    }
    const std::string key = key_at(leaf, slot);
    std::string value(leaf.value(slot));
    for (std::uint64_t edits = random_.below(5); edits > 0 && !value.empty(); --edits) {
      value[random_.below(value.size())] = static_cast<char>(random_());
    }
    logged(encoded(LoggedUpdate{place(slot, key), {leaf.value(slot)}, {value}}));
    std::memcpy(leaf.value_bytes(slot).data(), value.data(), value.size());
  }
  void mark(SlotIndex slot) {
    LeafNode leaf = page_.leaf();
    logged(encoded(LoggedMark{place(slot, key_at(leaf, slot)), leaf.flags(slot)}));
    leaf.set_ghost(slot, !leaf.is_ghost(slot));
  }
  void purge() {
    LeafNode leaf = page_.leaf();
    std::vector<SlotIndex> slots;
    for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
      if (leaf.is_ghost(slot) && !random_.one_in(3)) {
        slots.push_back(slot);
      }
    }
    if (!slots.empty()) {
      logged(encoded(LoggedPurge{leaf, slots}));
      leaf.purge_ghosts(slots);
    }
  }

  std::uint32_t page_size_;
  KeyShape shape_;
  Random& random_;
  PageMemory page_;
  std::vector<Payload> log_;
};

class RedoPages : public ::testing::TestWithParam<std::tuple<std::uint32_t, KeyShape>> {
 protected:
  [[nodiscard]] static std::uint32_t page_size() { return std::get<0>(GetParam()); }
  [[nodiscard]] static KeyShape shape() { return std::get<1>(GetParam()); }

  Random random_{palimpsest::test::seed()};
};

INSTANTIATE_TEST_SUITE_P(Shapes, RedoPages,
                         ::testing::Combine(::testing::ValuesIn(kPageSizesOfModels),
                                            ::testing::ValuesIn(kKeyShapes)),
                         [](const auto& shape) {
                           return "pages" + std::to_string(std::get<0>(shape.param)) + "keys" +
                                  std::to_string(static_cast<int>(std::get<1>(shape.param)));
                         });

// From the empty page and from a copy made at any time, redo reproduces the current page.
TEST_P(RedoPages, ReplayOnAnOlderCopyGivesTheSameBytes) {
  LoggedLeaf leaf(page_size(), shape(), random_);
  PageMemory copy(page_size());
  redo(encoded(LoggedFormatRoot{kTree, kLeft}), kLeft, bytes_of(copy), Gsn{0});
  ASSERT_TRUE(same_page(copy.bytes(), leaf.page().bytes()));
  std::size_t replayed = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 60; ++i) {
      leaf.step(true);
    }
    for (; replayed < leaf.log().size(); ++replayed) {
      const Payload& payload = leaf.log()[replayed];
      static_cast<void>(parsed(payload, page_size()));
      ASSERT_LE(payload.size(), max_record_change_bytes(page_size()));
      redo(payload, kLeft, bytes_of(copy), Gsn{replayed + 1});
      ASSERT_TRUE(sound(copy.leaf())) << print_tree_record(payload, page_size());
    }
    ASSERT_TRUE(same_page(copy.bytes(), leaf.page().bytes()));
    ASSERT_EQ(gsn_of(copy.bytes()), gsn_of(leaf.page().bytes()));
  }
}

// Also when the leaf was split meanwhile: undo goes by key.
TEST_P(RedoPages, UndoGivesTheContentBefore) {
  LoggedLeaf leaf(page_size(), shape(), random_);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 20; ++i) {
      leaf.step(true);
    }
    leaf.forget_log();
    const Content before = content_of(leaf.page().leaf());
    for (int i = 0; i < 40; ++i) {
      leaf.step(false);
    }
    const PageMemory left = leaf.page();
    const PageMemory right(page_size());
    const bool split = left.leaf().count() >= 2 && random_.one_in(2);
    if (split) {
      SplitPlan plan;
      plan_split(left.leaf(), plan);
      split_into(left.leaf(), right.leaf(), kRight, plan);
    }
    for (std::size_t i = leaf.log().size(); i-- > 0;) {
      const TreeRecord record = parsed(leaf.log()[i], page_size());
      const PageMemory& page = left.leaf().covers(record.key) ? left : right;
      const Payload undo = inverse(leaf.log()[i], page_size(), page.leaf().page_id(),
                                   page.leaf().find(record.key).slot);
      redo(undo, page.leaf().page_id(), bytes_of(page), Gsn{1000 + i});
      ASSERT_TRUE(sound(page.leaf())) << print_tree_record(undo, page_size());
    }
    Content after = content_of(left.leaf());
    if (split) {
      add_content(right.leaf(), after);
    }
    ASSERT_EQ(after, before);
  }
}

/// Two neighbours full of random entries below a parent, leaves or inner nodes.
class Family {
 public:
  Family(std::uint32_t page_size, KeyShape shape, std::uint32_t level, Random& random)
      : left(page_size), right(page_size), above(page_size) {
    if (level == 0) {
      left.leaf().init(kLeft, kTree, {}, std::nullopt);
    } else {
      left.inner().init(kLeft, kTree, level, {}, std::nullopt, 50);
    }
    above.inner().init(kAbove, kTree, level + 1, {}, std::nullopt, raw(kLeft));
    const std::uint64_t entries = random.between(4, 300);
    for (std::uint64_t i = 0; i < entries; ++i) {
      add(random_key(random, shape, page_size), random);
    }
    is_leaf = level == 0;
  }

  [[nodiscard]] bool can_divide() const { return left.leaf().header().count >= (is_leaf ? 2 : 3); }
  void divide(Random& random) {
    if (is_leaf) {
      plan_split(left.leaf(), plan);
    } else {
      plan.cut = static_cast<SlotIndex>(random.between(1, left.inner().count() - 2));
      left.inner().copy_separator(plan.cut, plan.separator);
    }
    plan.new_goes_left = random.one_in(2);
    is_leaf ? split_into(left.leaf(), right.leaf(), kRight, plan)
            : split_into(left.inner(), right.inner(), kRight, plan);
    slot = above.inner().find(plan.separator.view()).slot;
    ASSERT_TRUE(above.inner().insert(slot, plan.separator.view(), raw(kRight)));
  }
  [[nodiscard]] bool can_join() const {
    return is_leaf ? can_merge(left.leaf(), right.leaf()) : can_merge(left.inner(), right.inner());
  }
  void join() {
    is_leaf ? merge_into_left(left.leaf(), right.leaf())
            : merge_into_left(left.inner(), right.inner());
    above.inner().remove(slot);
  }

  PageMemory left;
  PageMemory right;
  PageMemory above;
  SplitPlan plan;
  SlotIndex slot = 0;
  bool is_leaf = true;

 private:
  void add(const std::string& key, Random& random) {
    if (left.leaf().is_leaf()) {
      LeafNode leaf = left.leaf();
      if (const SearchResult at = leaf.find(key); !at.found) {
        static_cast<void>(leaf.insert(at.slot, key, random_value(random, key.size(), left.size()),
                                      random.one_in(3) ? kGhost : kPlainRecord));
      }
      return;
    }
    InnerNode inner = left.inner();
    if (const SearchResult at = inner.find(key); !at.found) {
      static_cast<void>(inner.insert(at.slot, key, 100 + random.below(1000)));
    }
  }
};

/// The node's copy in the root's page, as when a tree shrinks.
PageMemory as_root(const PageMemory& node) {
  PageMemory root = node;
  std::memcpy(root.data() + offsetof(buffer::PageHeader, page_id), &kAbove, sizeof kAbove);
  return root;
}

/// Applies a record to copies of the pages before the change, and compares with the pages after it.
void expect_replayed(const Payload& payload, const std::map<PageId, PageMemory>& before,
                     const std::map<PageId, PageMemory>& after) {
  const std::uint32_t page_size = after.begin()->second.size();
  std::size_t visited = 0;
  visit_pages(parsed(payload, page_size), [&](PageId page, PageEffect effect) {
    ++visited;
    PageMemory image(page_size);  // redo does not read a page that it formats
    if (effect == PageEffect::change || effect == PageEffect::free) {
      image = PageMemory(before.at(page));
    }
    redo(payload, page, bytes_of(image), Gsn{77});
    if (effect == PageEffect::free) {
      EXPECT_EQ(std::memcmp(image.data(), before.at(page).data(), page_size), 0);
    } else {
      EXPECT_TRUE(same_page(image.bytes(), after.at(page).bytes()));
      EXPECT_EQ(gsn_of(image.bytes()), Gsn{77});
    }
  });
  EXPECT_EQ(visited, 3U);
}

TEST_P(RedoPages, StructureChangesGiveTheSameBytes) {
  int splits = 0;
  int merges = 0;
  for (int i = 0; i < palimpsest::test::repeats(60); ++i) {
    Family family(page_size(), shape(), i % 2 == 0 ? 0 : 1, random_);
    if (!family.can_divide()) {
      continue;
    }
    ++splits;
    const PageMemory whole = family.left;
    const PageMemory above = family.above;
    ASSERT_NO_FATAL_FAILURE(family.divide(random_));
    expect_replayed(
        encoded(LoggedSplit{family.plan, kLeft, family.right.leaf(), kAbove, family.slot}),
        {{kLeft, whole}, {kAbove, above}},
        {{kLeft, family.left}, {kRight, family.right}, {kAbove, family.above}});
    expect_replayed(
        encoded(LoggedRootSplit{family.plan, family.left.leaf(), family.right.leaf(), kAbove}), {},
        {{kLeft, family.left}, {kRight, family.right}, {kAbove, family.above}});
    if (!family.can_join()) {
      continue;
    }
    ++merges;
    const PageMemory left = family.left;
    const PageMemory divided = family.above;
    family.join();
    expect_replayed(encoded(LoggedMerge{kLeft, family.right.leaf(), kAbove, family.slot}),
                    {{kLeft, left}, {kRight, family.right}, {kAbove, divided}},
                    {{kLeft, family.left}, {kAbove, family.above}});
    const PageMemory root = as_root(family.left);
    expect_replayed(encoded(LoggedRootMerge{kLeft, kRight, root.leaf()}),
                    {{kLeft, family.left}, {kRight, family.right}}, {{kAbove, root}});
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(splits, 0);
  EXPECT_GT(merges, 0);
}

/// Every kind of record with a page that it applies to.
struct Sample {
  Payload payload;
  PageId page{};
  PageMemory image;
};

std::vector<Sample> samples() {
  constexpr std::uint32_t kPageSize = 4096;
  Random random(5);
  std::vector<Sample> all;
  const PageMemory page(kPageSize);
  LeafNode leaf = page.leaf();
  leaf.init(kLeft, kTree, {}, std::nullopt);
  const std::string large = large_value(random, kPageSize);
  for (SlotIndex i = 0; i < 9; ++i) {
    EXPECT_TRUE(leaf.insert(i, "key" + std::to_string(i), i == 3 ? large : "the value",
                            i == 3 ? kLargeValue | kGhost : (i == 5 ? kGhost : kPlainRecord)));
  }
  const auto place = [](SlotIndex slot, ByteView key) {
    return RecordPlace{kTree, kLeft, slot, key};
  };
  const auto add = [&](const Payload& payload) { all.push_back({payload, kLeft, page}); };
  add(encoded(LoggedInsert{place(9, "key9"), {"new"}}));
  add(encoded(LoggedInsert{place(9, "key9"), {large, kLargeValue}}));
  add(encoded(LoggedUpdate{place(1, "key1"), {"the value"}, {"tHe valuE"}}));
  add(encoded(LoggedUpdate{place(1, "key1"), {"the value"}, {"the longer value"}}));
  add(encoded(LoggedUpdate{place(3, "key3"), {large, kLargeValue | kGhost}, {"small"}}));
  add(encoded(LoggedMark{place(2, "key2"), kPlainRecord}));
  const std::vector<SlotIndex> ghosts{3, 5};
  add(encoded(LoggedPurge{leaf, ghosts}));
  leaf.set_bulk_epoch(BulkEpoch{1});
  const std::array<SlotRun, 2> runs{{{.first = 0, .count = 3}, {.first = 6, .count = 1}}};
  add(encoded(LoggedBulkErase{leaf, runs}));
  leaf.set_bulk_epoch(kNoEpoch);
  add(encoded(LoggedFormatRoot{kTree, kLeft}));
  add(inverse(encoded(LoggedInsert{place(0, "key4"), {"the value"}}), kPageSize, kLeft, 4));
  for (const std::uint32_t level : {0U, 1U}) {
    Family family(kPageSize, KeyShape::integer, level, random);
    const PageMemory whole = family.left;
    const PageMemory above = family.above;
    family.divide(random);
    EXPECT_TRUE(sound(family.left.leaf()));
    const Payload split =
        encoded(LoggedSplit{family.plan, kLeft, family.right.leaf(), kAbove, family.slot});
    all.push_back({split, kLeft, whole});
    all.push_back({split, kRight, page});
    all.push_back({split, kAbove, above});
    const Payload split_root =
        encoded(LoggedRootSplit{family.plan, family.left.leaf(), family.right.leaf(), kAbove});
    all.push_back({split_root, kLeft, page});
    all.push_back({split_root, kAbove, page});
    const Payload merge = encoded(LoggedMerge{kLeft, family.right.leaf(), kAbove, family.slot});
    all.push_back({merge, kLeft, family.left});
    all.push_back({merge, kAbove, family.above});
    const PageMemory root = as_root(whole);
    all.push_back({encoded(LoggedRootMerge{kLeft, kRight, root.leaf()}), kAbove, page});
  }
  return all;
}

/// Redo of a damaged record either refuses it and changes nothing, or leaves a sound page. Returns
/// whether it was applied.
bool refused_or_harmless(const Payload& payload, const Sample& sample) {
  const PageMemory image = sample.image;
  const auto announced = redo_fault(payload, sample.page, image.bytes());
  const auto code = error_of([&] {
    redo(payload, sample.page, bytes_of(image), Gsn{9});
    return 0;
  });
  EXPECT_EQ(announced.has_value(), code.has_value());
  if (code) {
    EXPECT_EQ(*code, ErrorCode::corruption);
    EXPECT_EQ(std::memcmp(image.data(), sample.image.data(), image.size()), 0);
  } else {
    EXPECT_TRUE(sound(image.leaf()));
  }
  static_cast<void>(print_tree_record(payload, image.size()));
  return !code;
}

TEST(RedoOfDamagedRecords, EveryTruncationIsRefusedOrHarmless) {
  for (const Sample& sample : samples()) {
    ASSERT_TRUE(refused_or_harmless(sample.payload, sample));
    std::size_t applied = 0;
    for (Sweep sweep(sample.payload.size(), kSizesMin, kSecondsPerSample);
         const auto next = sweep.next();) {
      const std::uint64_t size = *next;
      const Payload shorter(sample.payload.begin(),
                            sample.payload.begin() + static_cast<std::ptrdiff_t>(size));
      applied += refused_or_harmless(shorter, sample) ? 1U : 0U;
      ASSERT_FALSE(::testing::Test::HasFailure())
          << size << " bytes of " << print_tree_record(sample.payload, 4096);
    }
    const TreeRecordKind kind = kind_in(static_cast<std::uint8_t>(sample.payload[0]));
    // The log stores the payload's length: a truncated value cannot be told from a shorter one, nor
    // a truncated list of runs or bytes from a complete one.
    const bool open_ended = kind == TreeRecordKind::insert || kind == TreeRecordKind::patch ||
                            kind == TreeRecordKind::replace;
    EXPECT_TRUE(applied == 0 || open_ended) << print_tree_record(sample.payload, 4096);
  }
}

TEST(RedoOfDamagedRecords, EveryFlippedBitIsRefusedOrHarmless) {
  for (const Sample& sample : samples()) {
    Payload damaged = sample.payload;
    for (Sweep sweep(damaged.size() * 8, kBitsMin, kSecondsPerSample);
         const auto next = sweep.next();) {
      const std::uint64_t bit = *next;
      const auto mask = static_cast<std::byte>(1U << bit % 8);
      damaged[bit / 8] ^= mask;
      static_cast<void>(refused_or_harmless(damaged, sample));
      ASSERT_FALSE(::testing::Test::HasFailure())
          << "bit " << bit << " of " << print_tree_record(sample.payload, 4096);
      damaged[bit / 8] ^= mask;
    }
  }
}

// A record and a page that are both sound, but do not belong together.
TEST(RedoOfDamagedRecords, RecordsOfOtherPagesAreRefusedOrHarmless) {
  const std::vector<Sample> all = samples();
  for (const Sample& record : all) {
    for (const Sample& page : all) {
      Sample mixed{record.payload, record.page, page.image};
      static_cast<void>(refused_or_harmless(mixed.payload, mixed));
    }
  }
}

}  // namespace
}  // namespace palimpsest::btree::test
