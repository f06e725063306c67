// A system that starts no more threads: a call that needs one reports it, and nothing is lost.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "palimpsest/error.h"
#include "palimpsest/function_ref.h"

#include "base/sync_point.h"
#include "bulk/sort/external_sort.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/child_process.h"
#include "tests/support/sim_disk.h"
#include "tests/support/system_call_filter.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::CrashKeeps;
using palimpsest::test::forbid_calls;
using palimpsest::test::run_in_child;
using palimpsest::test::SimDisk;

constexpr int kToldSo = 0;
constexpr int kNoFilter = 1;
constexpr int kDone = 2;
constexpr int kOther = 3;

int what_comes_of(FunctionRef<void()> call) {
  try {
    call();
  } catch (const Error& error) {
    const bool says_why = std::string_view(error.what()).starts_with("cannot start a thread that ");
    return error.code() == ErrorCode::out_of_memory && says_why ? kToldSo : kOther;
  }
  return kDone;
}

/// From now on this thread cannot start another.
[[nodiscard]] bool forbid_threads() {
  return forbid_calls({SCMP_SYS(clone), SCMP_SYS(clone3)}, EAGAIN);
}

/// Runs the call in a process that can start no threads; returns the exit status.
int without_threads(FunctionRef<void()> call) {
  return run_in_child([&] { return forbid_threads() ? what_comes_of(call) : kNoFilter; });
}

void open_once(io::Device& device) {
  static_cast<void>(Engine::open(device, device, small_options()));
}

TEST(ThreadLimit, ADatabaseIsNotOpenedWithoutItsThreads) {
  SimDisk disk;
  const auto device = disk.device();
  EXPECT_EQ(without_threads([&] { open_once(*device); }), kToldSo);
}

TEST(ThreadLimit, RecoveryComesLater) {
  SimDisk disk;
  {
    const auto device = disk.device();
    const auto database = Engine::open(*device, *device, small_options());
    btree::BTree* const tree = database->make_tree("records");
    const auto by = database->begin();
    for (int i = 0; i < 1000; ++i) {
      ASSERT_FALSE(by->insert(*tree, fmt::format("key{:06}", i), std::string(100, 'v')).existed);
    }
    by->commit();
    disk = disk.crash(1, CrashKeeps::nothing);
  }
  const auto device = disk.device();
  EXPECT_EQ(without_threads([&] { open_once(*device); }), kToldSo);
  const auto database = Engine::open(*device, *device, small_options());
  EXPECT_TRUE(database->recovery().was_needed);
  EXPECT_EQ(content_of(*database->find_tree("records")).size(), 1000U);
}

TEST(ThreadLimit, ASortSaysSoOnceItNeedsThem) {
  SimDisk disk;
  const auto device = disk.device();
  const auto sort_some = [&](std::size_t threads) {
    bulk::ExternalSort sort(*device, {.memory_bytes = std::size_t{1} << 20U, .threads = threads});
    for (int i = 0; i < 100'000; ++i) {
      sort.add(fmt::format("key{:06}", i), "value");
    }
    sort.finish();
  };
  EXPECT_EQ(without_threads([&] { sort_some(2); }), kToldSo);
  EXPECT_EQ(without_threads([&] { sort_some(0); }), kDone);
}

#ifdef PALIMPSEST_SYNC_POINTS

// A sort that continues saved runs starts its threads in the constructor: if the second one fails,
// no destructor ends the first.
TEST(ThreadLimit, AThreadThatCannotBeStartedEndsTheRunningOnes) {
  SimDisk disk;
  const auto device = disk.device();
  bulk::SortOptions options{
      .memory_bytes = std::size_t{1} << 20U, .threads = 2, .kept_name = "kept"};
  bulk::SavedSort saved;
  {
    bulk::ExternalSort sort(*device, options);
    sort.add("key", "value");
    saved = sort.save();
  }
  options.saved = &saved;
  const int came = run_in_child([&] {
    int starts = 0;
    bool is_forbidden = false;
    const SyncHook second("sort.thread.starts",
                          [&] { is_forbidden = ++starts == 2 && forbid_threads(); });
    const int outcome = what_comes_of([&] { bulk::ExternalSort(*device, options); });
    return is_forbidden ? outcome : kNoFilter;
  });
  EXPECT_EQ(came, kToldSo);
}

#endif

}  // namespace
}  // namespace palimpsest::engine::test
