// Violates each invariant that the audit checks, one at a time: the audit names it.
#include "btree/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/aligned_memory.h"
#include "btree/node/inner_node.h"
#include "buffer/page_guard.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using buffer::ExclusivePage;
using palimpsest::test::SimDisk;
using palimpsest::test::TreeDatabase;
using palimpsest::test::TreeOptions;
using ::testing::HasSubstr;

constexpr std::uint32_t kPageSize = 4096;

/// A tree of three levels, wholly in memory, with two large values.
class AuditTest : public ::testing::Test {
 protected:
  AuditTest() : device_(disk_.device()), database_(TreeDatabase::create(*device_, kOptions)) {
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      EXPECT_TRUE(
          tree().insert(key_of(i), i % 100 == 50 ? std::string(9000, 'v') : std::string(300, 'v')));
    }
    EXPECT_EQ(tree().descent().root_level(), 2U);
    EXPECT_TRUE(palimpsest::test::sound(*database_));
  }

  static std::string key_of(std::uint64_t i) { return std::string(400, 'k') + test::big_endian(i); }

  [[nodiscard]] BTree& tree() { return database_->tree(); }
  /// The node in the middle of a level.
  [[nodiscard]] ExclusivePage node(std::uint32_t level) {
    return tree().descent().node<ExclusivePage>(Target{middle_key_}, level);
  }
  [[nodiscard]] buffer::Frame& frame(std::uint32_t level) { return node(level).frame(); }
  [[nodiscard]] PageId page(std::uint32_t level) { return frame(level).page_id.load(); }

  /// The findings of audit and audit_space, as text.
  [[nodiscard]] std::string findings() {
    PageSet reached;
    const TreeAudit audited = audit(tree(), reached);
    EXPECT_EQ(audited.sound(), audited.findings.none());
    return audited.findings.text() +
           audit_space(database_->file(), database_->space(), reached).text();
  }

  /// Changes bytes of a page header or node header.
  template <class T>
  void poke(std::uint32_t level, std::size_t offset, T value) {
    ExclusivePage changed = node(level);
    std::memcpy(changed.modify() + offset, &value, sizeof value);
  }

  void set_swip(std::uint32_t parent_level, SlotIndex child, std::uint64_t word) {
    ExclusivePage changed = node(parent_level);
    InnerNode(changed.modify(), kPageSize).set_swip(child, word);
  }
  [[nodiscard]] std::uint64_t swip(std::uint32_t parent_level, SlotIndex child) {
    ExclusivePage parent = node(parent_level);
    return InnerView(parent.page(), kPageSize).swip_at(child);
  }
  [[nodiscard]] LargeValueDescriptor large_value(std::uint64_t record) {
    ExclusivePage leaf = tree().descent().leaf<ExclusivePage>(Target{keys_.at(record)});
    const LeafView view(leaf.page(), kPageSize);
    return database_->large_values().decode(view.value(view.find(keys_.at(record)).slot));
  }

  static constexpr TreeOptions kOptions{.page_size_bytes = kPageSize, .frames = 400};
  static constexpr std::uint64_t kRecords = 250;

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
  std::string middle_key_ = key_of(kRecords / 2);
  std::map<std::uint64_t, std::string> keys_{{50, key_of(50)}, {150, key_of(150)}};
};

TEST_F(AuditTest, CountsWhatIsThere) {
  const TreeAudit audited = audit(tree());
  ASSERT_EQ(audited.levels.size(), 3U);
  EXPECT_EQ(audited.leaves().entries, kRecords);
  EXPECT_EQ(audited.levels[1].entries, audited.leaves().nodes);
  EXPECT_EQ(audited.levels[2].entries, audited.levels[1].nodes);
  EXPECT_EQ(audited.large_values, 2U);
  EXPECT_EQ(audited.large_value_bytes, 18000U);
  EXPECT_EQ(audited.extent_pages, 6U);
  EXPECT_GT(audited.leaves().fill(), 0.5);
  EXPECT_THAT(audited.text(), HasSubstr("sound"));
  EXPECT_THAT(audited.text(), HasSubstr("level 2: 1 nodes"));
}

