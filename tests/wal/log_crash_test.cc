// Crashes at every operation of log workloads: several slots interleaved, group commits, segments
// left and reused, replay's start moved, incarnations. Afterwards there must be:
// - every record that was acknowledged as durable, with its content;
// - of each incarnation exactly the records with GSN <= its cut, none missing in between;
// - nothing that an earlier recovery has cut off;
// - never a report of corruption;
// - a log that works: a new incarnation appends, and is found again.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <string>
#include <thread>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "base/random.h"
#include "base/sync_point.h"
#include "tests/support/crash_images.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tests/wal/log_fixture.h"

namespace palimpsest::wal::test {
namespace {

using palimpsest::test::CrashKeeps;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using palimpsest::test::SimOperation;
using palimpsest::test::Sweep;

constexpr double kSecondsPerWorkload = 3;

/// The expected state, outside of the log.
struct Journal {
  std::vector<Remembered> appended;         ///< of all incarnations, in the order of appending
  std::map<Incarnation, Gsn> acknowledged;  ///< durable GSN seen
  std::map<Incarnation, Gsn> cut;           ///< of incarnations that recovery has ended
  std::vector<std::size_t> starts;          ///< records appended when replay's start was taken
  std::size_t start_written = 0;            ///< how many of those starts are durable
};

struct CrashPoint {
  SimDisk disk;
  Journal journal;
  bool nothing_in_flight = false;  ///< only a sync may be under way
};

struct Totals {
  std::uint64_t points = 0;
  std::uint64_t states = 0;
  std::uint64_t records = 0;
  std::uint64_t beyond = 0;
};

/// Appends at random to a log, on one thread, and keeps the journal.
class Workload {
 public:
  Workload(SimDisk& disk, Journal& journal, std::uint64_t seed)
      : device_(disk.device()), journal_(journal), random_(seed), log_(*device_) {
    for (int i = 0; i < 3; ++i) {
      slots_.push_back(log_.claim());
      numbers_.push_back(seed % 1000 * 1'000'000);
    }
  }
  void step() {
    const std::size_t at = random_.below(slots_.size());
    const std::uint64_t dice = random_.below(100);
    if (dice < 50) {
      change(at);
    } else if (dice < 60) {
      change_across_a_round(at);
    } else if (dice < 85) {
      commit(at);
    } else if (dice < 96) {
      wait(log_.clock().now());
    } else {
      move_start();
    }
  }

 private:
  // Sometimes of a page that another slot has changed last.
  void change(std::size_t at) {
    journal_.appended.push_back(log_.change(slots_[at], ++numbers_[at], size(), page_));
    page_ = random_.one_in(2) ? journal_.appended.back().gsn : page_;
  }
  // Other slots append, commit, and write everything, while this record is not published.
  void change_across_a_round(std::size_t at) {
    const std::size_t other = (at + 1) % slots_.size();
    journal_.appended.push_back(log_.change_while(slots_[at], ++numbers_[at], size(), page_, [&] {
      change(other);
      commit_without_waiting((at + 2) % slots_.size());
      log_.log().write_pending();
      note_acknowledged();
    }));
  }
  void commit_without_waiting(std::size_t at) {
    journal_.appended.push_back(log_.commit(slots_[at], ++numbers_[at]));
  }
  void commit(std::size_t at) {
    commit_without_waiting(at);
    if (random_.one_in(3)) {
      wait(journal_.appended.back().gsn);
    }
  }
  std::size_t size() {
    return random_.one_in(4) ? random_.between(500, 1900) : random_.between(8, 90);
  }
  void note_acknowledged() {
    journal_.acknowledged[log_.log().incarnation()] = log_.log().durable_gsn();
  }
  void wait(Gsn gsn) {
    log_.log().wait_durable(gsn);
    note_acknowledged();
  }
  // Appended records that are not written yet lie behind the start: take it when all is written.
  void move_start() {
    log_.log().write_pending();
    const LogStart start = log_.log().current_start();
    journal_.starts.push_back(journal_.appended.size());
    log_.log().move_start(start, "", false);
    journal_.start_written = journal_.starts.size();
  }

