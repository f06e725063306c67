// Measures recovery's passes over a log: bytes of log a second and core, with the log in the
// operating system's cache and all pages in redo's memory.
//
// usage: redo_bench <empty directory> [log MiB, default 512] [workers, default 1] [records, default
//        100000] [rounds of redo, default 1] [percent of whole changes, default 0]
// The log is that of eight slots that insert records of 8-byte keys and 120-byte values, one after
// the other into 64 trees, and then change random ones, ten changes to a transaction: 8 of the 120
// bytes, or, in a percentage of cases, all of them, as inserts and other long records are. After
// replay every page is compared with what was logged.
#include <fmt/core.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/io/open_device.h"
#include "base/random.h"
#include "base/worker_slots.h"
#include "btree/log/tree_record_format.h"
#include "buffer/page_file.h"
#include "buffer/page_writer.h"
#include "engine/recovery/analysis.h"
#include "engine/recovery/redo.h"
#include "experiments/micro/arguments.h"
#include "experiments/micro/logged_forest.h"
#include "wal/log.h"
#include "wal/log_reader.h"
#include "wal/log_store.h"
#include "wal/transaction_log.h"

namespace {

using namespace palimpsest;
using experiments::LoggedForest;

constexpr std::uint32_t kPageSize = 4096;
constexpr std::uint32_t kTrees = 64;
constexpr std::uint32_t kSlots = 8;
constexpr std::uint64_t kChangesPerTransaction = 10;
constexpr std::size_t kValueBytes = 120;

struct Workload {
  std::uint64_t log_bytes;
  std::size_t workers;
  std::uint64_t records;
  std::uint64_t rounds;
  std::uint64_t whole_percent;
};

double cpu_seconds(int of = RUSAGE_SELF) {
  rusage usage{};
  getrusage(of, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Runs `call` and prints its time for so many bytes of log.
template <class Call>
auto measure(const char* what, std::uint64_t bytes, Call call) {
  const double cpu_before = cpu_seconds();
  const double own_before = cpu_seconds(RUSAGE_THREAD);
  const auto before = std::chrono::steady_clock::now();
  auto result = call();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - before;
  const double cpu = cpu_seconds() - cpu_before;
  const double own = cpu_seconds(RUSAGE_THREAD) - own_before;
  const double megabytes = static_cast<double>(bytes) * 1e-6;
  fmt::print(
      "{:10} {:6.2f} s  {:7.0f} MB/s   processor {:6.2f} s  {:7.0f} MB/s and core, {:6.2f} s of it "
      "in the calling thread\n",
      what, wall.count(), megabytes / wall.count(), cpu, megabytes / cpu, own);
  return result;
}

std::string key_of(std::uint64_t number) {
  std::string key(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    key[i] = static_cast<char>(number >> (56 - 8 * i));
  }
  return key;
}

/// Writes the log and keeps the resulting pages.
class Writer {
 public:
  Writer(io::Device& device, PageId first_page)
      : store_(wal::LogStore::create(device, Uuid{7},
                                     {.segment_bytes = 64U << 20U, .segments_max = 512})) {
    wal::LogReader reader(store_.segments(), store_.control().state());
    log_ = wal::Log::begin(store_, reader.find_end(), clock_, slots_, {});
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      const SlotId slot = slots_.claim(SlotId{i}).value();
      slots_[slot].merge(clock_.now());
      transactions_.push_back(std::make_unique<wal::TransactionLog>(*log_, clock_, slot));
    }
    reserve();
    forest_ = std::make_unique<LoggedForest>(
        kPageSize, first_page, kTrees, [this](bool of_transaction, Gsn at_least, ConstBytes body) {
          return append(of_transaction, at_least, body);
        });
  }

  void run(const Workload& workload) {
    Random random(42);
    for (std::uint64_t number = 0; number < workload.records; ++number) {
      begin(number);
      forest_->insert(tree_of(number), key_of(number), std::string(kValueBytes, 'v'));
    }
    for (std::uint64_t n = 0; log_->statistics().stream_bytes < workload.log_bytes; ++n) {
      begin(n);
      const std::uint64_t number = random.below(workload.records);
      std::string value = forest_->find(tree_of(number), key_of(number)).value();
      const std::size_t changed = random.below(100) < workload.whole_percent ? kValueBytes : 8;
      const std::size_t from = random.below((kValueBytes - changed) / 8 + 1) * 8;
      for (std::size_t at = from; at < from + changed; at += 8) {
        const std::uint64_t bytes = random();
        std::memcpy(value.data() + at, &bytes, sizeof bytes);
      }
      forest_->update(tree_of(number), key_of(number), value);
    }
    for (auto& transaction : transactions_) {
      if (transaction->has_changes()) {
        transaction->append_commit();
      }
    }
    log_->wait_durable(clock_.now());  // commits have drawn their timestamps from it
  }

  /// Call this after the last change.
  [[nodiscard]] std::unique_ptr<LoggedForest> take_forest() { return std::move(forest_); }

 private:
  static std::uint32_t tree_of(std::uint64_t number) {
    return static_cast<std::uint32_t>(number % kTrees);
  }
  void begin(std::uint64_t number) {
    current_ = number / kChangesPerTransaction % kSlots;
    if (number % kChangesPerTransaction == 0 && transactions_[current_]->has_changes()) {
      transactions_[current_]->append_commit();
    }
    reserve();
  }
  void reserve() {
    static_cast<void>(transactions_[current_]->try_reserve(
        {.change_bytes = btree::max_record_change_bytes(kPageSize),
         .system_bytes = kTrees * btree::max_record_bytes(kPageSize) / 8},
        [] { return false; }));
  }
  Gsn append(bool of_transaction, Gsn at_least, ConstBytes body) {
    const auto encode = [&](MutableBytes into) {
      std::memcpy(into.data(), body.data(), body.size());
    };
    wal::TransactionLog& log = *transactions_[current_];
    return of_transaction ? log.append_change(at_least, wal::BodyKind::tree, body.size(), encode)
                          : log.append_system(at_least, wal::BodyKind::tree, body.size(), encode);
  }

  wal::LogStore store_;
  Clock clock_;
  WorkerSlots slots_{kSlots};
  std::unique_ptr<wal::Log> log_;
  std::vector<std::unique_ptr<wal::TransactionLog>> transactions_;
  std::size_t current_ = 0;
  std::unique_ptr<LoggedForest> forest_;
};

/// The pages whose content is not what the forest has.
std::size_t count_wrong_pages(buffer::PageFile& file, const LoggedForest& forest) {
  const AlignedMemory page(kPageSize, kPageSize);
  std::size_t wrong = 0;
  for (const auto& [id, expected] : forest.pages()) {
    file.read_page(id, page.bytes());
    const std::size_t from = sizeof(buffer::PageHeader);
    const bool same =
        std::memcmp(page.data() + from, expected.data() + from, kPageSize - from) == 0 &&
        buffer::header_of(page.bytes()).gsn == buffer::header_of(expected.bytes()).gsn;
    wrong += same ? 0U : 1U;
  }
  return wrong;
}

int run(const std::string& directory, const Workload& workload) {
  const auto device = io::open_device(directory, {.create = true});
  const auto file = buffer::PageFile::create(*device, "pages", {.page_size_bytes = kPageSize});
  auto writer = std::make_unique<Writer>(*device, file->first_page());
  writer->run(workload);
  const std::unique_ptr<const LoggedForest> forest = writer->take_forest();
  writer.reset();

  const wal::LogStore store = wal::LogStore::open(*device, {.segments_max = 512}, false);
  wal::LogReader reader(store.segments(), store.control().state());
  const std::uint64_t bytes =
      measure("find_end", workload.log_bytes, [&] { return reader.find_end().bytes; });
  const auto analysis = measure(
      "analysis", bytes, [&] { return engine::analyse(reader, {.page_size_bytes = kPageSize}); });
  std::size_t wrong = 0;
  for (std::uint64_t round = 0; round < workload.rounds; ++round) {
    const auto pages = buffer::PageFile::create(*device, fmt::format("pages{}", round),
                                                {.page_size_bytes = kPageSize});
    buffer::PageWriter page_writer(*pages);
    const auto redone = measure("redo", bytes, [&] {
      return engine::redo(reader, analysis, *pages, page_writer,
                          {.memory_bytes = std::size_t{1} << 30U, .workers = workload.workers});
    });
    fmt::print("{} MB of log, {} records, {} changes of pages, {} pages written, {} losers\n",
               bytes / 1'000'000, analysis.records, redone.changes_applied, redone.pages_written,
               analysis.losers.size());
    wrong += count_wrong_pages(*pages, *forest);
  }
  fmt::print("{} of {} pages are wrong\n", wrong, workload.rounds * forest->pages().size());
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

Workload workload_of(const experiments::Arguments& arguments) {
  constexpr std::uint64_t kLogMibMax = 1U << 20U;
  constexpr std::uint64_t kWorkersMax = 256;
  constexpr std::uint64_t kRecordsMax = 1'000'000'000;
  constexpr std::uint64_t kRoundsMax = 1'000'000;
  arguments.check_places(6);
  return {.log_bytes = arguments.number(2, "log MiB", 1, kLogMibMax, 512) << 20U,
          .workers = arguments.number(3, "workers", 1, kWorkersMax, 1),
          .records = arguments.number(4, "records", 1, kRecordsMax, 100'000),
          .rounds = arguments.number(5, "rounds", 1, kRoundsMax, 1),
          .whole_percent = arguments.number(6, "percent of whole changes", 0, 100, 0)};
}

}  // namespace

int main(int count, char** words) {
  try {
    const experiments::Arguments arguments(count, words);
    return run(arguments.text(1), workload_of(arguments));
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr,
               "redo_bench: {}\nusage: redo_bench <empty directory> [log MiB] [workers] [records] "
               "[rounds] [percent of whole changes]\n",
               error.what());
    return EXIT_FAILURE;
  } catch (const std::exception& error) {
    fmt::print(stderr, "redo_bench: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