TEST_F(AuditTest, BytesOfANode) {
  ExclusivePage leaf = node(0);
  const LeafView view(leaf.page(), kPageSize);
  const std::uint32_t free_byte = view.header().heap_begin - 1;
  leaf.modify()[free_byte] = std::byte{1};
  leaf.release();
  EXPECT_THAT(findings(), HasSubstr("zero"));
}

TEST_F(AuditTest, PageIdOfANode) {
  poke(0, offsetof(buffer::PageHeader, page_id), raw(page(0)) + 1);
  EXPECT_THAT(findings(), HasSubstr("is in its place"));
}

TEST_F(AuditTest, TreeIdOfANode) {
  poke(1, offsetof(buffer::PageHeader, tree_id), TreeId{8});
  EXPECT_THAT(findings(), HasSubstr("it belongs to tree 8"));
}

TEST_F(AuditTest, LevelOfANode) {
  poke(1, kNodeHeaderOffset + offsetof(NodeHeader, level), std::uint8_t{2});
  EXPECT_THAT(findings(), HasSubstr("its level is 2, not 1"));
}

TEST_F(AuditTest, LowerFence) {
  ExclusivePage leaf = node(0);
  const LeafView view(leaf.page(), kPageSize);
  const KeyBuffer upper(view.upper_fence());
  LeafNode(leaf.modify(), kPageSize)
      .init(view.page_id(), view.tree_id(), middle_key_ + "a", upper.view());
  leaf.release();
  EXPECT_THAT(findings(), HasSubstr("its lower fence is"));
}

TEST_F(AuditTest, UpperFence) {
  ExclusivePage leaf = node(0);
  const LeafView view(leaf.page(), kPageSize);
  const KeyBuffer lower(view.lower_fence());
  LeafNode(leaf.modify(), kPageSize)
      .init(view.page_id(), view.tree_id(), lower.view(), std::nullopt);
  leaf.release();
  EXPECT_THAT(findings(), HasSubstr("its upper fence is infinity, not"));
}

TEST_F(AuditTest, ChildReachedTwice) {
  set_swip(1, 0, swip(1, 1));
  EXPECT_THAT(findings(), HasSubstr("already reached through another page"));
}

TEST_F(AuditTest, ChildForgotten) {
  ExclusivePage parent = node(1);
  InnerNode(parent.modify(), kPageSize).remove(0);
  parent.release();
  const std::string found = findings();
  EXPECT_THAT(found, HasSubstr("its upper fence is"));  // of the child whose range grew
  EXPECT_THAT(found, HasSubstr("in use, but no tree reaches them"));
}

TEST_F(AuditTest, ChildInTheSpaceMap) {
  set_swip(1, 1, raw(database_->file().first_page()));
  EXPECT_THAT(findings(), HasSubstr("belongs to the space map"));
}

TEST_F(AuditTest, ChildBeyondTheFile) {
  set_swip(1, 1, database_->file().page_count());
  EXPECT_THAT(findings(), HasSubstr("swip"));
}

