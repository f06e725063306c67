// Replays the log records of everything that a real tree does on copies of its pages.
//
// Only log records change the replica, a copy of all pages. After each structure modification, and
// after each change of a record, the test builds the record that the tree would have logged from
// the state that the step left behind; the replica's pages then have the bytes of the tree's. The
// test observes steps at their sync points, so it runs in debug and sanitizer builds.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/sync_point.h"
#include "btree/btree.h"
#include "btree/log/tree_record_encode.h"
#include "btree/node/node_edit.h"
#include "buffer/swip.h"
#include "tests/btree/tree_log_support.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/test_seconds.h"
#include "tests/support/tree_fixture.h"

#ifdef PALIMPSEST_SYNC_POINTS

namespace palimpsest::btree::test {
namespace {

using buffer::FrameState;
using buffer::Swip;
using palimpsest::test::SimDisk;
using palimpsest::test::TreeDatabase;

constexpr TreeId kTree = TreeDatabase::kTree;
/// Enough for each tree: no page leaves memory.
constexpr std::uint32_t kPoolBytes = 12U << 20U;

using Pages = std::map<PageId, PageMemory>;

/// A node by its fences, in a set of pages.
template <class Pick>
PageId page_where(const Pages& pages, Pick pick) {
  for (const auto& [id, page] : pages) {
    if (pick(NodeView(page.data(), page.size()))) {
      return id;
    }
  }
  ADD_FAILURE() << "no such page";
  return kNoPage;
}

/// Pages that only log records change.
class Replica {
 public:
  explicit Replica(std::uint32_t page_size) : page_size_(page_size) {}

  void apply(const Payload& payload) {
    const TreeRecord record = parsed(payload, page_size_);
    const Gsn gsn{++last_gsn_};
    ASSERT_LE(payload.size(), max_record_bytes(page_size_));
    kinds_.insert(record.kind);
    visit_pages(record, [&](PageId page, PageEffect effect) {
      if (effect == PageEffect::free) {
        EXPECT_EQ(pages_.erase(page), 1U);
        return;
      }
      EXPECT_EQ(pages_.contains(page), effect != PageEffect::allocate);
      PageMemory& image = pages_.try_emplace(page, page_size_).first->second;
      if (effect != PageEffect::change) {
        std::memset(image.data(), 0xAA, page_size_);  // must not be read
      }
      redo(payload, page, {image.data(), page_size_}, gsn);
      EXPECT_EQ(gsn_of(image.bytes()), gsn);
      EXPECT_TRUE(sound(NodeView(image.data(), page_size_)));
    });
  }

  [[nodiscard]] const Pages& pages() const { return pages_; }
  [[nodiscard]] const std::set<TreeRecordKind>& kinds() const { return kinds_; }
  [[nodiscard]] PageId leaf_page(ByteView key) const {
    return page_where(pages_,
                      [&](const NodeView& node) { return node.is_leaf() && node.covers(key); });
  }
  [[nodiscard]] LeafView leaf(PageId page) const { return pages_.at(page).leaf(); }
  [[nodiscard]] std::optional<StoredRecord> find(ByteView key) const {
    const LeafView leaf = this->leaf(leaf_page(key));
    const SearchResult at = leaf.find(key);
    return at.found ? std::optional(record_at(leaf, at.slot)) : std::nullopt;
  }
  [[nodiscard]] Content content() const {
    Content content;
    for (const auto& [id, page] : pages_) {
      if (page.leaf().is_leaf()) {
        add_content(page.leaf(), content);
      }
    }
    return content;
  }

 private:
  std::uint32_t page_size_;
  Pages pages_;
  std::uint64_t last_gsn_ = 0;
  std::set<TreeRecordKind> kinds_;
};

/// A tree that is changed, and its replica.
class ReplayedTree {
 public:
  ReplayedTree(std::uint32_t page_size, KeyShape shape, std::uint64_t seed)
      : page_size_(page_size),
        shape_(shape),
        random_(seed),
        device_(disk_.device()),
        database_(TreeDatabase::create(
            *device_, {.page_size_bytes = page_size, .frames = kPoolBytes / page_size})),
        root_(tree().root_page()),
        replica_(page_size),
        split_done_("btree.split.done", [this] { structure_changed(); }),
        merge_done_("btree.merge.done", [this] { structure_changed(); }) {
    replica_.apply(encoded(LoggedFormatRoot{kTree, root_}));
    expect_same();
  }

