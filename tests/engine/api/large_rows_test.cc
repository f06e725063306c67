// Rows outside their pages, by every way of reading, with memory for some of them; and while other
// threads replace them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/database.h"

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/thread_group.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;

constexpr std::int64_t kRows = 6'000;

/// Repeats row and time all along; some bodies lie in their pages, most do not.
std::string body_of(std::int64_t id, std::uint64_t time) {
  const std::string word = std::to_string(id) + "." + std::to_string(time) + ";";
  const std::size_t bytes = 500 + static_cast<std::size_t>(id) * 37 % 9'000;
  std::string body;
  while (body.size() < bytes) {
    body += word;
  }
  return body;
}
/// The time of a body; nothing if it is not one complete body of that row.
std::optional<std::uint64_t> time_of(std::int64_t id, std::string_view body) {
  const std::size_t dot = body.find('.');
  if (dot == std::string_view::npos) {
    return std::nullopt;
  }
  const std::uint64_t time =
      std::strtoull(std::string(body.substr(dot + 1, 20)).c_str(), nullptr, 10);
  return body == body_of(id, time) ? std::optional(time) : std::nullopt;
}

class LargeRows : public ::testing::Test {
 protected:
  LargeRows() { open(); }

  void open() {
    table_.reset();
    database_.reset();
    database_.emplace(Database::open(directory_.path(), options()));
    table_ = !database_->tables().empty()
                 ? database_->table("body")
                 : database_->create_table({.name = "body",
                                            .columns = {{"id", int64()}, {"body", bytes(20'000)}},
                                            .key = {"id"}});
  }
  static Options options() {
    Options options;
    options.memory_bytes = std::uint64_t{16} << 20U;  // half of the rows
    options.durability = Durability::asynchronous;
    return options;
  }
  void load() {
    for (std::int64_t id = 0; id < kRows;) {
      Transaction in = database_->begin();
      for (int i = 0; i < 200; ++i, ++id) {
        const std::string body = body_of(id, 0);
        table_->insert(in, {id, body}).require();
      }
      in.commit();
    }
  }
  static void expect_is(std::int64_t id, const RowView& row, std::uint64_t time = 0) {
    ASSERT_EQ(row["id"].as_integer(), id);
    EXPECT_EQ(time_of(id, row["body"].as_bytes()), time) << "row " << id;
  }

  test::TemporaryDirectory directory_;
  std::optional<Database> database_;
  std::optional<Table> table_;
};

TEST_F(LargeRows, AreReadByEveryWay) {
  load();
  database_->close();
  open();
  std::int64_t next = 0;
  for (Cursor cursor = table_->cursor(); cursor.valid(); cursor.next()) {
    expect_is(next++, cursor.row());
  }
  EXPECT_EQ(next, kRows);
  table_->visit(
      Range::all(),
      [&](const RowView& row) {
        expect_is(--next, row);
        return true;
      },
      Direction::backward);
  EXPECT_EQ(next, 0);
  table_->visit(Range::all(), [&](const RowView& row) {
    expect_is(next++, row);
    return next < kRows / 2;
  });
  EXPECT_EQ(next, kRows / 2);
  Random random(test::seed());
  for (int i = 0; i < 100; ++i) {
    std::vector<std::int64_t> ids;
    std::vector<Key> keys;
    const auto first = static_cast<std::int64_t>(random.below(kRows));
    for (std::int64_t k = 0; k < 40; ++k) {
      ids.push_back(i % 2 == 0 ? first + k : static_cast<std::int64_t>(random.below(kRows + 10)));
      keys.push_back({ids.back()});
    }
    for (const bool visits : {false, true}) {
      std::size_t shown = 0;
      const auto show = [&](std::size_t number, const RowView& row) {
        ++shown;
        expect_is(ids[number], row);
      };
      visits ? table_->visit_many(keys, show) : table_->read_many(keys, show);
      EXPECT_EQ(shown, static_cast<std::size_t>(
                           std::ranges::count_if(ids, [](std::int64_t id) { return id < kRows; })));
    }
  }
}

// Each reader of a row sees it whole, and none of an older time than it has seen before.
TEST_F(LargeRows, AreReadWhileOtherThreadsReplaceThem) {
  load();
  constexpr std::int64_t kChanged = 400;
  const std::uint64_t seed = test::seed();
  std::atomic<int> writers_left{2};
  test::run_threads(5, [&](std::size_t thread) {
    Random random(seed + thread);
    if (thread < 2) {
      for (std::uint64_t time = 1; time <= 8; ++time) {
        for (auto id = static_cast<std::int64_t>(thread); id < kChanged; id += 2) {
          const std::string body = body_of(id, time);
          Transaction in = database_->begin();
          table_->upsert(in, {id, body}).require();
          if (random.one_in(4)) {
            in.rollback();
            table_->upsert({id, body}).require();
          } else {
            in.commit();
          }
        }
      }
      writers_left.fetch_sub(1);
      return;
    }
    std::vector<std::uint64_t> seen(kChanged);
    const auto look = [&](std::int64_t id, const RowView& row) {
      const auto time = time_of(id, row["body"].as_bytes());
      ASSERT_TRUE(time) << "row " << id;
      EXPECT_GE(*time, seen[static_cast<std::size_t>(id)]) << "row " << id;
      seen[static_cast<std::size_t>(id)] = *time;
    };
    while (writers_left.load() != 0) {
      if (thread == 2) {
        const auto id = static_cast<std::int64_t>(random.below(kChanged));
        ASSERT_TRUE(table_->read({id}, [&](const RowView& row) { look(id, row); }));
      } else if (thread == 3) {
        std::int64_t id = 0;
        table_->visit(Range::all(), [&](const RowView& row) {
          look(id++, row);
          return id < kChanged;
        });
      } else {
        std::int64_t id = 0;
        for (Cursor cursor = table_->cursor(); id < kChanged; cursor.next()) {
          look(id++, cursor.row());
        }
      }
    }
  });
  database_->close();
  open();
  for (std::int64_t id = 0; id < kChanged; ++id) {
    ASSERT_TRUE(table_->read({id}, [&](const RowView& row) { expect_is(id, row, 8); }));
  }
}

// The pages of rows that a bulk has made, replaces or gives up move like others, or stay.
TEST_F(LargeRows, TheFileBecomesShortWhateverBulksDo) {
  const auto write = [&](Transaction& in, std::int64_t from, std::int64_t to, std::uint64_t time) {
    for (std::int64_t id = from; id < to; ++id) {
      const std::string body = body_of(id, time);
      table_->upsert(in, {id, body}).require();
    }
  };
  const auto expect_times = [&](std::int64_t changed_to, std::uint64_t time) {
    std::int64_t id = kRows / 2;
    table_->visit(Range::all(), [&](const RowView& row) {
      expect_is(id, row, id < changed_to ? time : 0);
      ++id;
      return true;
    });
    EXPECT_EQ(id, kRows);
  };
  const auto expect_short = [](const CompactionReport& report) {
    EXPECT_LE(report.bytes_after, report.bytes_in_use / 10 * 11) << report.pages_unmoved;
  };
  database_->run([&](Transaction& in) { write(in, 0, kRows, 0); }, {.transaction = {.bulk = true}});
  table_->erase_range(Range::up_to({kRows / 2}, Range::Bound::exclusive)).require();
  expect_short(database_->compact());
  expect_times(0, 0);
  for (const bool commits : {false, true}) {
    database_->run([&](Transaction& in) { write(in, 0, kRows / 2, 5); });
    Transaction bulk = database_->begin({.bulk = true});
    write(bulk, kRows / 2, kRows * 3 / 4, 7);
    static_cast<void>(database_->compact());
    for (std::int64_t id = 0; id < kRows / 2; ++id) {
      table_->erase(bulk, {id}).require();
    }
    write(bulk, kRows / 2, kRows * 2 / 3, 9);
    write(bulk, kRows * 2 / 3, kRows * 3 / 4, 9);
    static_cast<void>(database_->compact());
    commits ? bulk.commit() : bulk.rollback();
    if (!commits) {
      table_->erase_range(Range::up_to({kRows / 2}, Range::Bound::exclusive)).require();
    }
    expect_short(database_->compact());
    expect_times(commits ? kRows * 3 / 4 : 0, 9);
    open();
    expect_times(commits ? kRows * 3 / 4 : 0, 9);
  }
}

}  // namespace
}  // namespace palimpsest
