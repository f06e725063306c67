#include "tools/load/tables_together.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "tools/load/interrupt.h"

namespace palimpsest::load {
namespace {

constexpr std::size_t kTables = 20;

/// Works on all tables; what the work throws for some is for `fail` to say.
template <class Fail>
WorkTogether work_on_all(std::size_t threads, std::set<std::size_t>& done, const Fail& fail) {
  std::mutex mutex;
  return work_together(kTables, threads, [&](std::size_t table) {
    fail(table);
    const std::lock_guard lock(mutex);
    done.insert(table);
  });
}

TEST(TablesTogetherTest, EachIsDoneOnce) {
  for (const std::size_t threads : {std::size_t{1}, std::size_t{3}, std::size_t{50}}) {
    std::set<std::size_t> done;
    const WorkTogether work = work_on_all(threads, done, [](std::size_t) {});
    EXPECT_EQ(done.size(), kTables);
    EXPECT_TRUE(work.failures.empty());
    EXPECT_EQ(work.not_begun, 0U);
  }
}

TEST(TablesTogetherTest, AFailureOfOneTableLeavesTheRest) {
  std::set<std::size_t> done;
  const WorkTogether work = work_on_all(3, done, [](std::size_t table) {
    if (table == 11) {
      throw Error(ErrorCode::corruption, "a page is damaged");
    }
    if (table == 4) {
      throw std::runtime_error("a header means nothing");
    }
  });
  EXPECT_EQ(done.size(), kTables - 2);
  ASSERT_EQ(work.failures.size(), 2U);
  EXPECT_EQ(work.failures[0].table, 4U);
  EXPECT_EQ(work.failures[0].code, ErrorCode::invalid_argument);
  EXPECT_EQ(work.failures[1].table, 11U);
  EXPECT_EQ(work.failures[1].code, ErrorCode::corruption);
  EXPECT_EQ(work.failures[1].message, "corruption: a page is damaged");
}

TEST(TablesTogetherTest, AFullDiskBeginsNoFurtherTable) {
  std::set<std::size_t> done;
  const WorkTogether work = work_on_all(1, done, [](std::size_t table) {
    if (table == 5) {
      throw Error(ErrorCode::no_space, "the disk is full");
    }
  });
  EXPECT_EQ(done.size(), 5U);
  EXPECT_EQ(work.not_begun, kTables - 6);
}

TEST(TablesTogetherTest, AnInterruptEndsAll) {
  std::set<std::size_t> done;
  EXPECT_THROW(static_cast<void>(work_on_all(2, done,
                                             [](std::size_t table) {
                                               if (table == 3) {
                                                 throw Interrupted();
                                               }
                                             })),
               Interrupted);
  EXPECT_FALSE(done.contains(3));
}

TEST(TablesTogetherTest, OneMessageHasAllFailures) {
  const std::vector<std::string> names{"a", "b", "c", "d"};
  require_all({}, names, "loaded", "");
  const WorkTogether work{
      .not_begun = 1,
      .failures = {
          {.table = 0, .code = ErrorCode::no_space, .message = "no_space: the disk is full"},
          {.table = 2, .code = ErrorCode::corruption, .message = "corruption: a page is damaged"}}};
  try {
    require_all(work, names, "loaded", "; go on");
    FAIL() << "it does not fail";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_space);
    EXPECT_STREQ(
        error.what(),
        "2 of 4 tables could not be loaded, and 1 were not begun; \"a\": no_space: the disk "
        "is full; \"c\": corruption: a page is damaged; go on");
  }
}

}  // namespace
}  // namespace palimpsest::load
