#include "engine/api/effective_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <string_view>
#include <utility>

#include "palimpsest/error.h"

#include "buffer/page_header.h"
#include "engine/version_share.h"
#include "wal/log_store.h"

namespace palimpsest::engine {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

// Defaults of options that are left open:
constexpr std::uint64_t kShareOfMemory = 4;
/// Pages that stay in memory and change are written once per checkpoint: with a log as large as the
/// memory, that was a quarter of all writes of a TPC-C larger than memory (decision 023).
constexpr std::uint64_t kOwnLogShare = 4;
constexpr std::uint64_t kOwnLogBytesMin = 256 * kMiB;
constexpr std::uint64_t kOwnLogBytesMax = 4 * kGiB;
/// Half of these threads wait for pages.
constexpr std::size_t kOwnRecoveryThreadsPerProcessor = 2;
constexpr std::size_t kOwnRecoveryThreadsMax = 32;

// Limits that no other folder defines:
constexpr std::uint64_t kVersionsShareMost = 2;
constexpr std::uint64_t kLogBytesMax = 1024 * kGiB;
constexpr std::uint64_t kSegmentBytes = 8 * kMiB;
constexpr std::uint64_t kSegmentsOfSmallLogs = 16;
constexpr std::uint32_t kTransactionsMin = 4;
constexpr std::uint32_t kTransactionsMax = 65'535;
constexpr std::size_t kRecoveryThreadsMax = 256;
constexpr std::chrono::seconds kRecoveryTimeMax = std::chrono::hours(24);
constexpr std::chrono::milliseconds kIntervalMax = std::chrono::minutes(1);
constexpr std::chrono::milliseconds kPatienceMax = std::chrono::hours(24 * 365);

[[noreturn]] void refuse(std::string_view option, std::string_view value, std::string_view limit) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("option {} is {}: {}", option, value, limit));
}

std::string text_of(std::uint64_t number) {
  return fmt::format("{}", number);
}
std::string text_of(bool value) {
  return value ? "true" : "false";
}
std::string text_of(std::chrono::milliseconds time) {
  return fmt::format("{} ms", time.count());
}
std::string text_of(std::chrono::seconds time) {
  return fmt::format("{} s", time.count());
}

/// For reasons, where the number need not be exact.
std::string rounded(std::uint64_t bytes) {
  return bytes >= kGiB ? fmt::format("{:.1f} GiB", static_cast<double>(bytes) / double{kGiB})
                       : fmt::format("{} MiB", bytes / kMiB);
}

template <class Type>
void require_between(std::string_view option, Type value, Type least, Type most,
                     std::string_view why = {}) {
  if (value < least || value > most) {
    refuse(option, text_of(value),
           fmt::format("it must be from {} to {}{}", text_of(least), text_of(most), why));
  }
}

/// Evaluates the options in their order; each may use the ones before.
class Reckoning {
 public:
  Reckoning(const Options& options, const io::Machine& machine, EffectiveOptions& effective)
      : options_(options), machine_(machine), effective_(effective) {}

  void run() {
    // First the options that limit later ones:
    const std::uint32_t page_bytes = page_bytes_in_effect();
    memory(page_bytes);
    files(page_bytes);
    commits();
    log(page_bytes);
    recovery();
    transactions();
    devices();
  }

 private:
  void show(std::string_view name, std::string value, std::string reason) {
    effective_.shown.push_back({std::string(name), std::move(value), std::move(reason)});
  }
  /// Shows an option that is in effect as it was given.
  template <class Type>
  void show_as_it_is(std::string_view name, Type value, Type by_default) {
    show(name, text_of(value), value == by_default ? "default" : "set");
  }

  [[nodiscard]] std::uint32_t page_bytes_in_effect() const;
  struct MemoryThere {
    std::uint64_t bytes = 0;  ///< 0: unknown
    std::string_view whose;
  };
  [[nodiscard]] MemoryThere memory_there() const;
  [[nodiscard]] std::string memory_of_machine(std::uint64_t least);
  void require_in_machine() const;
  void memory(std::uint32_t page_bytes);
  void versions();
  void files(std::uint32_t page_bytes);
  void commits();
  void isolation();
  void log(std::uint32_t page_bytes);
  void recovery();
  void transactions();
  void devices();

