// Redo of logs of real changes, compared with the resulting pages: random interleavings of slots,
// memory for a few pages, several workers, crashes and failures at every I/O of redo.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "btree/log/tree_record_encode.h"
#include "btree/log/tree_record_format.h"
#include "engine/recovery/redo_worker.h"
#include "tests/btree/tree_log_support.h"
#include "tests/engine/recovery_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine::test {
namespace {

using experiments::LoggedForest;
using palimpsest::test::CrashKeeps;
using palimpsest::test::error_of;
using palimpsest::test::Rounds;
using palimpsest::test::seed;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using palimpsest::test::SimOperation;
using palimpsest::test::Sweep;

/// The minimum for redo: memory for a few pages, which are evicted and read again.
const RedoOptions kLittleMemory{.memory_bytes = 1, .workers = 1, .passes_max = 1};
/// The same, and redo reads the log in several passes.
const RedoOptions kInPasses{.memory_bytes = 1, .workers = 1, .passes_max = 1000};
/// Some twenty pages for each worker.
const RedoOptions kLittleForTwo{
    .memory_bytes = std::size_t{600} << 10U, .workers = 2, .worker_pages_min = 16};

std::string key_of(std::uint64_t number) {
  std::string key(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    key[i] = static_cast<char>(number >> (56 - 8 * i));
  }
  return key;
}

/// Trees that several slots change, their log, and an empty page file.
class ForestLog {
 public:
  static constexpr std::uint32_t kSlots = 5;
  static constexpr std::uint32_t kTrees = 6;

  explicit ForestLog(std::uint64_t seed) : random_(seed) {
    static_cast<void>(buffer::PageFile::create(*device_, "pages",
                                               {.page_size_bytes = kPageSize, .batch_pages = 64}));
    log_ = std::make_unique<LogWriter>(*device_);
    const PageId first = buffer::PageFile::open(*device_, "pages")->first_page();
    forest_ = std::make_unique<LoggedForest>(
        kPageSize, first, kTrees, [this](bool of_transaction, Gsn at_least, ConstBytes bytes) {
          const Body body(bytes.begin(), bytes.end());
          return of_transaction ? log_->change(slot_, body, at_least)
                                : log_->system(slot_, body, at_least);
        });
  }

  /// Mostly inserts if the trees are to grow, removes if not.
  void run(int steps, bool grow) {
    for (int i = 0; i < steps; ++i) {
      slot_ = static_cast<std::uint32_t>(random_.below(kSlots));
      step(grow);
      if (random_.one_in(6) && log_->of(slot_).has_changes()) {
        log_->commit(slot_);
      }
      if (random_.one_in(40)) {
        log_->harden();
      }
    }
  }
  void commit_all() {
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      if (log_->of(slot).has_changes()) {
        log_->commit(slot);
      }
    }
  }
  /// The disk after a crash, when all of the log is durable.
  SimDisk crash() {
    log_->harden();
    return disk_.crash(1, CrashKeeps::nothing);
  }
  /// A new incarnation continues the log; open transactions stay open.
  void reopen() {
    const SimDisk next = crash();
    log_.reset();
    device_.reset();
    disk_ = next;
    device_ = disk_.device();
    log_ = std::make_unique<LogWriter>(*device_);
  }

  [[nodiscard]] const LoggedForest& forest() const { return *forest_; }
  [[nodiscard]] LogWriter& log() { return *log_; }

