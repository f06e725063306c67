// Options: their effective values on machines of all sizes, how they are shown, and which are
// refused. The smallest allowed values make a database that works.
#include "engine/api/effective_options.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "btree/btree.h"
#include "tests/support/error_of.h"
#include "tests/support/sim_disk.h"
#include "wal/log_store.h"

namespace palimpsest::engine {
namespace {

using namespace std::chrono_literals;
using palimpsest::test::error_of;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

io::Machine machine_of(std::uint64_t memory_bytes, std::size_t processors = 4) {
  return {.memory_bytes = memory_bytes, .processors = processors};
}

EffectiveOptions effective(const Options& options) {
  return effective_options(options, machine_of(64 * kGiB));
}

/// "value: reason" of an option.
std::string shown(const EffectiveOptions& effective, std::string_view name) {
  const auto found = std::ranges::find(effective.shown, name, &EffectiveOption::name);
  return found == effective.shown.end() ? "none" : found->value + ": " + found->reason;
}

void expect_refused(const Options& options, std::string_view message) {
  EXPECT_EQ(error_of([&] { return effective(options); }, message), ErrorCode::invalid_argument)
      << message;
}

TEST(EffectiveOptions, AreShownInTheirOrder) {
  std::vector<std::string> names;
  for (const EffectiveOption& option : effective({}).shown) {
    names.push_back(option.name);
    EXPECT_FALSE(option.value.empty()) << option.name;
    EXPECT_FALSE(option.reason.empty()) << option.name;
  }
  EXPECT_THAT(names, testing::ElementsAre(
                         "memory_bytes", "version_bytes_max", "create_if_missing", "must_be_new",
                         "read_only", "page_bytes", "log_directory", "durability", "isolation",
                         "asynchronous_interval", "log_bytes_max", "recovery_time",
                         "recovery_threads", "max_transactions", "begin_patience",
                         "autocommit_patience", "definition_patience", "log", "log_level",
                         "use_io_uring", "experimental.write_conflicts", "experimental.versions"));
}

TEST(EffectiveOptions, ExplainSaysItOfThisMachine) {
  const auto explained = explain({.max_transactions = 8});
  ASSERT_EQ(explained.size(), effective({}).shown.size());
  EXPECT_THAT(explained[0].reason, testing::HasSubstr("a quarter of the"));
  EXPECT_EQ(explained[13].value + explained[13].reason, "8set");
  EXPECT_EQ(error_of([] { return explain({.max_transactions = 1}); }), ErrorCode::invalid_argument);
}

TEST(EffectiveOptions, VersionsGetAShareOfTheMemory) {
  EXPECT_EQ(shown(effective({.memory_bytes = kGiB}), "version_bytes_max"),
            "67108864: a sixteenth of the memory, at least 256 KiB");
  EXPECT_EQ(shown(effective({.memory_bytes = kGiB, .version_bytes_max = 400 * kMiB}),
                  "version_bytes_max"),
            "419430400: set");
  expect_refused({.memory_bytes = kGiB, .version_bytes_max = 600 * kMiB},
                 "option version_bytes_max is 629145600: it must be from 262144 to 536870912");
  expect_refused({.memory_bytes = kGiB, .version_bytes_max = 1}, "option version_bytes_max is 1:");
}

TEST(EffectiveOptions, WithoutWriteConflictsThereIsNoIsolation) {
  EXPECT_EQ(shown(effective({}), "isolation"), "snapshot: default");
  EXPECT_EQ(shown(effective({.isolation = Isolation::read_committed}), "isolation"),
            "read_committed: set");
  const ExperimentalOptions ignores{.write_conflicts = false};
  EXPECT_EQ(shown(effective({.experimental = ignores}), "isolation"),
            "none: write conflicts are not detected");
  expect_refused({.isolation = Isolation::read_committed, .experimental = ignores},
                 "option isolation is read_committed");
}

TEST(EffectiveOptions, OpenMemoryIsAShareOfTheMachines) {
  const auto found = effective_options({}, machine_of(64 * kGiB));
  EXPECT_EQ(found.database.memory_bytes, 16 * kGiB);
  EXPECT_EQ(shown(found, "memory_bytes"), "17179869184: a quarter of the machine's 64.0 GiB");
}

TEST(EffectiveOptions, TheControlGroupsLimitCountsIfItIsLess) {
  io::Machine machine = machine_of(64 * kGiB);
  machine.group_memory_bytes = 512 * kMiB;
  const auto found = effective_options({}, machine);
  EXPECT_EQ(found.database.memory_bytes, 128 * kMiB);
  EXPECT_EQ(shown(found, "memory_bytes"), "134217728: a quarter of the control group's 512 MiB");
  EXPECT_EQ(error_of([&] { return effective_options({.memory_bytes = 513 * kMiB}, machine); },
                     "the control group has 536870912"),
            ErrorCode::invalid_argument);
  EXPECT_NO_THROW(static_cast<void>(effective_options({.memory_bytes = 512 * kMiB}, machine)));
  machine.group_memory_bytes = 128 * kGiB;
  EXPECT_EQ(effective_options({}, machine).database.memory_bytes, 16 * kGiB);
}

TEST(EffectiveOptions, OnTinyMachinesMemoryIsTheLeast) {
  const auto found = effective_options({}, machine_of(8 * kMiB));
  EXPECT_EQ(found.database.memory_bytes, Engine::memory_bytes_min(4096));
  EXPECT_THAT(shown(found, "memory_bytes"),
              testing::HasSubstr("the minimum, more than a quarter of the machine's"));
}

TEST(EffectiveOptions, OpenLogIsFourTimesTheMemoryWithinBounds) {
  EXPECT_EQ(effective({.memory_bytes = 16 * kMiB}).database.log_bytes_max, 256 * kMiB);
  EXPECT_EQ(effective({.memory_bytes = 300 * kMiB}).database.log_bytes_max, 1200 * kMiB);
  EXPECT_EQ(effective({.memory_bytes = 5 * kGiB}).database.log_bytes_max, 4 * kGiB);
  EXPECT_EQ(effective({.memory_bytes = 64 * kGiB}).database.log_bytes_max, 4 * kGiB);
  EXPECT_EQ(effective({.log_bytes_max = 7 * kMiB}).database.log_bytes_max, 7 * kMiB);
}

TEST(EffectiveOptions, SmallLogsHaveSmallSegments) {
  const auto segment = [](std::uint64_t log, std::uint32_t page = 4096) {
    return effective({.page_bytes = page, .log_bytes_max = log}).database.log_segment_bytes;
  };
  EXPECT_EQ(segment(100 * kGiB), 8 * kMiB);
  EXPECT_EQ(segment(128 * kMiB), 8 * kMiB);
  EXPECT_EQ(segment(127 * kMiB), 4 * kMiB);
  EXPECT_EQ(segment(16 * kMiB), kMiB);
  EXPECT_EQ(segment(std::uint64_t{4} * 65536), 65536U);
  for (std::uint32_t page = 4096; page <= 65536; page *= 2) {
    const std::uint64_t least = Engine::log_segment_bytes_min(page);
    EXPECT_EQ(least % 4096, 0U);
    EXPECT_EQ(segment(4 * least, page), least);
    expect_refused({.page_bytes = page, .log_bytes_max = 4 * least - 1}, "log_bytes_max");
  }
}

TEST(EffectiveOptions, OpenRecoveryThreadsAreTwoForEachProcessor) {
  EXPECT_EQ(effective_options({}, machine_of(kGiB, 3)).database.recovery_threads, 6U);
  EXPECT_EQ(effective_options({}, machine_of(kGiB, 64)).database.recovery_threads, 32U);
  EXPECT_EQ(shown(effective_options({}, machine_of(kGiB, 64)), "recovery_threads"),
            "32: two for each of 64 processors, up to 32");
  EXPECT_EQ(effective({.recovery_threads = 20}).database.recovery_threads, 20U);
}

TEST(EffectiveOptions, WhatIsSetGoesToItsPart) {
  const auto found = effective({.memory_bytes = 50 * kMiB,
                                .create_if_missing = false,
                                .page_bytes = 8192,
                                .log_directory = "/logs",
                                .durability = Durability::asynchronous,
                                .asynchronous_interval = 20ms,
                                .recovery_time = 3s,
                                .max_transactions = 5,
                                .begin_patience = 6ms,
                                .definition_patience = 7ms,
                                .log = [](const LogMessage&) {},
                                .log_level = LogLevel::debug,
                                .use_io_uring = false,
                                .experimental = {.write_conflicts = false, .versions = false}});
  EXPECT_EQ(found.database.memory_bytes, 50 * kMiB);
  EXPECT_FALSE(found.database.create_if_missing);
  EXPECT_FALSE(found.device.create);
  EXPECT_EQ(found.database.pages.page_size_bytes, 8192U);
  EXPECT_EQ(found.durability, txn::Durability::asynchronous);
  EXPECT_EQ(found.database.transactions.asynchronous_interval, 20ms);
  EXPECT_EQ(found.database.recovery_time, 3s);
  EXPECT_EQ(found.database.max_transactions, 5U);
  EXPECT_EQ(found.database.transactions.begin_patience, 6ms);
  EXPECT_EQ(found.database.definition_patience, 7ms);
  EXPECT_FALSE(found.database.transactions.experimental.write_conflicts);
  EXPECT_FALSE(found.database.transactions.experimental.versions);
  EXPECT_EQ(found.device.preference, io::DeviceOptions::Preference::posix);
  EXPECT_EQ(shown(found, "log_directory"), "/logs: set");
  EXPECT_EQ(shown(found, "durability"), "asynchronous: set");
  EXPECT_EQ(shown(found, "recovery_time"), "3 s: set");
  EXPECT_EQ(shown(found, "log"), "a function: set");
  EXPECT_EQ(shown(found, "log_level"), "debug: set");
  EXPECT_EQ(shown(effective({}), "log"), "standard error: default");
  EXPECT_EQ(shown(effective({}), "log_level"), "warning: default");
  EXPECT_EQ(shown(found, "use_io_uring"), "false: set");
  EXPECT_EQ(shown(found, "autocommit_patience"), "1000 ms: default");
  EXPECT_EQ(shown(effective({}), "log_directory"), "beside the pages: default");
}

TEST(EffectiveOptions, WhatIsReadIsNotMade) {
  const auto found = effective({.read_only = true});
  EXPECT_FALSE(found.database.create_if_missing);
  EXPECT_FALSE(found.device.create);
  EXPECT_FALSE(found.database.background_threads);
  EXPECT_EQ(shown(found, "read_only"), "true: set");
  EXPECT_EQ(shown(found, "create_if_missing"), "false: the database is opened read-only");
  expect_refused({.must_be_new = true, .read_only = true}, "must_be_new");
}

TEST(EffectiveOptions, DurabilityByDefaultIsSynchronous) {
  const auto found = effective({.durability = Durability::by_default});
  EXPECT_EQ(found.durability, txn::Durability::synchronous);
  EXPECT_EQ(shown(found, "durability"), "synchronous: default");
}

TEST(EffectiveOptions, ProgressIsPassedOn) {
  std::vector<RecoveryProgress> told;
  const auto found =
      effective({.progress = [&](const RecoveryProgress& now) { told.push_back(now); }});
  found.database.progress({.phase = RecoveryPhase::redo,
                           .bytes_done = 1,
                           .bytes_total = 2,
                           .estimated_remaining = 3ms});
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].phase, palimpsest::RecoveryPhase::redo);
  EXPECT_EQ(told[0].bytes_done, 1U);
  EXPECT_EQ(told[0].bytes_total, 2U);
  EXPECT_EQ(told[0].estimated_remaining, 3ms);
  EXPECT_FALSE(effective({}).database.progress) << "no function is called";
}