  const Options& options_;
  const io::Machine& machine_;
  const Options default_{};
  EffectiveOptions& effective_;
};

std::uint32_t Reckoning::page_bytes_in_effect() const {
  if (options_.page_bytes == 0) {
    return buffer::PageFileOptions{}.page_size_bytes;
  }
  if (!std::has_single_bit(options_.page_bytes) || options_.page_bytes < buffer::kPageSizeMin ||
      options_.page_bytes > buffer::kPageSizeMax) {
    refuse("page_bytes", text_of(std::uint64_t{options_.page_bytes}),
           fmt::format("it must be a power of two from {} to {}", buffer::kPageSizeMin,
                       buffer::kPageSizeMax));
  }
  return options_.page_bytes;
}

Reckoning::MemoryThere Reckoning::memory_there() const {
  const std::uint64_t group = machine_.group_memory_bytes.value_or(machine_.memory_bytes);
  return group < machine_.memory_bytes
             ? MemoryThere{.bytes = group, .whose = "control group"}
             : MemoryThere{.bytes = machine_.memory_bytes, .whose = "machine"};
}

/// Takes a share of the memory, and returns a text that says of which.
std::string Reckoning::memory_of_machine(std::uint64_t least) {
  const auto [all, whose] = memory_there();
  effective_.database.memory_bytes = std::max(all / kShareOfMemory, least);
  const std::string share = fmt::format("a quarter of the {}'s {}", whose, rounded(all));
  return all / kShareOfMemory < least ? "the minimum, more than " + share : share;
}

/// The machine would grant more, but kill the process when most of it is used.
void Reckoning::require_in_machine() const {
  const auto [all, whose] = memory_there();
  if (all != 0 && options_.memory_bytes > all) {
    refuse("memory_bytes", text_of(options_.memory_bytes),
           fmt::format("the {} has {}", whose, all));
  }
}

void Reckoning::memory(std::uint32_t page_bytes) {
  const std::uint64_t least = Engine::memory_bytes_min(page_bytes);
  std::string reason = "set";
  if (options_.memory_bytes == 0) {
    reason = memory_of_machine(least);
  } else if (options_.memory_bytes < least) {
    refuse("memory_bytes", text_of(options_.memory_bytes),
           fmt::format("it must be at least {} with pages of {} bytes", least, page_bytes));
  } else {
    require_in_machine();
    effective_.database.memory_bytes = options_.memory_bytes;
  }
  show("memory_bytes", text_of(effective_.database.memory_bytes), std::move(reason));
  versions();
}

void Reckoning::versions() {
  const std::uint64_t memory = effective_.database.memory_bytes;
  const bool open = options_.version_bytes_max == 0;
  const std::uint64_t bytes = open ? default_version_bytes(memory) : options_.version_bytes_max;
  if (!open) {
    require_between("version_bytes_max", bytes, kVersionBytesMin, memory / kVersionsShareMost,
                    ", half of the memory at most");
  }
  effective_.database.version_bytes_max = bytes;
  show("version_bytes_max", text_of(bytes),
       open ? "a sixteenth of the memory, at least 256 KiB" : "set");
}

void Reckoning::files(std::uint32_t page_bytes) {
  if (options_.must_be_new && !options_.create_if_missing) {
    refuse("must_be_new", "true", "create_if_missing is false, so no database can be created");
  }
  if (options_.must_be_new && options_.read_only) {
    refuse("must_be_new", "true", "read_only is true, so no database can be created");
  }
  effective_.database.create_if_missing = options_.create_if_missing && !options_.read_only;
  effective_.database.must_be_new = options_.must_be_new;
  effective_.database.background_threads = !options_.read_only;
  effective_.database.pages.page_size_bytes = page_bytes;
  show("create_if_missing", text_of(effective_.database.create_if_missing),
       options_.read_only ? "the database is opened read-only"
       : options_.create_if_missing == default_.create_if_missing ? "default"
                                                                  : "set");
  show_as_it_is("must_be_new", options_.must_be_new, default_.must_be_new);
  show_as_it_is("read_only", options_.read_only, default_.read_only);
  show("page_bytes", text_of(std::uint64_t{page_bytes}),
       options_.page_bytes == 0 ? "default" : "set");
  const bool beside = options_.log_directory.empty();
  show("log_directory", beside ? "beside the pages" : options_.log_directory.string(),
       beside ? "default" : "set");
}