  [[nodiscard]] BTree& tree() { return database_->tree(); }
  [[nodiscard]] Replica& replica() { return replica_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] std::uint32_t page_size() const { return page_size_; }
  [[nodiscard]] std::string new_key() { return random_key(random_, shape_, page_size_); }
  /// Most likely a key that is there, as record or ghost.
  [[nodiscard]] std::string some_key() {
    const LeafView leaf = replica_.leaf(replica_.leaf_page(new_key()));
    return leaf.count() == 0 ? new_key()
                             : key_at(leaf, static_cast<SlotIndex>(random_.below(leaf.count())));
  }

  /// Runs `change`, which changes the record of `key` and nothing else, and logs it. Returns the
  /// payload, empty if nothing changed.
  template <class Change>
  Payload record_change(const std::string& key, Change change) {
    const auto before = replica_.find(key);
    change();
    const PageId page = replica_.leaf_page(key);
    const PageMemory now = copy_of(page);
    const SearchResult at = now.leaf().find(key);
    if (!at.found || (before && record_at(now.leaf(), at.slot) == *before)) {
      return {};
    }
    const Payload payload = encoded_change({kTree, page, at.slot, key}, before ? &*before : nullptr,
                                           record_at(now.leaf(), at.slot));
    replica_.apply(payload);
    EXPECT_TRUE(same_page(replica_.pages().at(page).bytes(), now.bytes()))
        << print_tree_record(payload, page_size_);
    return payload;
  }

  /// Purges the ghosts of the leaf of `key` for which `may_go(key)` is true.
  template <class MayGo>
  void purge(const std::string& key, MayGo may_go) {
    std::vector<SlotIndex> slots;
    static_cast<void>(tree().purge_ghosts({}, key, [&](const LeafView& leaf, SlotIndex slot) {
      if (!may_go(key_at(leaf, slot))) {
        return false;
      }
      slots.push_back(slot);
      pending_ = encoded(LoggedPurge{leaf, slots});
      return true;
    }));
    apply_pending();
  }

  void expect_same() {
    const Pages live = live_pages();
    ASSERT_EQ(live.size(), replica_.pages().size());
    for (const auto& [id, page] : replica_.pages()) {
      ASSERT_TRUE(live.contains(id));
      ASSERT_TRUE(same_page(page.bytes(), live.at(id).bytes()));
    }
  }

 private:
  [[nodiscard]] static PageId page_of_swip(const void* frames, std::uint64_t swip) noexcept {
    return (*static_cast<buffer::FrameTable*>(
        const_cast<void*>(frames)))[Swip::of_word(swip).frame()]
        .page_id.load(std::memory_order_relaxed);
  }
  [[nodiscard]] SwipNames names() { return {&page_of_swip, &database_->pool().frames()}; }

  void unswizzle(const PageMemory& page) {
    InnerNode node = page.inner();
    for (SlotIndex child = 0; !node.is_leaf() && child < node.child_count(); ++child) {
      if (const std::uint64_t swip = node.swip_at(child); Swip::of_word(swip).swizzled()) {
        node.set_swip(child, raw(page_of_swip(&database_->pool().frames(), swip)));
      }
    }
  }

  /// Calls visit(page id, bytes) for each node in memory, that is, for all nodes of the tree.
  template <class Visit>
  void visit_frames(Visit visit) {
    auto& frames = database_->pool().frames();
    for (std::uint32_t i = 0; i < database_->pool().frame_count(); ++i) {
      const buffer::Frame& frame = frames[FrameIndex{i}];
      const auto type = frame.type.load(std::memory_order_relaxed);
      if (frame.state.load(std::memory_order_relaxed) == FrameState::resident &&
          (type == buffer::PageType::tree_leaf || type == buffer::PageType::tree_inner)) {
        visit(frame.page_id.load(std::memory_order_relaxed), frames.page_bytes(FrameIndex{i}));
      }
    }
  }
  [[nodiscard]] Pages live_pages() {
    Pages pages;
    visit_frames([&](PageId id, ConstBytes bytes) {
      PageMemory& copy = pages.try_emplace(id, page_size_).first->second;
      std::memcpy(copy.data(), bytes.data(), page_size_);
      unswizzle(copy);
    });
    return pages;
  }
  [[nodiscard]] PageMemory copy_of(PageId page) {
    PageMemory copy(page_size_);
    std::memcpy(copy.data(), live(page).page(), page_size_);
    return copy;
  }
  [[nodiscard]] NodeView live(PageId page) {
    const std::byte* found = nullptr;
    visit_frames([&](PageId id, ConstBytes bytes) { found = id == page ? bytes.data() : found; });
    EXPECT_NE(found, nullptr);
    return {found, page_size_};
  }