TEST(EffectiveOptions, RefusalsNameOptionValueAndLimit) {
  expect_refused({.memory_bytes = 1000}, "option memory_bytes is 1000: it must be at least ");
  expect_refused({.memory_bytes = Engine::memory_bytes_min(65536) - 1, .page_bytes = 65536},
                 "with pages of 65536 bytes");
  expect_refused({.memory_bytes = 64 * kGiB + 1},
                 "option memory_bytes is 68719476737: the machine has 68719476736");
  expect_refused({.memory_bytes = std::numeric_limits<std::uint64_t>::max()}, "the machine has");
  expect_refused({.create_if_missing = false, .must_be_new = true},
                 "option must_be_new is true: create_if_missing is false");
  for (const std::uint32_t page : {1U, 2048U, 4097U, 131072U}) {
    expect_refused({.page_bytes = page}, "it must be a power of two from 4096 to 65536");
  }
  expect_refused({.log_bytes_max = 1000},
                 "option log_bytes_max is 1000: it must be from 262144 to 1099511627776");
  expect_refused({.asynchronous_interval = 0ms},
                 "option asynchronous_interval is 0 ms: it must be from 1 ms to 60000 ms");
  expect_refused({.recovery_time = 0s},
                 "option recovery_time is 0 s: it must be from 1 s to 86400 s");
  expect_refused({.recovery_threads = 257},
                 "option recovery_threads is 257: it must be from 1 to 256");
  expect_refused({.max_transactions = 3},
                 "option max_transactions is 3: it must be from 4 to 65535");
  expect_refused({.begin_patience = -1ms},
                 "option begin_patience is -1 ms: it must be from 0 ms to ");
  expect_refused({.autocommit_patience = std::chrono::milliseconds::max()},
                 "option autocommit_patience is ");
  expect_refused({.definition_patience = -1ms}, "option definition_patience is -1 ms");
}

/// With more data than memory, and more changes than log.
TEST(EffectiveOptions, TheLeastThatIsAllowedWorks) {
  for (std::uint32_t page = 4096; page <= 65536; page *= 4) {
    const auto found = effective({.memory_bytes = Engine::memory_bytes_min(page),
                                  .page_bytes = page,
                                  .log_bytes_max = 4 * Engine::log_segment_bytes_min(page),
                                  .max_transactions = 4});
    const palimpsest::test::SimDisk disk;
    const auto device = disk.device();
    const auto database = Engine::open(*device, *device, found.database);
    btree::BTree* const tree = database->make_tree("t");
    ASSERT_NE(tree, nullptr);
    const std::string value(page / 5, 'v');
    for (int number = 0; number < 300;) {
      try {
        const auto transaction = database->begin();
        ASSERT_FALSE(transaction->insert(*tree, fmt::format("{:04}", number), value).existed);
        transaction->commit();
        ++number;
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::transaction_too_old);  // the small log was full
      }
    }
    database->close();
  }
}

}  // namespace
}  // namespace palimpsest::engine