  std::unique_ptr<io::Device> device_;
  Journal& journal_;
  Random random_;
  OpenLog log_;
  std::vector<SlotId> slots_;
  std::vector<std::uint64_t> numbers_;
  Gsn page_{};
};

/// The records that must be found if replay begins at the `start`-th start.
std::vector<Remembered> expected_from(const Journal& journal, const Found& found,
                                      std::size_t first_index) {
  std::vector<Remembered> expected;
  for (std::size_t i = first_index; i < journal.appended.size(); ++i) {
    const Remembered& record = journal.appended[i];
    const auto ended = journal.cut.find(record.incarnation);
    Gsn cut = ended == journal.cut.end() ? Gsn{0} : ended->second;
    if (ended == journal.cut.end()) {
      for (const auto& [incarnation, gsn] : found.cuts) {
        cut = incarnation == record.incarnation ? gsn : cut;
      }
    }
    if (record.gsn <= cut) {
      expected.push_back(record);
    }
  }
  return expected;
}

void sort(std::vector<Remembered>& records) {
  std::ranges::sort(records, {}, [](const Remembered& record) {
    return std::tuple(raw(record.incarnation), raw(record.slot), raw(record.lsn));
  });
}

/// Whether all acknowledged records from `first_index` on are there.
bool has_acknowledged(const Journal& journal, const std::vector<Remembered>& records,
                      std::size_t first_index) {
  for (std::size_t i = first_index; i < journal.appended.size(); ++i) {
    const Remembered& record = journal.appended[i];
    const auto acknowledged = journal.acknowledged.find(record.incarnation);
    if (acknowledged != journal.acknowledged.end() && record.gsn <= acknowledged->second &&
        std::ranges::find(records, record) == records.end()) {
      return false;
    }
  }
  return true;
}

std::string describe(const char* what, const std::vector<Remembered>& records) {
  std::string text = std::string("\n") + what;
  for (const Remembered& record : records) {
    text += " " + std::to_string(raw(record.incarnation)) + "/" + std::to_string(raw(record.slot)) +
            ":" + std::to_string(record.number) + "@" + std::to_string(raw(record.gsn));
  }
  return text;
}

/// "" if the result is possible. A start that was being written may count or not.
std::string judge(const Journal& journal, const Found& found) {
  std::vector<Remembered> records = found.records;
  sort(records);
  std::string fault = "what was found fits no start" + describe("found", records);
  for (std::size_t start = journal.start_written; start <= journal.starts.size(); ++start) {
    const std::size_t first = start == 0 ? 0 : journal.starts[start - 1];
    std::vector<Remembered> expected = expected_from(journal, found, first);
    sort(expected);
    if (expected == records && has_acknowledged(journal, records, first)) {
      return "";
    }
    fault += describe("expected", expected);
  }
  return fault;
}

/// Opens a crashed disk, judges, and goes on; crashes again there, down to `depth`.
std::string recover(SimDisk& disk, const Journal& journal, std::uint64_t seed, unsigned depth,
                    Totals& totals) {
  ++totals.states;
  std::vector<CrashPoint> points;
  try {
    const auto device = disk.device();
    const Found found = read_log(*device, kSmallFiles, false);
    totals.records += found.records.size();
    totals.beyond += found.beyond.size();
    if (std::string fault = judge(journal, found); !fault.empty()) {
      return fault;
    }
    // From here on the found records are the complete ones.
    Journal after = journal;
    after.cut.clear();
    for (const Remembered& record : journal.appended) {
      after.cut[record.incarnation] = Gsn{0};
    }
    for (const auto& [incarnation, gsn] : found.cuts) {
      after.cut[incarnation] = gsn;
    }
    for (const auto& [incarnation, gsn] : journal.cut) {
      after.cut[incarnation] = gsn;
    }
    after.acknowledged.clear();
    if (depth != 0) {
      disk.set_hook([&](const SimOperation&) { points.push_back({disk.snapshot(), after}); });
    }
    Workload workload(disk, after, seed);
    for (int i = 0; i < 12; ++i) {
      workload.step();
    }
    disk.set_hook({});
    if (std::string fault = judge(after, read_log(*disk.snapshot().device())); !fault.empty()) {
      return "after use: " + fault;
    }
  } catch (const std::exception& error) {
    disk.set_hook({});
    return error.what();
  }
  for (std::size_t i = 0; i < points.size(); i += 3) {
    SimDisk crashed = points[i].disk.crash(seed + i);
    if (std::string fault =
            recover(crashed, points[i].journal, seed + 7 * i + 1, depth - 1, totals);
        !fault.empty()) {
      return "crash after recovery: " + fault;
    }
  }
  return "";
}

void crash_everywhere(std::uint64_t seed, int steps, std::uint64_t damages) {
  SCOPED_TRACE(testing::Message() << "workload seed " << seed);
  SimDisk disk({.seed = seed});
  Journal journal;
  std::vector<CrashPoint> points;
  {
    Workload workload(disk, journal, seed);
    disk.set_hook([&](const SimOperation& operation) {
      points.push_back({disk.snapshot(), journal, operation.kind == SimKind::sync});
    });
    for (int i = 0; i < steps; ++i) {
      workload.step();
    }
    disk.set_hook({});
  }
  Totals totals;
  totals.points = points.size();
  for (Sweep sweep(points.size(), 20, kSecondsPerWorkload); const auto point = sweep.next();) {
    const std::uint64_t i = *point;
    for (std::uint64_t damage = 0; damage < damages; ++damage) {
      const CrashKeeps keeps = damage == 0   ? CrashKeeps::nothing
                               : damage == 1 ? CrashKeeps::everything
                                             : CrashKeeps::random;
      // The process is killed, and the disk and its cache survive; or the power fails.
      const bool killed = damage == 3 && points[i].nothing_in_flight;
      SimDisk crashed = killed ? points[i].disk.snapshot()
                               : points[i].disk.crash(seed * 1'000'003 + i * 101 + damage, keeps);
      const unsigned depth = (damage == 2 && i % 4 == 0) || (killed && i % 8 < 2) ? 1 : 0;
      const std::string fault =
          recover(crashed, points[i].journal, seed + i * 31 + damage, depth, totals);
      ASSERT_EQ(fault, "") << "crash point " << i << " damage " << damage;
    }
  }
  std::cout << "  seed " << seed << ": " << totals.points << " crash points, " << totals.states
            << " states, " << totals.records << " records found, " << totals.beyond
            << " beyond a cut\n";
}

// One round writes batches into several segments. All of them are durable when it ends, not only
// those of the segment written last.
TEST(LogCrash, ARoundAcrossSegmentsIsDurableAsAWhole) {
  SimDisk disk;
  const auto device = disk.device();
  OpenLog open(*device);
  std::vector<Remembered> appended;
  for (int i = 0; i < 12; ++i) {
    const SlotId slot = open.claim();
    for (std::uint64_t n = 0; n < 9; ++n) {
      appended.push_back(open.change(slot, n, 777, Gsn{0}));
    }
  }
  open.log().write_pending();
  ASSERT_EQ(open.log().statistics().rounds, 1U);
  ASSERT_GT(open.log().statistics().stream_bytes, kSmallFiles.segment_bytes);
  const SimDisk crashed = disk.crash(1, CrashKeeps::nothing);
  EXPECT_EQ(missing(appended, open.log().durable_gsn(), read_log(*crashed.device())), "");
}

// A crash has kept the header of a segment and lost its only batch. Another file, made since, gets
// the segment's number again: two files with one number would be refused.
TEST(LogCrash, NumberOfASegmentWithoutBatchesIsGivenAgain) {
  SimDisk disk;
  const auto device = disk.device();
  std::string file;
  {
    OpenLog open(*device);
    const SlotId slot = open.claim();
    const Segments& segments = open.store().segments();
    open.log().wait_durable(open.commit(slot, 1000).gsn);  // the segment does not end with a batch
    for (std::uint64_t i = 0; !segments.has(2); ++i) {
      open.log().wait_durable(open.change(slot, i, 1500, Gsn{0}).gsn);
    }
    const std::string name = segments.name_of(2);
    file = name.substr(name.rfind('/') + 1);
  }
  disk.overwrite(file, kSegmentHeaderBytes, std::vector<std::byte>(2048));
  const Found found = read_log(*device);
  const std::size_t kept = found.records.size();
  ASSERT_LT(raw(found.end.position), 2 * kSmallFiles.segment_bytes);
  {
    OpenLog open(*device);
    const std::uint32_t files = open.store().segments().files();
    const SlotId slot = open.claim();
    open.log().reserve(slot, {.bytes = 2000, .credit_bytes = 4 * kSmallFiles.segment_bytes});
    ASSERT_GT(open.store().segments().files(), files);
    for (std::uint64_t i = 0; i < 3; ++i) {
      open.log().wait_durable(open.change(slot, i, 1500, Gsn{0}).gsn);
    }
  }
  EXPECT_EQ(read_log(*device).records.size(), kept + 3);
}

// A process is killed when the segment that it makes is whole, but its name is not durable. The
// next one fills that segment, and the power fails.
TEST(LogCrash, SegmentMadeByAKilledProcessKeepsItsName) {
  SimDisk disk;
  SimDisk killed;
  {
    const auto device = disk.device();
    OpenLog open(*device);
    disk.set_hook([&](const SimOperation& operation) {
      if (operation.kind == SimKind::sync_directory) {
        killed = disk.kill(1);
      }
    });
    ASSERT_TRUE(open.store().segments().make_one(false));
    disk.set_hook({});
  }
  const auto device = killed.device();
  OpenLog open(*device);
  ASSERT_EQ(open.store().segments().files(), LogStore::kSegmentsMin + 1);
  const SlotId slot = open.claim();
  std::vector<Remembered> appended;
  while (!open.store().segments().has(2)) {  // the newest file is taken first
    appended.push_back(open.change(slot, appended.size(), 1500, Gsn{0}));
    open.log().wait_durable(appended.back().gsn);
  }
  const SimDisk crashed = killed.crash(1, CrashKeeps::nothing);
  EXPECT_EQ(missing(appended, open.log().durable_gsn(), read_log(*crashed.device())), "");
}

constexpr LogFileOptions kZerosBeside{.segment_bytes = kSmallFiles.segment_bytes,
                                      .segments_max = kSmallFiles.segments_max,
                                      .zeros_beside = true};

// Records become durable before any zeros are written in parallel; then segments are begun one
// after the other while their zeros are written.
TEST(LogCrash, ANewLogIsUsedBeforeItsSegmentsAreZeroed) {
  SimDisk disk;
  std::atomic<bool> is_used = false;
  disk.set_hook([&, owner = std::this_thread::get_id()](const SimOperation& operation) {
    const bool may_be_zeros = operation.kind == SimKind::write && operation.size_bytes > 16'384;
    if (may_be_zeros && std::this_thread::get_id() != owner) {
      is_used.wait(false);
    }
  });
  std::vector<Remembered> appended;
  const auto device = disk.device();
  OpenLog open(*device, kZerosBeside);
  ASSERT_EQ(open.store().segments().files(), LogStore::kSegmentsMin);
  const SlotId slot = open.claim();
  while (!open.store().segments().has(4)) {
    appended.push_back(open.change(slot, appended.size(), 1500, Gsn{0}));
    open.log().wait_durable(appended.back().gsn);
    is_used = true;
    is_used.notify_all();
  }
  const SimDisk crashed = disk.crash(1, CrashKeeps::nothing);
  EXPECT_EQ(missing(appended, open.log().durable_gsn(), read_log(*crashed.device())), "");
  disk.set_hook({});
}

#ifdef PALIMPSEST_SYNC_POINTS

TEST(LogCrash, ASegmentIsBegunWhenItsZerosAreWritten) {
  std::atomic<bool> is_zeroing = false;
  std::atomic<bool> is_awaited = false;
  const auto set = [](std::atomic<bool>& event) {
    event = true;
    event.notify_all();
  };
  const SyncHook zeroing("wal.segments.zeroing", [&] {
    set(is_zeroing);
    is_awaited.wait(false);
  });
  const SyncHook awaited("wal.segments.awaited", [&] { set(is_awaited); });
  SimDisk disk;
  const auto device = disk.device();
  static_cast<void>(LogStore::create(*device, kUuid, kSmallFiles));
  const Segments::Options options{
      .segment_bytes = kSmallFiles.segment_bytes, .segments_max = 8, .uuid = kUuid};
  const AlignedMemory batch(kBatchAlignment, kBatchAlignment);
  std::ranges::fill(batch.bytes(), std::byte{7});
  {
    Segments segments(*device, options, false);
    segments.zero_beside();
    is_zeroing.wait(false);
    for (std::uint64_t number = 2; segments.spare() != 0; ++number) {
      segments.begin(number);
      segments.write(segments.first_position(number), batch.bytes());
    }
    EXPECT_TRUE(segments.has(LogStore::kSegmentsMin));
    set(is_awaited);
  }
  const Segments segments(*device, options, true);
  for (std::uint64_t number = 2; number <= LogStore::kSegmentsMin; ++number) {
    const AlignedMemory found(kBatchAlignment, kBatchAlignment);
    segments.read(segments.first_position(number), found.bytes());
    EXPECT_TRUE(std::ranges::equal(found.bytes(), batch.bytes())) << number;
  }
}

#endif

TEST(LogCrash, ZerosThatCannotBeWrittenAreNotMissed) {
  SimDisk disk;
  const auto device = disk.device();
  static_cast<void>(LogStore::create(*device, kUuid, kSmallFiles));
  disk.inject({.kinds = static_cast<unsigned>(SimKind::write), .file = "log-0001"});
  Segments segments(*device,
                    {.segment_bytes = kSmallFiles.segment_bytes, .segments_max = 8, .uuid = kUuid},
                    false);
  segments.zero_beside();
  segments.begin(2);
  EXPECT_TRUE(segments.has(2));
}

// At every operation of its making: there is none, or it is whole, and can be filled.
TEST(LogCrash, EveryCrashPointOfANewLog) {
  for (const LogFileOptions& files : {kSmallFiles, kZerosBeside}) {
    SimDisk disk;
    palimpsest::test::CrashImages crashes(disk);
    crashes.take_at_operations();
    const auto device = disk.device();
    {
      const LogStore store = LogStore::create(*device, kUuid, files);
    }
    crashes.take();
    std::size_t whole = 0;
    for (const auto& image : crashes.end()) {
      const auto after = image.disk.device();
      if (!after->exists(kControlFileName)) {
        continue;
      }
      ++whole;
      OpenLog open(*after, files);
      ASSERT_GE(open.store().segments().files(), LogStore::kSegmentsMin);
      const SlotId slot = open.claim();
      for (std::uint64_t number = 0; !open.store().segments().has(3); ++number) {
        open.log().wait_durable(open.change(slot, number, 1500, Gsn{0}).gsn);
      }
    }
    EXPECT_GT(whole, 0U);
  }
}

TEST(LogCrash, EveryCrashPointOfScriptedWorkloads) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    crash_everywhere(seed, 500, 5);
  }
}

TEST(LogCrash, EveryCrashPointOfARandomWorkload) {
  crash_everywhere(palimpsest::test::seed() % 1'000'000'007, 500, 5);
}

}  // namespace
}  // namespace palimpsest::wal::test