TEST_F(AuditTest, ChildInNoFrame) {
  set_swip(1, 1, buffer::Swip::of_frame(FrameIndex{100'000}).word());
  EXPECT_THAT(findings(), HasSubstr("does not exist"));
}

TEST_F(AuditTest, NodeInAFreePage) {
  database_->space().free(page(0));
  const std::string found = findings();
  EXPECT_THAT(found, HasSubstr("free in the space map"));
  EXPECT_THAT(found, HasSubstr("free, but a tree uses them"));
}

TEST_F(AuditTest, LostPage) {
  static_cast<void>(database_->space().allocate(0));
  EXPECT_THAT(findings(), HasSubstr("in use, but no tree reaches them"));
}

TEST_F(AuditTest, PageIdOfAFrame) {
  frame(2).page_id.store(page(1));  // the root's, which its own swip names by its frame
  EXPECT_THAT(findings(), HasSubstr("is in its place"));
}

TEST_F(AuditTest, PageIdOfAChildsFrame) {
  frame(0).page_id.store(database_->space().allocate(0));
  EXPECT_THAT(findings(), HasSubstr("is in its place"));
}

TEST_F(AuditTest, TypeOfAFrame) {
  frame(0).type.store(buffer::PageType::tree_inner);
  EXPECT_THAT(findings(), HasSubstr("its frame has another type than"));
}

TEST_F(AuditTest, StateOfAFrame) {
  frame(0).state.store(buffer::FrameState::ready);
  EXPECT_THAT(findings(), HasSubstr("its frame is not resident"));
}

TEST_F(AuditTest, ParentOfAFrame) {
  frame(0).parent.store(tree().descent().root().place().frame);
  const std::string found = findings();
  EXPECT_THAT(found, HasSubstr("its frame's parent holds page"));
  EXPECT_THAT(found, HasSubstr("whose state or parent say otherwise"));
}

TEST_F(AuditTest, RootNotBelowItsPlace) {
  const FrameIndex before = frame(2).parent.exchange(kNoFrame);
  EXPECT_THAT(findings(), HasSubstr("the root's frame is not the one in its place"));
  frame(2).parent.store(before);
}

TEST_F(AuditTest, DescriptorOfALargeValue) {
  ExclusivePage leaf = tree().descent().leaf<ExclusivePage>(Target{keys_.at(50)});
  LeafNode changed(leaf.modify(), kPageSize);
  changed.value_bytes(changed.find(keys_.at(50)).slot)[2] = std::byte{77};  // run_count
  leaf.release();
  EXPECT_THAT(findings(), HasSubstr("a large value: "));
}

TEST_F(AuditTest, LargeValueInFreePages) {
  database_->space().free(large_value(50).page_of(1));
  EXPECT_THAT(findings(), HasSubstr("used by a large value, but free"));
}

TEST_F(AuditTest, LargeValueReachedTwice) {
  EXPECT_FALSE(tree().upsert_large(keys_.at(150), large_value(50)));
  EXPECT_THAT(findings(),
              HasSubstr("used by a large value, but already reached through another page"));
}

TEST_F(AuditTest, BlockOfALargeValue) {
  const AlignedMemory image(kPageSize, kPageSize);
  const PageId block = large_value(150).page_of(2);
  LeafNode(image.data(), kPageSize).init(block, TreeDatabase::kTree, ByteView(), std::nullopt);
  const buffer::PageImage pages[] = {{block, image.bytes()}};
  database_->writer().write_fresh(pages);
  EXPECT_THAT(findings(), HasSubstr("is not block 2"));
  PageSet reached;
  EXPECT_TRUE(audit(tree(), reached, {.read_large_values = false}).sound());
}

TEST_F(AuditTest, UnreadablePage) {
  const PageId broken = page(0);
  database_->close();
  const std::uint64_t offset = database_->file().offset_of(broken);
  database_.reset();
  const std::byte junk[16] = {std::byte{0xEE}};
  disk_.overwrite(TreeDatabase::kFileName, offset + 1024, junk);
  database_ = TreeDatabase::open(*device_, kOptions);
  const TreeAudit audited = audit(tree());
  EXPECT_EQ(audited.findings.count(), 1U);  // and the walk continues with the next node
  EXPECT_THAT(audited.findings.text(), HasSubstr("cannot be read"));
  EXPECT_GT(audited.leaves().nodes, 10U);
}

TEST(Findings, AreBounded) {
  Findings findings;
  for (int i = 0; i < 1000; ++i) {
    findings.add("something");
  }
  EXPECT_EQ(findings.count(), 1000U);
  EXPECT_EQ(findings.kept().size(), Findings::kKeptMax);
  EXPECT_THAT(findings.text(), HasSubstr("... and 936 more"));
}

}  // namespace
}  // namespace palimpsest::btree
