#include "base/epoch.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace palimpsest {
namespace {

/// Counts what has been freed; nothing is really allocated.
struct Graveyard {
  std::size_t freed_count = 0;
  std::vector<void*> freed;

  Deleter deleter() {
    return {[](void* object, void* context) noexcept {
              auto& self = *static_cast<Graveyard*>(context);
              ++self.freed_count;
              self.freed.push_back(object);
            },
            this};
  }
};

class EpochTest : public ::testing::Test {
 protected:
  Graveyard graveyard_;
  EpochManager manager_{8};
  int object_ = 0;
};

TEST_F(EpochTest, FreesAtOnceWhereNobodyReads) {
  auto writer = manager_.claim();
  writer->retire(&object_, graveyard_.deleter());
  EXPECT_EQ(writer->pending_count(), 1U);
  EXPECT_EQ(graveyard_.freed_count, 0U);
  EXPECT_EQ(writer->reclaim(), 1U);
  EXPECT_EQ(graveyard_.freed, std::vector<void*>{&object_});
  EXPECT_EQ(writer->pending_count(), 0U);
}

TEST_F(EpochTest, AReaderPinsWhatWasRetiredSinceItEntered) {
  auto reader = manager_.claim();
  auto writer = manager_.claim();
  {
    const EpochGuard guard(*reader);
    writer->retire(&object_, graveyard_.deleter());
    EXPECT_EQ(writer->reclaim(), 0U);
    EXPECT_EQ(writer->reclaim(), 0U) << "trying again must not age it";
  }
  EXPECT_EQ(writer->reclaim(), 1U);
}

TEST_F(EpochTest, AReaderDoesNotPinWhatWasRetiredBefore) {
  auto reader = manager_.claim();
  auto writer = manager_.claim();
  auto early = std::make_unique<EpochGuard>(*reader);
  writer->retire(&object_, graveyard_.deleter());
  EXPECT_EQ(writer->reclaim(), 0U) << "the batch is closed here";
  early.reset();
  const EpochGuard late(*reader);
  EXPECT_EQ(writer->reclaim(), 1U) << "it entered after the batch was closed";
}

TEST_F(EpochTest, AnIdleParticipantPinsNothing) {
  auto idle = manager_.claim();
  {
    const EpochGuard guard(*idle);
  }
  auto writer = manager_.claim();
  for (int i = 0; i < 1000; ++i) {
    writer->retire(&object_, graveyard_.deleter());
  }
  EXPECT_LE(writer->pending_count(), EpochParticipant::kBatchObjects);
  EXPECT_GE(graveyard_.freed_count, 1000 - EpochParticipant::kBatchObjects);
}

TEST_F(EpochTest, OneThatRetiresInsideItsGuardPinsIt) {
  auto participant = manager_.claim();
  {
    const EpochGuard guard(*participant);
    for (int i = 0; i < 300; ++i) {
      participant->retire(&object_, graveyard_.deleter());
    }
    EXPECT_EQ(participant->reclaim(), 0U);
  }
  EXPECT_EQ(participant->reclaim(), 300U);
}

// Of two readers the older one decides; what lies between them is freed when it leaves.
TEST_F(EpochTest, TheOldestReaderDecides) {
  auto older = manager_.claim();
  auto newer = manager_.claim();
  auto writer = manager_.claim();
  int first = 0;
  int second = 0;
  auto older_guard = std::make_unique<EpochGuard>(*older);
  writer->retire(&first, graveyard_.deleter());
  EXPECT_EQ(writer->reclaim(), 0U);
  const EpochGuard newer_guard(*newer);
  writer->retire(&second, graveyard_.deleter());
  EXPECT_EQ(writer->reclaim(), 0U);
  older_guard.reset();
  EXPECT_EQ(writer->reclaim(), 1U);
  EXPECT_EQ(graveyard_.freed, std::vector<void*>{&first});
}

TEST_F(EpochTest, ParticipantsAreLimitedAndReused) {
  std::vector<EpochParticipant> all;
  for (int i = 0; i < 8; ++i) {
    auto participant = manager_.claim();
    ASSERT_TRUE(participant);
    all.push_back(std::move(*participant));
  }
  EXPECT_FALSE(manager_.claim());
  all.pop_back();
  EXPECT_TRUE(manager_.claim());
}

TEST_F(EpochTest, SlotsBeyondTheFirstChunkCount) {
  EpochManager many(100);
  std::vector<EpochParticipant> all;
  all.reserve(100);
  for (int i = 0; i < 100; ++i) {
    all.push_back(std::move(*many.claim()));
  }
  EXPECT_FALSE(many.claim());
  const EpochGuard guard(all.back());
  all.front().retire(&object_, graveyard_.deleter());
  EXPECT_EQ(all.front().reclaim(), 0U);
}

TEST_F(EpochTest, WhatAParticipantLeavesBehindIsFreedByOthers) {
  auto reader = manager_.claim();
  auto guard = std::make_unique<EpochGuard>(*reader);
  {
    auto writer = manager_.claim();
    writer->retire(&object_, graveyard_.deleter());
  }
  EXPECT_EQ(manager_.reclaim_abandoned(), 0U);
  guard.reset();
  EXPECT_EQ(manager_.reclaim_abandoned(), 1U);
  EXPECT_EQ(manager_.reclaim_abandoned(), 0U);
}

TEST_F(EpochTest, TheManagerFreesTheRest) {
  {
    EpochManager manager(2);
    auto reader = manager.claim();
    const EpochGuard guard(*reader);
    auto writer = manager.claim();
    for (int i = 0; i < 100; ++i) {
      writer->retire(&object_, graveyard_.deleter());
    }
    writer.reset();
    EXPECT_EQ(graveyard_.freed_count, 0U);
  }
  EXPECT_EQ(graveyard_.freed_count, 100U);
}

TEST_F(EpochTest, DeletesTypedObjects) {
  struct Counted {
    std::size_t& count;
    ~Counted() { ++count; }
  };
  auto writer = manager_.claim();
  writer->reserve(200);
  for (int i = 0; i < 200; ++i) {
    writer->retire(new Counted{graveyard_.freed_count});
  }
  writer->reclaim();
  EXPECT_EQ(graveyard_.freed_count, 200U);
}

TEST_F(EpochTest, EndingInsideAGuardAborts) {
  EXPECT_DEATH(
      {
        auto participant = manager_.claim();
        const EpochGuard guard(*participant);
        participant.reset();
      },
      "ended inside a guard");
}

}  // namespace
}  // namespace palimpsest
