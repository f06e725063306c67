// Replaces, frees and overwrites values while other threads read them: every read yields the bytes
// of the requested value, or reports that it was replaced.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/io/posix_device.h"
#include "btree/large/large_value_store.h"
#include "tests/btree/large_value_test_support.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/thread_group.h"
#include "tests/wal/log_fixture.h"

namespace palimpsest::btree::test {
namespace {

/// Stands for a leaf's record: it holds the current descriptor.
class Record {
 public:
  struct Content {
    LargeValueDescriptor value;
    std::uint64_t seed;
  };

  [[nodiscard]] std::optional<Content> look_up() const {
    const std::lock_guard guard(mutex_);
    return content_;
  }
  std::optional<Content> exchange(std::optional<Content> content) {
    const std::lock_guard guard(mutex_);
    std::swap(content_, content);
    return content;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Content> content_;
};

class Replacement {
 public:
  explicit Replacement(LargeValueFile& db) : db_(db) {}

  void write(std::size_t thread, int replacements, std::uint64_t seed) {
    Random random(seed + thread);
    for (int i = 0; i < replacements; ++i) {
      const std::uint64_t value_seed = random();
      const std::uint64_t size = 1 + random.below(random.one_in(8) ? 1'500'000 : 150'000);
      const LargeValueDescriptor value = random.one_in(2)
                                             ? db_.store.write_for_commit(pattern(value_seed, size))
                                             : write_in_pieces(value_seed, size);
      const auto old_content =
          records_[random.below(records_.size())].exchange(Record::Content{value, value_seed});
      if (old_content) {
        db_.store.free(old_content->value);
      }
      if (random.one_in(8)) {  // the pages go altogether, and return as new ones
        static_cast<void>(db_.space.truncate_free_tail());
      }
    }
    writers_left_.fetch_sub(1);
  }

  /// As rounds of a log do.
  void write_deferred() {
    while (writers_left_.load() != 0) {
      db_.store.write_deferred();
    }
  }

  void read(std::size_t thread, std::uint64_t seed) {
    Random random(seed + 1000 + thread);
    std::optional<Record::Content> stale;
    while (writers_left_.load() != 0) {
      Record& record = records_[random.below(records_.size())];
      const auto content = record.look_up();
      if (!content) {
        continue;
      }
      const ReadOutcome outcome = read_some(*content, random);
      if (outcome == ReadOutcome::replaced) {
        const auto now = record.look_up();
        if (now->value == content->value) {
          ADD_FAILURE() << "current, but not there: " << print_descriptor(content->value);
        }
      }
      if (stale) {
        static_cast<void>(read_some(*stale, random));
      }
      if (!stale || random.one_in(4)) {
        stale = content;
      }
    }
  }

  void finish() {
    for (Record& record : records_) {
      if (const auto content = record.exchange(std::nullopt)) {
        std::string found;
        EXPECT_EQ(db_.store.read_all(content->value, found), ReadOutcome::complete);
        EXPECT_TRUE(found == pattern(content->seed, content->value.size_bytes()));
        db_.store.free(content->value);
      }
    }
  }

  void expect_writers(int count) { writers_left_.store(count); }
  [[nodiscard]] std::uint64_t complete() const { return complete_.load(); }
  [[nodiscard]] std::uint64_t replaced() const { return replaced_.load(); }

 private:
  LargeValueDescriptor write_in_pieces(std::uint64_t value_seed, std::uint64_t size) {
    LargeValueStore::Writer writer = db_.store.begin(size);
    for (std::uint64_t at = 0; at < size;) {
      const std::uint64_t piece = std::min(size - at, std::uint64_t{64} * 1024);
      writer.append(pattern(value_seed, piece, at));
      at += piece;
    }
    return writer.finish();
  }

  ReadOutcome read_some(const Record::Content& content, Random& random) {
    const std::uint64_t size = content.value.size_bytes();
    const bool whole = random.one_in(2);
    const std::uint64_t offset = whole ? 0 : random.below(size);
    const std::uint64_t length = whole ? size : 1 + random.below(size - offset);
    std::string found;
    const ReadOutcome outcome = whole ? db_.store.read_all(content.value, found)
                                      : read_piece(db_.store, content.value, offset, length, found);
    if (outcome == ReadOutcome::replaced) {
      replaced_.fetch_add(1);
    } else {
      complete_.fetch_add(1);
      EXPECT_TRUE(found == pattern(content.seed, length, offset))
          << "bytes of something else: " << print_descriptor(content.value);
    }
    return outcome;
  }

  LargeValueFile& db_;
  std::array<Record, 4> records_;
  std::atomic<int> writers_left_{0};
  std::atomic<std::uint64_t> complete_{0};
  std::atomic<std::uint64_t> replaced_{0};
};

void replace_while_reading(LargeValueFile& db, std::uint64_t seed) {
  constexpr int kWriters = 2;
  constexpr std::size_t kReaders = 3;
  constexpr int kReplacements = 100;
  db.store.free(db.store.write("an empty file has no map page yet"));
  const std::uint64_t allocated = db.allocated();
  Replacement replacement(db);
  replacement.expect_writers(kWriters);
  palimpsest::test::run_threads(kWriters + 1 + kReaders, [&](std::size_t thread) {
    if (thread < kWriters) {
      replacement.write(thread, kReplacements, seed);
    } else if (thread == kWriters) {
      replacement.write_deferred();
    } else {
      replacement.read(thread, seed);
    }
  });
  replacement.finish();
  EXPECT_GT(replacement.complete(), 0U);
  EXPECT_GT(replacement.replaced(), 0U);
  EXPECT_EQ(db.allocated(), allocated);
}

/// On a simulated disk; `more`: what LargeValueFile::create() takes besides the page size.
template <class... More>
void replace_on_simulated_disk(More&&... more) {
  const std::uint64_t seed = palimpsest::test::seed();
  palimpsest::test::SimOptions options;
  options.seed = seed;
  const palimpsest::test::SimDisk disk(options);
  const auto device = disk.device();
  const auto db = LargeValueFile::create(*device, 4096, std::forward<More>(more)...);
  replace_while_reading(*db, seed);
}

TEST(LargeValueStress, ReplacedWhileReadOnTheSimulatedDisk) {
  replace_on_simulated_disk();
}

// Some values fit the frames and some do not; some wait to be written, and make space for new ones.
TEST(LargeValueStress, ReplacedWhileReadFromFrames) {
  const palimpsest::test::SimDisk disk;
  const auto device = disk.device();
  wal::test::OpenLog log(*device);
  replace_on_simulated_disk(160U, log.log());
  replace_on_simulated_disk(2048U, log.log());
}

TEST(LargeValueStress, ReplacedWhileReadOnARealFile) {
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) /
      ("large_value_stress." + std::to_string(std::random_device{}()));
  {
    io::PosixDevice device(directory.string(), true);
    const auto db = LargeValueFile::create(device, 65536);
    replace_while_reading(*db, palimpsest::test::seed());
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace palimpsest::btree::test