void Reckoning::commits() {
  const bool asynchronous = options_.durability == Durability::asynchronous;
  effective_.durability =
      asynchronous ? txn::Durability::asynchronous : txn::Durability::synchronous;
  show("durability", asynchronous ? "asynchronous" : "synchronous",
       asynchronous ? "set" : "default");
  isolation();
  require_between("asynchronous_interval", options_.asynchronous_interval,
                  std::chrono::milliseconds(1), kIntervalMax);
  effective_.database.transactions.asynchronous_interval = options_.asynchronous_interval;
  show_as_it_is("asynchronous_interval", options_.asynchronous_interval,
                default_.asynchronous_interval);
}

void Reckoning::isolation() {
  const Isolation wanted =
      options_.isolation == Isolation::by_default ? default_.isolation : options_.isolation;
  if (!options_.experimental.write_conflicts && wanted == default_.isolation) {
    effective_.isolation = txn::Isolation::none;
    show("isolation", "none", "write conflicts are not detected");
    return;
  }
  effective_.isolation = isolation_of(wanted, txn::Isolation::snapshot);
  show("isolation", std::string(txn::name_of(effective_.isolation)),
       wanted == default_.isolation ? "default" : "set");
  if (!options_.experimental.write_conflicts && effective_.isolation != txn::Isolation::none) {
    refuse("isolation", std::string(txn::name_of(effective_.isolation)),
           "it must be none if write conflicts are not detected (experimental.write_conflicts)");
  }
}

/// Small logs have small segments, so that space is reusable before most of the log is used.
void Reckoning::log(std::uint32_t page_bytes) {
  const std::uint64_t segment_least = Engine::log_segment_bytes_min(page_bytes);
  const std::uint64_t least = segment_least * wal::LogStore::kSegmentsMin;
  const bool open = options_.log_bytes_max == 0;
  const std::uint64_t bytes =
      open ? std::clamp(kOwnLogShare * std::min(effective_.database.memory_bytes, kOwnLogBytesMax),
                        kOwnLogBytesMin, kOwnLogBytesMax)
           : options_.log_bytes_max;
  require_between("log_bytes_max", bytes, least, kLogBytesMax,
                  fmt::format(" with pages of {} bytes", page_bytes));
  effective_.database.log_bytes_max = bytes;
  effective_.database.log_segment_bytes =
      std::clamp(std::bit_floor(bytes / kSegmentsOfSmallLogs), segment_least, kSegmentBytes);
  effective_.database.log_first_segment_bytes = segment_least;
  show("log_bytes_max", text_of(bytes),
       open ? "four times the memory, but 256 MiB to 4 GiB" : "set");
}

void Reckoning::recovery() {
  require_between("recovery_time", options_.recovery_time, std::chrono::seconds(1),
                  kRecoveryTimeMax);
  effective_.database.recovery_time = options_.recovery_time;
  show_as_it_is("recovery_time", options_.recovery_time, default_.recovery_time);
  const bool open = options_.recovery_threads == 0;
  const std::size_t threads =
      open ? std::min(kOwnRecoveryThreadsPerProcessor * machine_.processors, kOwnRecoveryThreadsMax)
           : options_.recovery_threads;
  require_between("recovery_threads", std::uint64_t{threads}, std::uint64_t{1},
                  std::uint64_t{kRecoveryThreadsMax});
  effective_.database.recovery_threads = threads;
  show("recovery_threads", text_of(std::uint64_t{threads}),
       open ? fmt::format("two for each of {} processors, up to {}", machine_.processors,
                          kOwnRecoveryThreadsMax)
            : "set");
  if (options_.progress) {
    effective_.database.progress = [progress = options_.progress](const Progress& now) {
      progress({.phase = static_cast<palimpsest::RecoveryPhase>(now.phase),
                .bytes_done = now.bytes_done,
                .bytes_total = now.bytes_total,
                .estimated_remaining = now.estimated_remaining});
    };
  }
}

