// Scans over unreadable leaves: each ends with the error at the right record, and once the leaf is
// readable again, another scan shows everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "btree/cursor.h"
#include "btree/leaf_walk.h"
#include "tests/buffer/interleaving_support.h"
#include "tests/support/thread_group.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::SimKind;
using palimpsest::test::TreeDatabase;
using ::testing::HasSubstr;

/// The records that a scan showed, and how it ended.
struct Scanned {
  std::vector<std::string> keys;
  std::optional<ErrorCode> error;
  std::string message;
};

enum class Means : std::uint8_t { cursor = 1, visitor };

struct Way {
  Means means;
  Direction direction;
};

class ScanFault : public palimpsest::test::InterleavingTest,
                  public ::testing::WithParamInterface<Way> {
 protected:
  static constexpr std::uint64_t kDamagedRecords[] = {0, 5, 120, 500, 990, 999};

  [[nodiscard]] static bool forward() { return GetParam().direction == Direction::forward; }

  /// Evicts all pages but the root; then `fault` happens, and a scan reads everything. A scan that
  /// does not end is stopped with the process.
  [[nodiscard]] Scanned scan_with(const std::function<void()>& fault) {
    database_->close();
    database_.reset();
    database_ = TreeDatabase::open(*device_, kOptions);
    EXPECT_GT(tree().descent().root_level(), 0U);
    fault();
    Scanned scanned;
    palimpsest::test::run_threads(1, [&](std::size_t) { scanned = scan(); });
    disk_.clear_faults();
    return scanned;
  }

  [[nodiscard]] Scanned scan() {
    Scanned scanned;
    try {
      GetParam().means == Means::cursor ? scan_by_cursor(scanned.keys)
                                        : scan_by_visitor(scanned.keys);
    } catch (const Error& error) {
      scanned.error = error.code();
      scanned.message = error.what();
    }
    return scanned;
  }

  /// The keys of records [0, kRecords) in the scan's order.
  [[nodiscard]] static std::vector<std::string> all_keys() {
    std::vector<std::string> keys;
    keys.reserve(kRecords);
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      keys.push_back(key_of(forward() ? i : kRecords - 1 - i));
    }
    return keys;
  }

  /// The number of records that a scan shows before it reaches the leaf of record i.
  [[nodiscard]] std::size_t records_before_leaf_of(std::uint64_t record) {
    const PageId page = leaf_of(record).page;
    std::uint64_t edge = record;
    if (forward()) {
      while (edge > 0 && leaf_of(edge - 1).page == page) {
        --edge;
      }
      return edge;
    }
    while (edge + 1 < kRecords && leaf_of(edge + 1).page == page) {
      ++edge;
    }
    return kRecords - 1 - edge;
  }

  /// The scan showed the first `shown` records, and one without fault shows all.
  void expect_shown(const Scanned& scanned, std::size_t shown) {
    std::vector<std::string> expected = all_keys();
    ASSERT_LT(shown, expected.size());
    expected.resize(shown);
    EXPECT_EQ(scanned.keys, expected);
    const Scanned again = scan();
    EXPECT_FALSE(again.error) << again.message;
    EXPECT_EQ(again.keys, all_keys());
  }

 private:
  void scan_by_cursor(std::vector<std::string>& keys) {
    Cursor cursor(tree());
    for (forward() ? cursor.seek_first() : cursor.seek_last(); cursor.valid();
         forward() ? cursor.next() : cursor.previous()) {
      keys.emplace_back(cursor.key());
    }
  }

  void scan_by_visitor(std::vector<std::string>& keys) {
    const auto take = [&](const LeafView& leaf, SlotIndex slot) {
      keys.push_back(std::string(leaf.prefix()).append(leaf.suffix(slot)));
    };
    visit_leaves(tree().descent(), {}, GetParam().direction,
                 [&](const LeafView& leaf, SlotIndex first, SlotIndex last) {
                   for (SlotIndex i = first; i < last; ++i) {
                     take(leaf, forward() ? i : last - 1 - (i - first));
                   }
                   return true;
                 });
  }
};

TEST_P(ScanFault, DamagedLeaf) {
  for (const std::uint64_t record : kDamagedRecords) {
    SCOPED_TRACE(record);
    const PageId page = leaf_of(record).page;
    const std::uint64_t place = database_->file().offset_of(page) + 100;
    const std::vector<std::byte> file = disk_.contents(TreeDatabase::kFileName);
    const std::byte before = file[place];
    const Scanned scanned = scan_with([&] {
      const std::byte damaged = ~before;
      disk_.overwrite(TreeDatabase::kFileName, place, {&damaged, 1});
    });
    disk_.overwrite(TreeDatabase::kFileName, place, {&before, 1});
    ASSERT_EQ(scanned.error, ErrorCode::corruption);
    EXPECT_THAT(scanned.message, HasSubstr("page " + std::to_string(raw(page)) + " is damaged"));
    expect_shown(scanned, records_before_leaf_of(record));
  }
}

TEST_P(ScanFault, DeviceFailsForGood) {
  for (const std::uint64_t nth : {1U, 2U, 10U, 40U}) {
    SCOPED_TRACE(nth);
    const Scanned scanned = scan_with([&] {
      disk_.inject({.error = EIO, .kinds = unsigned(SimKind::read), .nth = nth, .for_good = true});
    });
    EXPECT_EQ(scanned.error, ErrorCode::io_error);
    expect_shown(scanned, scanned.keys.size());
  }
}

// One failed read hits only the prefetch: the scan reads the leaf again by itself.
TEST_P(ScanFault, DeviceFailsOnce) {
  for (const std::uint64_t nth : {1U, 2U, 10U, 40U}) {
    SCOPED_TRACE(nth);
    const Scanned scanned = scan_with(
        [&] { disk_.inject({.error = EIO, .kinds = unsigned(SimKind::read), .nth = nth}); });
    EXPECT_FALSE(scanned.error) << scanned.message;
    EXPECT_EQ(scanned.keys, all_keys());
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, ScanFault,
                         ::testing::Values(Way{Means::cursor, Direction::forward},
                                           Way{Means::cursor, Direction::backward},
                                           Way{Means::visitor, Direction::forward},
                                           Way{Means::visitor, Direction::backward}),
                         [](const auto& way) {
                           return std::string(way.param.means == Means::cursor ? "Cursor"
                                                                               : "Visitor") +
                                  (way.param.direction == Direction::forward ? "Forward"
                                                                             : "Backward");
                         });

}  // namespace
}  // namespace palimpsest::btree