  void apply_pending() {
    if (!pending_.empty()) {
      replica_.apply(pending_);
      pending_.clear();
    }
  }

  // Called under the latches of the step's pages, by the thread that holds them.
  void structure_changed() {
    apply_pending();
    const Pages now = live_pages();
    std::vector<PageId> made;
    std::vector<PageId> gone;
    for (const auto& [id, page] : now) {
      if (!replica_.pages().contains(id)) {
        made.push_back(id);
      }
    }
    for (const auto& [id, page] : replica_.pages()) {
      if (!now.contains(id)) {
        gone.push_back(id);
      }
    }
    if (made.size() == 1 && gone.empty()) {
      split(now, made[0]);
    } else if (made.size() == 2 && gone.empty()) {
      split_root(now, made);
    } else if (made.empty() && gone.size() == 1) {
      merge(now, gone[0]);
    } else if (made.empty() && gone.size() == 2) {
      merge_root(gone);
    } else {
      ADD_FAILURE() << made.size() << " pages made, " << gone.size() << " gone in one step";
    }
    expect_same();
  }

  void split(const Pages& now, PageId right) {
    const NodeView right_node = live(right);
    const PageId left = page_where(now, [&](const NodeView& node) {
      return node.level() == right_node.level() && !node.upper_is_infinite() &&
             node.upper_fence() == right_node.lower_fence();
    });
    SplitPlan plan;
    plan.separator.assign(right_node.lower_fence());
    plan.cut = live(left).header().count;
    const PageId parent = page_where(now, [&](const NodeView& node) {
      return node.level() == right_node.level() + 1 && node.covers(plan.separator.view());
    });
    const SlotIndex slot = now.at(parent).inner().find(plan.separator.view()).slot;
    Payload payload = encoded(LoggedSplit{plan, left, right_node, parent, slot, names()});
    // The test cannot always tell which side got the insertion memory; then one of the two is
    // right.
    const PageMemory replayed = replica_.pages().at(left);
    redo(payload, left, {replayed.data(), page_size_}, Gsn{1});
    if (!same_page(replayed.bytes(), now.at(left).bytes())) {
      plan.new_goes_left = true;
      payload = encoded(LoggedSplit{plan, left, right_node, parent, slot, names()});
    }
    replica_.apply(payload);
    (right_node.is_leaf() ? leaf_splits : inner_splits)++;
  }

  void split_root(const Pages& now, std::vector<PageId> made) {
    if (!now.at(made[0]).leaf().lower_fence().empty()) {
      std::swap(made[0], made[1]);
    }
    SplitPlan plan;
    plan.separator.assign(live(made[1]).lower_fence());
    replica_.apply(encoded(LoggedRootSplit{plan, live(made[0]), live(made[1]), root_, names()}));
  }

  void merge(const Pages& now, PageId right) {
    const LeafView gone = replica_.leaf(right);  // still unchanged: a merge does not change it
    const KeyBuffer separator(gone.lower_fence());
    const PageId left = page_where(now, [&](const NodeView& node) {
      return node.level() == gone.level() && node.covers(separator.view());
    });
    const PageId parent = page_where(now, [&](const NodeView& node) {
      return node.level() == gone.level() + 1 && node.covers(separator.view());
    });
    const SlotIndex slot = now.at(parent).inner().find(separator.view()).slot;
    (gone.is_leaf() ? leaf_merges : inner_merges)++;
    replica_.apply(encoded(LoggedMerge{left, gone, parent, slot, {}}));
  }

  void merge_root(std::vector<PageId> gone) {
    if (!replica_.leaf(gone[0]).lower_fence().empty()) {
      std::swap(gone[0], gone[1]);
    }
    replica_.apply(encoded(LoggedRootMerge{gone[0], gone[1], live(root_), names()}));
  }