void Reckoning::transactions() {
  require_between("max_transactions", std::uint64_t{options_.max_transactions},
                  std::uint64_t{kTransactionsMin}, std::uint64_t{kTransactionsMax});
  effective_.database.max_transactions = options_.max_transactions;
  show_as_it_is("max_transactions", std::uint64_t{options_.max_transactions},
                std::uint64_t{default_.max_transactions});
  const auto patience = [this](std::string_view name, std::chrono::milliseconds time,
                               std::chrono::milliseconds by_default) {
    require_between(name, time, std::chrono::milliseconds(0), kPatienceMax);
    show_as_it_is(name, time, by_default);
  };
  patience("begin_patience", options_.begin_patience, default_.begin_patience);
  patience("autocommit_patience", options_.autocommit_patience, default_.autocommit_patience);
  patience("definition_patience", options_.definition_patience, default_.definition_patience);
  effective_.database.transactions.begin_patience = options_.begin_patience;
  effective_.database.definition_patience = options_.definition_patience;
  effective_.database.transactions.experimental = options_.experimental;
}

void Reckoning::devices() {
  using enum io::DeviceOptions::Preference;
  if (name_of(options_.log_level) == "unknown") {
    refuse("log_level", text_of(std::uint64_t{static_cast<std::uint8_t>(options_.log_level)}),
           "it is debug, info, warning, error or off");
  }
  effective_.device.create = effective_.database.create_if_missing;
  effective_.device.preference = options_.use_io_uring ? automatic : posix;
  show("log", options_.log ? "a function" : "standard error", options_.log ? "set" : "default");
  show("log_level", std::string(name_of(options_.log_level)),
       options_.log_level == default_.log_level ? "default" : "set");
  show_as_it_is("use_io_uring", options_.use_io_uring, default_.use_io_uring);
  show_as_it_is("experimental.write_conflicts", options_.experimental.write_conflicts,
                default_.experimental.write_conflicts);
  show_as_it_is("experimental.versions", options_.experimental.versions,
                default_.experimental.versions);
}

static_assert(static_cast<int>(palimpsest::RecoveryPhase::analysis) ==
                      static_cast<int>(RecoveryPhase::analysis) &&
                  static_cast<int>(palimpsest::RecoveryPhase::redo) ==
                      static_cast<int>(RecoveryPhase::redo) &&
                  static_cast<int>(palimpsest::RecoveryPhase::undo) ==
                      static_cast<int>(RecoveryPhase::undo),
              "the public phases are those of the engine");

}  // namespace

txn::Isolation isolation_of(Isolation wanted, txn::Isolation by_default) noexcept {
  switch (wanted) {
    case Isolation::none: return txn::Isolation::none;
    case Isolation::read_committed: return txn::Isolation::read_committed;
    case Isolation::snapshot: return txn::Isolation::snapshot;
    case Isolation::serializable: return txn::Isolation::serializable;
    case Isolation::by_default: break;
  }
  return by_default;
}

// An existing database retains its page size, and its log its segment size.
void show_as_opened(std::vector<EffectiveOption>& shown, Engine& database) {
  const std::string page_bytes = text_of(std::uint64_t{database.file().page_size_bytes()});
  const std::string log_bytes = text_of(database.log_bytes_max());
  for (EffectiveOption& option : shown) {
    if (option.name == "page_bytes" && option.value != page_bytes) {
      option.value = page_bytes;
      option.reason = "of the database";
    }
    if (option.name == "log_bytes_max" && option.value != log_bytes) {
      option.value = log_bytes;
      option.reason += fmt::format(", in whole segments of {} bytes, at least {}",
                                   database.log_segment_bytes(), wal::LogStore::kSegmentsMin);
    }
  }
}

EffectiveOptions effective_options(const Options& options, const io::Machine& machine) {
  EffectiveOptions effective;
  Reckoning(options, machine, effective).run();
  return effective;
}

}  // namespace palimpsest::engine

namespace palimpsest {

std::vector<EffectiveOption> explain(const Options& options) {
  return engine::effective_options(options, io::this_machine()).shown;
}

}  // namespace palimpsest
