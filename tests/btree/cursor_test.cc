// Cursors and walks with extreme arguments; btree_test.cc checks that they show the right records.
#include "btree/cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "palimpsest/error.h"

#include "btree/leaf_walk.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/error_of.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::SimDisk;
using palimpsest::test::TreeDatabase;
using ::testing::HasSubstr;

constexpr std::uint64_t kRecords = 500;

class CursorTest : public ::testing::Test {
 protected:
  CursorTest() : device_(disk_.device()), database_(TreeDatabase::create(*device_, {})) {
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      EXPECT_TRUE(database_->tree().insert(key_of(i), std::string(100, 'v')));
    }
  }

  [[nodiscard]] BTree& tree() { return database_->tree(); }
  static std::string key_of(std::uint64_t i) { return std::string(30, 'k') + test::big_endian(i); }

  static void expect_refused(std::size_t bound_bytes, const std::function<void()>& call) {
    std::string message;
    EXPECT_EQ(palimpsest::test::error_of(call, &message), ErrorCode::invalid_argument);
    EXPECT_THAT(message, HasSubstr("a bound of " + std::to_string(bound_bytes) + " bytes"));
    EXPECT_THAT(message, HasSubstr("at most " + std::to_string(KeyBuffer::capacity())));
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
};

// The key to seek lies in the cursor's own memory.
TEST_F(CursorTest, SeeksItsOwnKey) {
  for (const std::uint64_t steps : {0U, 1U, 5U, 100U}) {
    SCOPED_TRACE(steps);
    Cursor cursor(tree());
    const auto start = [&] {
      cursor.seek(key_of(200));
      for (std::uint64_t i = 0; i < steps; ++i) {
        cursor.next();
      }
    };
    start();
    cursor.seek(cursor.key());
    ASSERT_TRUE(cursor.valid());
    EXPECT_EQ(cursor.key(), key_of(200 + steps));
    start();
    cursor.seek_for_prev(cursor.key());
    ASSERT_TRUE(cursor.valid());
    EXPECT_EQ(cursor.key(), key_of(200 + steps));
    start();
    cursor.seek(cursor.key().substr(0, 37));  // above all keys below 256, below the rest
    ASSERT_TRUE(cursor.valid());
    EXPECT_EQ(cursor.key(), key_of((200 + steps) / 256 * 256));
    cursor.next();
    ASSERT_TRUE(cursor.valid());
    EXPECT_EQ(cursor.key(), key_of((200 + steps) / 256 * 256 + 1));
  }
}

// Bounds need not be keys; if longer than the longest key of any page size, they are refused, not
// truncated.
TEST_F(CursorTest, LongBounds) {
  const std::size_t limit = KeyBuffer::capacity();
  const std::string longest = key_of(99) + std::string(limit - key_of(99).size(), '\0');
  const std::string too_long = longest + "x";
  Cursor cursor(tree());
  cursor.seek(longest);
  ASSERT_TRUE(cursor.valid());
  EXPECT_EQ(cursor.key(), key_of(100));
  cursor.seek_for_prev(longest);
  ASSERT_TRUE(cursor.valid());
  EXPECT_EQ(cursor.key(), key_of(99));
  expect_refused(limit + 1, [&] { cursor.seek(too_long); });
  expect_refused(limit + 1, [&] { cursor.seek_for_prev(too_long); });

  std::size_t records = 0;
  const auto count = [&](const KeyRange& range, Direction direction) {
    records = 0;
    visit_leaves(tree().descent(), range, direction,
                 [&](const LeafView&, SlotIndex first, SlotIndex last) {
                   records += last - first;
                   return true;
                 });
  };
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    count({longest, std::nullopt}, direction);
    EXPECT_EQ(records, kRecords - 100);
    count({"", longest}, direction);
    EXPECT_EQ(records, 100U);
    expect_refused(limit + 1, [&] { count({too_long, std::nullopt}, direction); });
    expect_refused(limit + 1, [&] { count({"", too_long}, direction); });
  }
}

}  // namespace
}  // namespace palimpsest::btree