 private:
  void step(bool grow) {
    const auto tree = static_cast<std::uint32_t>(random_.below(kTrees));
    const std::string key = key_of(random_.below(600));
    switch (random_.below(grow ? 4 : 6)) {
      case 0:
      case 1:
        if (grow) {
          forest_->insert(tree, key, std::string(random_.below(300), 'i'));
          break;
        }
        forest_->remove(tree, key);
        break;
      case 2: forest_->update(tree, key, std::string(random_.below(200), 'u')); break;
      case 3:
        if (auto value = forest_->find(tree, key); value && !value->empty()) {
          (*value)[random_.below(value->size())] ^= 0x55;
          forest_->update(tree, key, *value);
        }
        break;
      case 4: forest_->purge(tree, key); break;
      default: forest_->merge(tree, key); break;
    }
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_ = disk_.device();
  Random random_;
  std::unique_ptr<LogWriter> log_;
  std::unique_ptr<LoggedForest> forest_;
  std::uint32_t slot_ = 0;
};

RedoStatistics recover_on(const SimDisk& disk, const RedoOptions& options) {
  return recover(*disk.device(), options);
}

std::string differences_on(const SimDisk& disk, const ForestLog& log) {
  return differences(*disk.device(), log.forest().pages());
}

std::map<PageId, Gsn> gsns_of(const LoggedForest& forest) {
  std::map<PageId, Gsn> gsns;
  for (const auto& [page, image] : forest.pages()) {
    gsns[page] = buffer::header_of(image.bytes()).gsn;
  }
  return gsns;
}

/// A leaf that existed before, and has been changed since.
PageId changed_leaf(const LoggedForest& forest, const std::map<PageId, Gsn>& before) {
  for (const auto& [page, image] : forest.pages()) {
    const buffer::PageHeader header = buffer::header_of(image.bytes());
    const auto known = before.find(page);
    if (header.type == buffer::PageType::tree_leaf && known != before.end() &&
        known->second < header.gsn) {
      return page;
    }
  }
  ADD_FAILURE() << "no leaf was changed";
  return kNoPage;
}

PageId first_page_of(const SimDisk& disk) {
  const auto device = disk.snapshot().device();
  return buffer::PageFile::open(*device, "pages", {.read_only = true, .allow_unclean = true})
      ->first_page();
}

/// A log in which trees grow, shrink and grow again, through three incarnations.
std::unique_ptr<ForestLog> some_log(std::uint64_t seed, int steps) {
  auto log = std::make_unique<ForestLog>(seed);
  log->run(steps, true);
  log->reopen();
  log->run(steps, false);
  log->reopen();
  log->run(steps / 2, true);
  return log;
}

TEST(RecoveryRedo, GivesThePagesThatWereLogged) {
  std::uint64_t next = seed();
  std::size_t freed = 0;
  for (Rounds rounds(2, 1); rounds.next();) {
    const auto log = some_log(next++, 2500);
    const SimDisk disk = log->crash();
    const RecoveryAnalysis analysis = analysis_of(*disk.device());
    freed += analysis.ended.range_count();
    const RedoStatistics little = recover_on(disk, kLittleMemory);
    EXPECT_EQ(differences_on(disk.crash(1, CrashKeeps::nothing), *log), "");
    EXPECT_GT(little.pages_read, 20U) << "pages left and came back";
    EXPECT_GT(little.changes, little.changes_applied) << "some were of pages given back";
    const SimDisk other = log->crash();
    const RedoStatistics much = recover_on(other, {.workers = 4});
    EXPECT_EQ(differences_on(other.crash(1, CrashKeeps::nothing), *log), "");
    EXPECT_EQ(much.pages_read, 0U) << "each page is formatted in the log";
    EXPECT_LE(much.pages_written, log->forest().pages().size());
    EXPECT_GE(analysis.pages_changed, much.pages_written);
    EXPECT_EQ(much.passes, 1U);
    const SimDisk third = log->crash();
    const RedoStatistics again = recover_on(third, kInPasses);
    EXPECT_EQ(differences_on(third.crash(1, CrashKeeps::nothing), *log), "");
    EXPECT_GT(again.passes, 1U);
    EXPECT_EQ(again.changes, much.changes) << "each in one pass";
    EXPECT_EQ(recover_on(third, {.memory_bytes = 1, .passes_max = again.passes - 1}).passes, 1U);
  }
  EXPECT_GT(freed, 0U);
}

TEST(RecoveryRedo, ASecondTimeChangesNothing) {
  const auto log = some_log(seed(), 1500);
  const SimDisk disk = log->crash();
  recover_on(disk, {});
  const auto pages = disk.contents("pages");
  const RedoStatistics again = recover_on(disk, {.workers = 2});
  EXPECT_EQ(differences_on(disk, *log), "");
  EXPECT_EQ(disk.contents("pages").size(), pages.size());
  EXPECT_LE(again.changes_applied, again.changes);
}

/// A page file with older pages, and a log of the changes since.
struct StartedInTheMiddle {
  explicit StartedInTheMiddle(std::uint64_t seed) : log(seed) {
    log.run(1500, true);
    log.commit_all();
    before = gsns_of(log.forest());
    const SimDisk old = log.crash();
    recover_on(old, {});
    log.log().log().forget();
    log.run(300, true);
    disk = log.crash();
    const auto pages = old.contents("pages");
    {
      const auto device = disk.device();
      const auto file = buffer::PageFile::open(*device, "pages", {.allow_unclean = true});
      file->grow(pages.size() / kPageSize);
      file->sync();
    }
    disk.overwrite("pages", 0, pages);
  }

