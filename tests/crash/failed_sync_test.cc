// A sync fails, the process ends, and the database is opened again in the same boot, where the
// cache shows data that the medium has lost. Then the power fails, at every operation of that
// opening, of some work after it and of its closing, and everything that was not synced is lost:
// all acknowledged commits are there, in a sound database. With pages written twice, and with
// atomic writes of pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/crash/fault_session.h"
#include "tests/support/sim_random.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::CrashKeeps;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using palimpsest::test::SimOperation;
using palimpsest::test::SimRandom;
using palimpsest::test::Sweep;

constexpr double kSecondsPerCase = 0.4;
constexpr std::uint64_t kKeys = 400;
constexpr std::uint64_t kSyncs = 10;  ///< failing syncs of a case

struct Case {
  const char* name;
  std::size_t atomic_write_bytes_max;
  const char* file;     ///< whose sync fails; "" any
  std::uint64_t every;  ///< so many of its syncs
  bool grows = false;   ///< large values grow the page file

  friend std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }
};

constexpr Case kCases[] = {
    {"TwicePages", 0, "pages", 3},         {"TwiceAny", 0, "", 8},
    {"AtomicPages", 4096, "pages", 3},     {"AtomicAny", 4096, "", 8},
    {"TwiceGrowing", 0, "pages", 3, true}, {"AtomicGrowing", 4096, "pages", 3, true},
};

/// The state that a power failure would leave at an operation.
struct Image {
  SimDisk disk;
  std::shared_ptr<const std::vector<Content>> allowed;  ///< one of these is right
};

std::vector<FaultChange> some_changes(SimRandom& random, bool grows = false) {
  std::vector<FaultChange> changes;
  for (int i = 0; i < 6; ++i) {
    FaultChange change{.key = "key" + std::to_string(random.below(kKeys)), .value = {}};
    if (!random.chance(25)) {
      const bool is_large = random.chance(grows ? 20 : 5);
      const std::size_t bytes = is_large ? (grows ? 60'000 : 9'000) : 1 + random.below(700);
      change.value = std::string(bytes, static_cast<char>('a' + random.below(26)));
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

void work(FaultSession& session, SimRandom& random, int transactions, bool grows = false) {
  for (int i = 0; i < transactions; ++i) {
    session.transact(some_changes(random, grows), i % 5 == 4);
    if (i % 3 == 2) {
      session.checkpoint();
    }
  }
}

class FailedSyncTest : public ::testing::TestWithParam<Case> {
 protected:
  /// A database with records on more pages than there are frames, closed cleanly.
  void SetUp() override {
    FaultSession session(base_, small_options());
    ASSERT_TRUE(session.open());
    SimRandom random(1);
    work(session, random, 90);
    session.database().close();
    session.end();
    ASSERT_TRUE(session.errors().empty());
    content_ = session.committed();
  }

  /// A life in which the n-th sync fails; false if there was none.
  bool fail(FaultSession& session, std::uint64_t nth) {
    session.expect(content_);
    EXPECT_TRUE(session.open());
    session.disk().inject({.kinds = unsigned(SimKind::sync), .file = GetParam().file, .nth = nth});
    SimRandom random(nth);
    work(session, random, 40, GetParam().grows);
    return !session.errors().empty();
  }

  /// The next life in the same boot.
  static std::vector<Image> next_life(const FaultSession& before, SimDisk disk) {
    FaultSession session(disk, small_options());
    session.take_over(before);
    auto allowed = std::make_shared<const std::vector<Content>>(session.possible());
    std::vector<Image> images;
    disk.set_hook([&](const SimOperation&) { images.push_back({disk.snapshot(), allowed}); });
    EXPECT_TRUE(session.open()) << session.message();
    if (session.errors().empty()) {
      session.expect_right();
      SimRandom random(7);
      for (int i = 0; i < 3; ++i) {
        const auto changes = some_changes(random);
        allowed = std::make_shared<const std::vector<Content>>(
            std::vector<Content>{session.committed(), changed(session.committed(), changes)});
        session.transact(changes);
        allowed = std::make_shared<const std::vector<Content>>(session.possible());
      }
      session.checkpoint();
      EXPECT_TRUE(session.errors().empty()) << session.message();
      session.database().close();
    }
    images.push_back({disk.snapshot(), allowed});
    disk.set_hook({});
    session.kill();
    return images;
  }

  static void expect_right_after_power_failure(const Image& image) {
    FaultSession session(image.disk.crash(1, CrashKeeps::nothing), small_options());
    ASSERT_TRUE(session.open()) << session.message();
    const Content found = content_of(session.tree());
    EXPECT_NE(std::ranges::find(*image.allowed, found), image.allowed->end()) << "lost content";
    EXPECT_TRUE(sound(session.database()));
    session.kill();
  }

  SimDisk base_{{.atomic_write_bytes_max = GetParam().atomic_write_bytes_max}};
  Content content_;
};

TEST_P(FailedSyncTest, WhatTheNextLifeFindsSurvives) {
  constexpr std::size_t kStride = 2;  // covers every operation, at this sync or the next one
  for (Sweep sweep(kSyncs, 4, kSecondsPerCase); const auto at = sweep.next();) {
    const std::uint64_t nth = 1 + *at * GetParam().every;
    SCOPED_TRACE(testing::Message() << "sync " << nth << " fails");
    FaultSession first(base_.snapshot(), small_options());
    if (!fail(first, nth)) {
      continue;
    }
    const std::vector<Image> images = next_life(first, first.disk().snapshot());
    for (std::size_t i = *at % kStride; i < images.size() && !HasFailure(); i += kStride) {
      SCOPED_TRACE(testing::Message() << "operation " << i << " of " << images.size());
      expect_right_after_power_failure(images[i]);
    }
    if (HasFailure()) {
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, FailedSyncTest, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace palimpsest::engine::test