 public:
  int leaf_splits = 0;
  int inner_splits = 0;
  int leaf_merges = 0;
  int inner_merges = 0;

 private:
  std::uint32_t page_size_;
  KeyShape shape_;
  Random random_;
  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
  /// Stored here: asking the tree would wait for the root's latch, which a step holds
  PageId root_;
  Replica replica_;
  Payload pending_;  ///< of the change under way, not applied to the replica yet
  SyncHook split_done_;
  SyncHook merge_done_;
};

struct Shape {
  std::uint32_t page_size;
  KeyShape keys;
  int records;  ///< with which the tree has three levels, where that is not too much
};

class TreeReplay : public ::testing::TestWithParam<Shape> {
 protected:
  TreeReplay() : replayed_(GetParam().page_size, GetParam().keys, palimpsest::test::seed()) {}

  [[nodiscard]] std::string value_for(const std::string& key, std::size_t bytes_min = 0) {
    Random& random = replayed_.random();
    std::string value = random_value(random, key.size(), GetParam().page_size);
    const std::size_t limit = record_bytes_max(GetParam().page_size) - key.size();
    if (value.size() < bytes_min) {
      value = random_bytes(random, std::min(limit, bytes_min + random.below(20)));
    }
    return value;
  }
  [[nodiscard]] std::string any_value_for(const std::string& key) {
    return replayed_.random().one_in(30) ? std::string(GetParam().page_size, 'L') : value_for(key);
  }

  /// Changes one record, or purges a leaf.
  void step() {
    BTree& tree = replayed_.tree();
    Random& random = replayed_.random();
    const bool present = random.one_in(2);
    const std::string key = present ? replayed_.some_key() : replayed_.new_key();
    switch (random.below(present ? 5 : 1)) {
      case 0:
        replayed_.record_change(key,
                                [&] { static_cast<void>(tree.insert(key, any_value_for(key))); });
        break;
      case 1:
        replayed_.record_change(key,
                                [&] { static_cast<void>(tree.update(key, any_value_for(key))); });
        break;
      case 2: patch(key); break;
      case 3:
        replayed_.record_change(key, [&] { static_cast<void>(tree.mark_deleted(key)); });
        break;
      default: replayed_.record_change(key, [&] { static_cast<void>(tree.unmark_deleted(key)); });
    }
  }

  Payload patch(const std::string& key) {
    const auto before = replayed_.replica().find(key);
    if (!before || before->flags != kPlainRecord) {
      return {};
    }
    return replayed_.record_change(key, [&] {
      ASSERT_TRUE(replayed_.tree().modify(key, [&](MutableBytes bytes) {
        for (std::uint64_t edits = replayed_.random().below(4); edits > 0 && !bytes.empty();
             --edits) {
          bytes[replayed_.random().below(bytes.size())] ^= std::byte{0x55};
        }
      }));
    });
  }