  ForestLog log;
  std::map<PageId, Gsn> before;  ///< of the pages in the file
  SimDisk disk;
};

// Not only pages that the log formats: most are read, and contain some or all of their records.
TEST(RecoveryRedo, PagesAreNotChangedTwiceByARecord) {
  const std::uint64_t first = seed();
  const StartedInTheMiddle middle(first);
  SimDisk run = middle.disk.snapshot();
  std::vector<SimDisk> crashes;
  std::mutex mutex;
  run.set_hook([&](const SimOperation& operation) {
    if (operation.kind != SimKind::read) {
      const std::lock_guard guard(mutex);
      crashes.push_back(run.crash(first + crashes.size()));
    }
  });
  EXPECT_GT(recover_on(run, kLittleMemory).pages_read, 10U);
  run.set_hook({});
  EXPECT_EQ(differences_on(run, middle.log), "");
  recover_on(run, {.workers = 3});
  EXPECT_EQ(differences_on(run, middle.log), "");
  ASSERT_GT(crashes.size(), 10U);
  for (Sweep sweep(crashes.size(), 12, 1); const auto which = sweep.next();) {
    const SimDisk& crash = crashes[*which];
    recover_on(crash, {.workers = 2});
    ASSERT_EQ(differences_on(crash, middle.log), "") << *which;
  }
}

/// Crash points: the disk at each write and sync of redo, with what a crash keeps of it.
TEST(RecoveryRedo, InterruptedAnywhereItEndsInTheSamePages) {
  const std::uint64_t first = seed();
  const auto log = some_log(first, 800);
  const SimDisk disk = log->crash();
  SimDisk hooked = disk.snapshot();
  Random random(first);
  std::vector<SimDisk> crashes;
  std::mutex mutex;
  hooked.set_hook([&](const SimOperation& operation) {
    if (operation.kind != SimKind::read) {
      const std::lock_guard guard(mutex);
      crashes.push_back(hooked.crash(first + crashes.size()));
    }
  });
  recover_on(hooked, random.one_in(2) ? kLittleMemory : kInPasses);
  hooked.set_hook({});
  ASSERT_GT(crashes.size(), 20U);
  for (Sweep sweep(crashes.size(), 20, 1.5); const auto which = sweep.next();) {
    // A second crash, in the middle of that redo.
    const SimDisk second = crashes[*which].snapshot();
    SimDisk failing = second;
    failing.inject({.kinds = SimKind::write | SimKind::sync,
                    .nth = 1 + random.below(crashes.size()),
                    .for_good = true});
    static_cast<void>(error_of(
        [&] { return recover_on(failing, random.one_in(2) ? kLittleMemory : kInPasses); }));
    failing.clear_faults();
    const SimDisk third = failing.crash(random());
    recover_on(third, kLittleForTwo);
    ASSERT_EQ(differences_on(third.crash(random(), CrashKeeps::nothing), *log), "") << *which;
  }
}

TEST(RecoveryRedo, AFailureOfAnyOperationIsAnErrorOrDoesNotMatter) {
  const std::uint64_t first = seed();
  const auto log = some_log(first, 1000);
  const SimDisk disk = log->crash();
  const SimDisk whole = disk.snapshot();
  const std::uint64_t before = whole.operations();
  recover_on(whole, kLittleMemory);
  const std::uint64_t operations = whole.operations() - before;
  ASSERT_GT(operations, 50U);
  int errors = 0;
  for (Sweep sweep(operations, 40, 5); const auto before_it = sweep.next();) {
    const std::uint64_t nth = *before_it + 1;
    SimDisk failing = disk.snapshot();
    failing.inject({.nth = nth, .for_good = nth % 2 == 0});
    const RedoOptions& options = nth % 3 == 0 ? kInPasses : kLittleMemory;
    const auto code = error_of([&] { return recover_on(failing, options); });
    errors += code ? 1 : 0;
    failing.clear_faults();
    if (!code) {
      ASSERT_EQ(differences_on(failing.crash(nth, CrashKeeps::nothing), *log), "") << nth;
    }
    const SimDisk after = failing.crash(nth);
    recover_on(after, {});
    ASSERT_EQ(differences_on(after, *log), "") << nth;
  }
  EXPECT_GT(errors, 30);
}

TEST(RecoveryRedo, PagesThatAreReusedForLargeValuesAreLeftAlone) {
  ForestLog log(7);
  log.run(600, true);
  // A freed page of a tree, which by now holds a block of a large value.
  const PageId reused = std::prev(log.forest().pages().end())->first;
  log.log().system(0, space_body({{reused, 1}}), Gsn{1'000'000}, wal::BodyKind::space);
  const SimDisk disk = log.crash();
  const RecoveryAnalysis analysis = analysis_of(*disk.device());
  EXPECT_GE(analysis.ended.gsn_of(reused), Gsn{1'000'000});
  {
    const auto device = disk.device();
    const auto file = buffer::PageFile::open(*device, "pages", {.allow_unclean = true});
    if (!file->contains(reused)) {
      file->grow(raw(reused) + 1);
    }
    buffer::PageWriter writer(*file);
    AlignedMemory block(kPageSize, kPageSize);
    buffer::PageHeader header{};
    header.page_id = reused;
    header.type = buffer::PageType::extent_block;
    std::memcpy(block.data(), &header, sizeof header);
    const buffer::PageImage image{reused, block.bytes()};
    writer.write_fresh({&image, 1});
    writer.harden();
  }
  recover_on(disk, kLittleMemory);
  const auto device = disk.device();
  const auto file = buffer::PageFile::open(*device, "pages", {.allow_unclean = true});
  const AlignedMemory page(kPageSize, kPageSize);
  file->read_page(reused, page.bytes());
  EXPECT_EQ(buffer::header_of(page.bytes()).type, buffer::PageType::extent_block);
}

TEST(RecoveryRedo, ARecordThatDoesNotSuitItsPageIsCorruption) {
  ForestLog log(8);
  log.run(50, true);
  const auto& [page, image] = *log.forest().pages().begin();
  const TreeId tree = buffer::header_of(image.bytes()).tree_id;
  const Gsn gsn = log.log().change(
      0, btree::test::encoded(btree::LoggedMark{{tree, page, 4000, "absent"}, btree::kPlainRecord}),
      Gsn{5'000'000});
  const SimDisk disk = log.crash();
  std::string message;
  EXPECT_EQ(error_of([&] { return recover_on(disk, {.workers = 2}); }, &message),
            ErrorCode::corruption);
  EXPECT_NE(message.find("page " + std::to_string(raw(page))), std::string::npos) << message;
  EXPECT_NE(message.find("GSN " + std::to_string(raw(gsn))), std::string::npos) << message;
  EXPECT_NE(message.find("mark"), std::string::npos) << message;
}

TEST(RecoveryRedo, APageThatNoFileHasDoesNotMakeTheFileGrow) {
  ForestLog log(8);
  log.run(50, true);
  const SimDisk disk = log.crash();
  const auto device = disk.device();
  RecoveryAnalysis analysis = analysis_of(*device);
  analysis.page_count_min = std::uint64_t{1} << 50U;
  const auto store = wal::LogStore::open(*device, kFiles, false);
  wal::LogReader reader(store.segments(), store.control().state());
  reader.find_end();
  const auto file = buffer::PageFile::open(*device, "pages", {.allow_unclean = true});
  buffer::PageWriter writer(*file);
  const std::uint64_t pages = file->page_count();
  EXPECT_EQ(error_of([&] { redo(reader, analysis, *file, writer, {}); }), ErrorCode::corruption);
  EXPECT_EQ(file->page_count(), pages);
}

TEST(RecoveryRedo, ADamagedPageMattersUnlessItIsFormatted) {
  const auto log = some_log(9, 300);
  const SimDisk disk = log->crash();
  recover_on(disk, {});
  const PageId damaged = log->forest().pages().begin()->first;
  SimDisk broken = disk.snapshot();
  const std::vector<std::byte> garbage(kPageSize, std::byte{0x3C});
  broken.overwrite("pages", raw(damaged) * kPageSize, garbage);
  // The log has the record that formats the page, so redo does not read it.
  recover_on(broken, {});
  EXPECT_EQ(differences_on(broken, *log), "");
}

TEST(RecoveryRedo, ADamagedPageThatMustBeReadIsCorruption) {
  const StartedInTheMiddle middle(10);
  SimDisk broken = middle.disk.snapshot();
  const PageId damaged = changed_leaf(middle.log.forest(), middle.before);
  const std::vector<std::byte> garbage(kPageSize, std::byte{0x3C});
  broken.overwrite("pages", raw(damaged) * kPageSize, garbage);
  // Nor is there a copy in the double-write ring, which lies behind 64 KiB of header.
  const std::uint64_t ring = std::uint64_t{64} << 10U;
  broken.overwrite("pages", ring,
                   std::vector<std::byte>(raw(first_page_of(broken)) * kPageSize - ring));
  EXPECT_EQ(error_of([&] { return recover_on(broken, {}); }, std::to_string(raw(damaged))),
            ErrorCode::corruption);
}

// The others are what they would have been; a page that the log gives new content is not lost.
TEST(RecoveryRedo, GoesOnWithoutWhatIsLost) {
  const StartedInTheMiddle middle(12);
  const PageId damaged = changed_leaf(middle.log.forest(), middle.before);
  for (const RedoOptions& how : {RedoOptions{.workers = 2}, kLittleMemory}) {
    SimDisk broken = middle.disk.snapshot();
    const std::vector<std::byte> garbage(kPageSize, std::byte{0x3C});
    broken.overwrite("pages", raw(damaged) * kPageSize, garbage);
    const std::uint64_t ring = std::uint64_t{64} << 10U;
    broken.overwrite("pages", ring,
                     std::vector<std::byte>(raw(first_page_of(broken)) * kPageSize - ring));
    LostPages lost;
    RedoOptions options = how;
    options.lost = &lost;
    recover_on(broken, options);
    EXPECT_EQ(lost.count(), 1U);
    EXPECT_TRUE(lost.contains(damaged));
    const std::string different = differences_on(broken, middle.log);
    EXPECT_EQ(std::ranges::count(different, '\n'), 1) << different;
    EXPECT_NE(different.find("page " + std::to_string(raw(damaged)) + " is damaged"),
              std::string::npos)
        << different;
  }
  const auto log = some_log(13, 300);
  SimDisk formatted = log->crash();
  LostPages lost;
  recover_on(formatted, {.lost = &lost});
  EXPECT_EQ(lost.count(), 0U);
}

// A page that was read in vain, and is given other content by a later piece of the log.
TEST(RecoveryRedo, WhatIsLostIsFoundAgain) {
  const SimDisk disk;
  const auto device = disk.device();
  const auto file =
      buffer::PageFile::create(*device, "pages", {.page_size_bytes = kPageSize, .batch_pages = 64});
  const PageId page = file->first_page();
  file->grow(raw(page) + 1);  // with nothing in it
  buffer::PageWriter writer(*file);
  const RecoveryAnalysis analysis;
  LostPages lost;
  RedoWorker worker(analysis, *file, writer, ReplayPages::kFramesMin, &lost);
  const auto replay = [&](Gsn gsn, bool formats) {
    const btree::LeafChangeHeader header{btree::kind_byte(btree::TreeRecordKind::format_root), 0, 0,
                                         TreeId{7}, page};
    ReplayWindow window(1);
    const std::uint32_t offset = window.add_body(std::as_bytes(std::span(&header, 1)));
    window.add_item(
        0, {.page = page,
            .record = {.gsn = gsn, .offset = offset, .bytes = sizeof header, .formats = formats}});
    worker.replay(window, window.items(0));
  };
  replay(Gsn{5}, false);
  EXPECT_TRUE(lost.contains(page));
  replay(Gsn{6}, false);
  EXPECT_TRUE(lost.contains(page));
  replay(Gsn{7}, true);
  EXPECT_EQ(lost.count(), 0U);
  worker.write_pages();
  const AlignedMemory image(kPageSize, kPageSize);
  file->read_page(page, image.bytes());
  EXPECT_EQ(buffer::header_of(image.bytes()).gsn, Gsn{7});
}

TEST(RecoveryRedo, ReportsProgressFromBeginningToEnd) {
  const auto log = some_log(11, 300);
  const SimDisk disk = log->crash();
  std::vector<Progress> seen;
  recover_on(disk, {.workers = 2,
                    .progress = [&](const Progress& progress) { seen.push_back(progress); }});
  ASSERT_GE(seen.size(), 2U);
  EXPECT_EQ(seen.front().bytes_done, 0U);
  for (std::size_t i = 1; i < seen.size(); ++i) {
    EXPECT_GE(seen[i].bytes_done, seen[i - 1].bytes_done);
    EXPECT_EQ(seen[i].phase, RecoveryPhase::redo);
  }
  EXPECT_EQ(seen.back().bytes_done, seen.back().bytes_total);
}

}  // namespace
}  // namespace palimpsest::engine::test
