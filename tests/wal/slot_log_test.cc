// The ring of one slot's log: records come out as they went in, around its end and at every
// alignment.
#include "wal/slot_log.h"

#include <gtest/gtest.h>

#include <deque>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"

namespace palimpsest::wal {
namespace {

constexpr std::size_t kCapacity = 4096;
constexpr std::size_t kRecordMax = 2048;
constexpr RecordType kType{7};

Lsn append(SlotLog& log, Gsn gsn, std::size_t payload_bytes) {
  const Lsn lsn = log.append(kType, gsn, payload_bytes, [&](MutableBytes into) {
    std::fill(into.begin(), into.end(), static_cast<std::byte>(raw(gsn)));
  });
  log.publish();
  return lsn;
}

bool is_record(ConstBytes bytes, std::size_t at, Gsn gsn, std::size_t payload_bytes) {
  const auto record = record_at(bytes, at);
  return record && record->gsn == gsn && record->type == kType &&
         record->payload.size() == payload_bytes &&
         std::ranges::all_of(record->payload,
                             [&](std::byte b) { return b == static_cast<std::byte>(raw(gsn)); });
}

TEST(SlotLog, TakesWholeRecordsInOrder) {
  Random random(palimpsest::test::seed());
  SlotLog log(kCapacity, kRecordMax);
  std::deque<std::pair<std::uint64_t, std::size_t>> waiting;  // GSN and payload bytes
  std::uint64_t gsn = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t bytes = random.one_in(10) ? random.below(kRecordMax - 16) : random.below(100);
    if (log.has_room(record_bytes(Gsn{gsn + 1}, bytes))) {
      append(log, Gsn{++gsn}, bytes);
      waiting.emplace_back(gsn, bytes);
    }
    if (random.one_in(3)) {
      const Lsn from = log.taken();
      const Lsn end = log.whole_records(from, log.published(), random.below(kCapacity));
      std::vector<std::byte> bytes_out(raw(end) - raw(from));
      log.copy_pending(from, bytes_out);
      for (std::size_t at = 0; at < bytes_out.size();) {
        ASSERT_FALSE(waiting.empty());
        ASSERT_TRUE(is_record(bytes_out, at, Gsn{waiting.front().first}, waiting.front().second));
        at += record_bytes(Gsn{waiting.front().first}, waiting.front().second);
        waiting.pop_front();
      }
      log.take(end, StreamPosition{1});
    }
  }
  EXPECT_GT(gsn, 5000U);
}

// The committer takes nothing until its batch is written: a few appends meanwhile must not make it
// begin another round.
TEST(SlotLog, IsToldOfOnceForEachHalf) {
  SlotLog log(kCapacity, kRecordMax);
  const std::size_t bytes = record_bytes(Gsn{1}, 500);
  std::uint64_t told = 0;  // up to there
  for (std::uint64_t gsn = 1; log.has_room(bytes); ++gsn) {
    append(log, Gsn{gsn}, 500);
    const bool half_has_come = raw(log.end()) - told >= kCapacity / 2;
    ASSERT_EQ(log.is_to_be_told(), half_has_come) << gsn;
    told = half_has_come ? raw(log.end()) : told;
    ASSERT_FALSE(log.is_to_be_told());
  }
  ASSERT_GT(told, 0U);
  const Lsn taken = log.end();
  log.take(taken, StreamPosition{1});
  for (std::uint64_t gsn = 100; raw(log.end()) + bytes - raw(taken) < kCapacity / 2; ++gsn) {
    append(log, Gsn{gsn}, 500);
    ASSERT_FALSE(log.is_to_be_told()) << "what was taken counts no more";
  }
  append(log, Gsn{200}, 500);
  EXPECT_TRUE(log.is_to_be_told());
}

TEST(SlotLog, HasNoRoomForWhatWouldOverwrite) {
  SlotLog log(kCapacity, kRecordMax);
  append(log, Gsn{1}, 1500);
  append(log, Gsn{2}, 1500);
  const std::size_t bytes = record_bytes(Gsn{1}, 1500);
  EXPECT_TRUE(log.has_room(kCapacity - 2 * bytes));
  EXPECT_FALSE(log.has_room(kCapacity - 2 * bytes + 1));
  log.take(Lsn{bytes}, StreamPosition{1});
  EXPECT_TRUE(log.has_room(kCapacity - bytes));
}

// A taken record stays readable until it is overwritten.
TEST(SlotLog, RemembersWhatWasTaken) {
  SlotLog log(kCapacity, kRecordMax);
  const Lsn first = append(log, Gsn{1}, 500);
  const Lsn second = append(log, Gsn{2}, 500);
  log.take(log.published(), StreamPosition{1});
  EXPECT_TRUE(log.in_ring(first));
  for (std::uint64_t gsn = 3; log.in_ring(first); ++gsn) {
    append(log, Gsn{gsn}, 500);
    log.take(log.published(), StreamPosition{1});
  }
  ASSERT_TRUE(log.in_ring(second));
  std::vector<std::byte> bytes(record_bytes(Gsn{2}, 500));
  log.read(second, bytes);
  EXPECT_TRUE(is_record(bytes, 0, Gsn{2}, 500));
}

TEST(SlotLog, OwnerAndCommitterAtTheSameTime) {
  SlotLog log(kCapacity, kRecordMax);
  constexpr std::uint64_t kRecords = 20'000;
  std::thread committer([&] {
    std::uint64_t next = 1;
    std::vector<std::byte> bytes;
    while (next <= kRecords) {
      const Lsn from = log.taken();
      const Lsn to = log.published();
      bytes.resize(raw(to) - raw(from));
      log.copy_pending(from, bytes);
      for (std::size_t at = 0; at < bytes.size(); ++next) {
        const auto record = record_at(bytes, at);
        ASSERT_TRUE(record);
        ASSERT_TRUE(is_record(bytes, at, Gsn{next}, next * 7 % 900));
        at += record->whole.size();
      }
      log.take(to, StreamPosition{1});
    }
  });
  for (std::uint64_t gsn = 1; gsn <= kRecords; ++gsn) {
    while (!log.has_room(record_bytes(Gsn{gsn}, gsn * 7 % 900))) {
      std::this_thread::yield();
    }
    append(log, Gsn{gsn}, gsn * 7 % 900);
  }
  committer.join();
}

}  // namespace
}  // namespace palimpsest::wal