  ReplayedTree replayed_;
};

TEST_P(TreeReplay, GivesTheBytesOfTheTree) {
  Random& random = replayed_.random();
  for (int round = 0; round < palimpsest::test::repeats(2); ++round) {
    while (replayed_.replica().content().size() < static_cast<std::size_t>(GetParam().records)) {
      for (int i = 0; i < 100; ++i) {
        step();
        ASSERT_FALSE(HasFailure());
      }
    }
    while (replayed_.replica().pages().size() > 1) {
      const std::string key = replayed_.some_key();
      replayed_.record_change(key, [&] { static_cast<void>(replayed_.tree().mark_deleted(key)); });
      if (random.one_in(3)) {
        replayed_.purge(key, [&](const std::string&) { return !random.one_in(4); });
      }
      ASSERT_FALSE(HasFailure());
    }
    replayed_.expect_same();
  }
  EXPECT_GT(replayed_.leaf_splits, 0);
  EXPECT_GT(replayed_.leaf_merges, 0);
  const std::set<TreeRecordKind>& kinds = replayed_.replica().kinds();
  for (const auto kind :
       {TreeRecordKind::insert, TreeRecordKind::patch, TreeRecordKind::replace,
        TreeRecordKind::mark, TreeRecordKind::purge, TreeRecordKind::split,
        TreeRecordKind::split_root, TreeRecordKind::merge, TreeRecordKind::merge_root}) {
    EXPECT_TRUE(kinds.contains(kind)) << name_of(kind);
  }
  if (GetParam().keys == KeyShape::longest && GetParam().page_size == 4096) {
    EXPECT_GT(replayed_.inner_splits, 0);
    EXPECT_GT(replayed_.inner_merges, 0);
  }
}

/// Whether the record belongs to the transaction, by its key.
bool is_ours(const std::string& key) {
  return (std::hash<std::string>{}(key) & 1) != 0;
}

// A transaction changes its records while other writers change theirs, split leaves and purge
// ghosts: its undo finds each record at its new location and restores what was there before the
// transaction.
TEST_P(TreeReplay, UndoFindsRecordsThatHaveMoved) {
  Random& random = replayed_.random();
  BTree& tree = replayed_.tree();
  while (replayed_.replica().content().size() < static_cast<std::size_t>(GetParam().records) / 2) {
    for (int i = 0; i < 50; ++i) {
      step();
      ASSERT_FALSE(HasFailure());
    }
  }
  Content expected = replayed_.replica().content();
  std::erase_if(expected, [](const auto& record) { return !is_ours(record.first); });
  std::vector<Payload> log;
  const auto ours = [&](const Payload& payload) {
    if (!payload.empty()) {
      log.push_back(payload);
    }
  };
  const int steps_before = replayed_.leaf_splits;
  for (int i = 0; i < 2 * GetParam().records; ++i) {
    const std::string key = random.one_in(2) ? replayed_.some_key() : replayed_.new_key();
    if (!is_ours(key)) {
      if (random.one_in(3)) {
        replayed_.record_change(key, [&] { static_cast<void>(tree.mark_deleted(key)); });
        replayed_.purge(key, [](const std::string& ghost) { return !is_ours(ghost); });
      } else {
        replayed_.record_change(key,
                                [&] { static_cast<void>(tree.upsert(key, any_value_for(key))); });
      }
    } else if (random.one_in(3)) {
      ours(replayed_.record_change(key, [&] { static_cast<void>(tree.mark_deleted(key)); }));
    } else if (random.one_in(2)) {
      ours(patch(key));
    } else {
      // Not shorter: this test does not reserve the bytes that an uncommitted change frees.
      const auto before = replayed_.replica().find(key);
      const std::string value = value_for(key, before ? before->value.size() : 0);
      ours(replayed_.record_change(key, [&] { static_cast<void>(tree.upsert(key, value)); }));
    }
    ASSERT_FALSE(HasFailure());
  }
  ASSERT_GT(replayed_.leaf_splits, steps_before);
  std::size_t moved = 0;
  Replica& replica = replayed_.replica();
  for (std::size_t i = log.size(); i-- > 0;) {
    const TreeRecord record = parsed(log[i], GetParam().page_size);
    const PageId page = replica.leaf_page(record.key);
    moved += page != record.page ? 1U : 0U;
    const SlotIndex slot = replica.leaf(page).find(record.key).slot;
    const Payload undo = inverse(log[i], GetParam().page_size, page, slot);
    ASSERT_EQ(redo_fault(undo, page, replica.pages().at(page).bytes()), std::nullopt)
        << print_tree_record(undo, GetParam().page_size);
    replica.apply(undo);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(moved, 0U);
  Content left = replica.content();
  std::erase_if(left, [](const auto& record) { return !is_ours(record.first); });
  EXPECT_EQ(left, expected);
}

INSTANTIATE_TEST_SUITE_P(Shapes, TreeReplay,
                         ::testing::Values(Shape{4096, KeyShape::longest, 600},
                                           Shape{4096, KeyShape::integer, 800},
                                           Shape{4096, KeyShape::nested, 500},
                                           Shape{16384, KeyShape::shared_prefix, 800},
                                           Shape{65536, KeyShape::random_integer, 1000}),
                         [](const auto& shape) {
                           return "pages" + std::to_string(shape.param.page_size) + "keys" +
                                  std::to_string(static_cast<int>(shape.param.keys));
                         });

}  // namespace
}  // namespace palimpsest::btree::test

#else

TEST(TreeReplay, NeedsSyncPoints) {
  GTEST_SKIP() << "built without sync points";
}

#endif
