// Threads with stacks of 64 KiB: every call has room, whatever the page size, and so have the
// threads that the engine makes.
//
// A stack is painted before each call, so a failure says which call has used how much of it. Not
// built with sanitizers, whose frames are larger.
#include "tests/support/small_stack.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/row_encoder.h"
#include "palimpsest/row_sort.h"

#include "base/thread_blocks.h"
#include "tests/support/child_process.h"
#include "tests/support/system_call_filter.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;

constexpr std::size_t kStackBytes = 64 << 10;
/// Of that, a call may use so much, with what the C library has in a thread: what is left is for
/// the caller's own functions.
constexpr std::size_t kUsedMax = 48 << 10;

TableSchema things() {
  return {.name = "things",
          .columns = {{"id", int64()},
                      {"name", varchar(8'192)},
                      {"group", varchar(8'192)},
                      {"amount", int64()},
                      {"text", varchar(2'000'000)}},
          .key = {"id"}};
}

class SmallStackTest : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  SmallStackTest() { open(); }
  void TearDown() override {
    if (std::getenv("PALIMPSEST_STACK_REPORT") != nullptr) {
      std::ranges::sort(used_, std::greater<>());
      for (const auto& [bytes, what] : used_) {
        std::printf("%6zu %s\n", bytes, what.c_str());
      }
    }
  }

  [[nodiscard]] std::uint32_t page_bytes() const { return GetParam(); }
  [[nodiscard]] Options options() const {
    return {.memory_bytes = 16 << 20,
            .version_bytes_max = 8 << 20,
            .page_bytes = page_bytes(),
            .recovery_threads = 2};
  }
  void open() {
    database_.reset();
    database_.emplace(Database::open(directory_.path("db"), options()));
  }

  /// Does it in a thread with a small stack.
  void call(const std::string& what, FunctionRef<void()> work) {
    try {
      const std::size_t used = stack_.run(work);
      used_.emplace_back(used, what);
      EXPECT_LE(used, kUsedMax) << what;
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": " << error.what();
    }
  }

  /// Values and keys only view a text.
  [[nodiscard]] const std::string& keep(std::string text) {
    return texts_.emplace_back(std::move(text));
  }
  /// As long as keys can be.
  [[nodiscard]] const std::string& long_key(char first) {
    return keep(first + std::string(page_bytes() / 8 - 1, 'k'));
  }
  /// Of an index: its entry has more than the text.
  [[nodiscard]] const std::string& long_name(std::int64_t id) {
    return keep(std::to_string(id) + std::string(page_bytes() / 8 - 64, 'n'));
  }
  /// That just lies in its leaf.
  [[nodiscard]] const std::string& leaf_value(char fill) {
    return keep(std::string(page_bytes() / 8 - 16, fill));
  }

  struct Size {
    std::string name;
    std::string key;
    std::string value;
  };
  static std::string named(std::string_view what, std::string_view size, std::string_view level) {
    return std::string(what).append(" ").append(size).append(", ").append(level);
  }
  void write_blobs(Transaction& in, const std::vector<Size>& sizes, const std::string& level);
  void walk_blobs(Transaction& in, const std::vector<Size>& sizes, const std::string& level);
  void use_blobs(const std::string& level, Isolation isolation, bool bulk);
  void use_things(const std::string& level, Isolation isolation, bool bulk);

  test::TemporaryDirectory directory_;
  test::SmallStack stack_{kStackBytes};
  std::optional<Database> database_;
  std::deque<std::string> texts_;
  std::vector<std::pair<std::size_t, std::string>> used_;
};

void SmallStackTest::write_blobs(Transaction& in, const std::vector<Size>& sizes,
                                 const std::string& level) {
  const Table blobs = database_->table("blobs");
  for (const auto& [size, key, value] : sizes) {
    call(named("insert", size, level), [&] { blobs.insert(in, {key, value}).require(); });
    call(named("get", size, level),
         [&] { EXPECT_EQ((*blobs.get(in, {key}))["value"].as_bytes(), value); });
    call(named("upsert", size, level),
         [&] { blobs.upsert(in, {key, keep(value + "x")}).require(); });
    call(named("update", size, level),
         [&] { blobs.update(in, {key}, {{"value", value}}).require(); });
    call(named("rewrite", size, level), [&] {
      const auto longer = [&](const RowView&) { return std::string_view(value).substr(1); };
      blobs.rewrite(in, {key}, longer).require();
    });
    call(named("read", size, level),
         [&] { EXPECT_TRUE(blobs.read(in, {key}, [](const RowView&) {})); });
  }
  const std::string small = sizes[1].key;
  call("modify, " + level, [&] {
    blobs.modify(in, {small}, [](RowEditor& row) { row.set_bytes(0, "12345"); }).require();
  });
  call("modify_many, " + level, [&] {
    const std::vector<Key> keys{{small}, {sizes[0].key}};
    blobs.modify_many(in, keys, [](std::size_t, RowEditor& row) { row.set_bytes(0, "x"); })
        .require();
  });
}

void SmallStackTest::walk_blobs(Transaction& in, const std::vector<Size>& sizes,
                                const std::string& level) {
  const Table blobs = database_->table("blobs");
  const std::string small = sizes[1].key;
  call("visit, " + level, [&] {
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      blobs.visit(in, Range::all(), [](const RowView&) { return true; }, direction);
    }
  });
  call("visit of a range, " + level,
       [&] { EXPECT_NE(blobs.count(in, Range::between({long_key('a')}, {long_key('z')})), 0U); });
  call("visit_many and read_many, " + level, [&] {
    const std::vector<Key> keys{{small}, {sizes[2].key}, {"absent"}};
    blobs.visit_many(in, keys, [](std::size_t, const RowView&) {});
    blobs.read_many(in, keys, [](std::size_t, const RowView&) {});
  });
  call("cursor forward, " + level, [&] {
    Cursor at = blobs.cursor(in);
    for (at.seek_first(); at.valid(); at.next()) {
      EXPECT_FALSE(at.row().key_bytes().empty());
    }
    at.seek({long_key('a')});
  });
  call("cursor backward, " + level, [&] {
    Cursor at = blobs.cursor(in, Range::from({long_key('1')}));
    for (at.seek_last(); at.valid(); at.previous()) {
      EXPECT_FALSE(at.row().key_bytes().empty());
    }
    at.seek_at_or_before({long_key('z')});
  });
}

/// Keys and values of all lengths, in one transaction.
void SmallStackTest::use_blobs(const std::string& level, Isolation isolation, bool bulk) {
  const Table blobs = database_->table("blobs");
  const std::vector<Size> sizes = {{"tiny", long_key('a'), "tiny"},
                                   {"of a leaf", long_key('b'), leaf_value('l')},
                                   {"of 50 KB", long_key('c'), std::string(50'000, 'm')},
                                   {"of 1 MB", long_key('d'), std::string(1'000'000, 'n')}};
  std::optional<Transaction> in;
  call("begin, " + level,
       [&] { in.emplace(database_->begin({.isolation = isolation, .bulk = bulk})); });
  write_blobs(*in, sizes, level);
  walk_blobs(*in, sizes, level);
  for (const auto& [size, key, value] : sizes) {
    call(named("erase", size, level), [&] { blobs.erase(*in, {key}).require(); });
  }
  call("insert again, " + level, [&] {
    for (int i = 0; i < 26; ++i) {
      blobs.upsert(*in, {long_key(static_cast<char>('A' + i)), leaf_value('y')}).require();
    }
  });
  call("commit, " + level, [&] { in->commit(); });
  call("erase_range, " + level, [&] {
    Transaction erasing = database_->begin({.isolation = isolation, .bulk = bulk});
    blobs.erase_range(erasing, Range::between({long_key('C')}, {long_key('Z')})).require();
    erasing.rollback();
  });
}

/// Rows of columns, with indexes.
void SmallStackTest::use_things(const std::string& level, Isolation isolation, bool bulk) {
  const Table table = database_->table("things");
  std::vector<std::string> names;
  for (std::int64_t id = 1; id <= 100; ++id) {
    names.push_back(long_name(id));
  }
  std::optional<Transaction> in;
  in.emplace(database_->begin({.isolation = isolation, .bulk = bulk}));
  call("insert with indexes, " + level, [&] {
    for (std::int64_t id = 1; id <= 100; ++id) {
      table.insert(*in, {id, names[static_cast<std::size_t>(id - 1)], "group", id, "text"})
          .require();
    }
  });
  call("update of an index, " + level, [&] {
    const std::string other = long_name(1'001);
    table.update(*in, {7}, {{"name", other}, {"group", long_name(3)}}).require();
    table.update(*in, {8}, {{"text", keep(std::string(50'000, 't'))}}).require();
  });
  call("a second row of a name, " + level, [&] {
    EXPECT_EQ(table.insert(*in, {1'000, names[8], "group", 1, ""}).kind(), OutcomeKind::exists);
  });
  call("get by an index, " + level,
       [&] { EXPECT_TRUE(table.index("by_name").get(*in, {names[8]})); });
  call("cursor of an index, " + level, [&] {
    Cursor at = table.index("by_group").cursor(*in, Range::starts_with({"gr"}));
    std::size_t count = 0;
    for (at.seek_first(); at.valid(); at.next()) {
      ++count;
    }
    EXPECT_GT(count, 90U);
    for (at.seek_last(); at.valid(); at.previous()) {
      --count;
    }
    EXPECT_EQ(count, 0U);
  });
  call("modify of a column, " + level, [&] {
    const Column<std::int64_t> amount = table.column<std::int64_t>("amount");
    table.modify(*in, {5}, [&](RowEditor& row) { row.set(amount, std::int64_t{12}); }).require();
  });
  call("erase with indexes, " + level, [&] { table.erase(*in, {5}).require(); });
  call("commit with indexes, " + level, [&] { in->commit(); });
  call("erase_range with indexes, " + level,
       [&] { EXPECT_EQ(table.erase_range(Range::all()).require(), 99U); });
}

TEST_P(SmallStackTest, EveryCallHasRoom) {
  call("create_table", [&] { database_->create_table(key_value_table("blobs")); });
  call("create_table with columns", [&] { database_->create_table(things()); });
  call("create_index", [&] {
    database_->create_index("things", {.name = "by_name", .columns = {"name"}, .unique = true});
    database_->create_index("things", {.name = "by_group", .columns = {"group"}});
  });
  struct Level {
    std::string name;
    Isolation isolation;
    bool bulk;
  };
  for (const auto& [name, isolation, bulk] :
       std::vector<Level>{{"none", Isolation::none, false},
                          {"read_committed", Isolation::read_committed, false},
                          {"snapshot", Isolation::snapshot, false},
                          {"serializable", Isolation::serializable, false},
                          {"bulk", Isolation::read_committed, true},
                          {"bulk of a snapshot", Isolation::snapshot, true}}) {
    use_blobs(name, isolation, bulk);
    use_things(name, isolation, bulk);
    call("compact after " + name, [&] { static_cast<void>(database_->compact()); });
  }
}

TEST_P(SmallStackTest, SoHaveCallsOutsideOfTransactions) {
  Table blobs = database_->create_table(key_value_table("blobs"));
  Table table = database_->create_table(things());
  const std::string key = long_key('a');
  const std::string large(1'000'000, 'l');
  call("autocommit", [&] {
    blobs.insert({key, leaf_value('1')}).require();
    blobs.upsert({key, large}).require();
    EXPECT_EQ((*blobs.get({key}))["value"].as_bytes(), large);
    blobs.upsert({key, leaf_value('2')}).require();
    EXPECT_TRUE(blobs.get({key}));
  });
  call("run", [&] {
    database_->run([&](Transaction& in) {
      for (std::int64_t id = 0; id < 300; ++id) {
        table.insert(in, {id, long_name(id), "group", id, "t"}).require();
      }
    });
  });
  call("reading outside", [&] {
    EXPECT_EQ(table.count(), 300U);
    EXPECT_GT(table.approximate_size(Range::from({10})).rows, 0U);
    for (Cursor at = table.cursor(); at.valid(); at.next()) {
    }
    database_->prefetch({{table, {17}}});
    static_cast<void>(database_->statistics());
    static_cast<void>(database_->tables());
  });
  call("rows encoded and sorted", [&] {
    RowEncoder encode(blobs);
    RowSort sort(blobs, {.memory_bytes = 1 << 20, .threads = 2});
    const std::string& value = leaf_value('s');
    for (int i = 0; i < 2'000; ++i) {
      sort.add(encode({keep(long_key('b').substr(0, 100) + std::to_string(i)), value}), "note");
    }
    sort.finish();
    database_->run(
        [&](Transaction& in) {
          while (sort.next()) {
            blobs.insert(in, sort.row()).require();
          }
        },
        {.transaction = {.bulk = true}});
    EXPECT_EQ(blobs.count(), 2'001U);
  });
  call("create_index of rows that are there", [&] {
    database_->create_index("things", {.name = "by_name", .columns = {"name"}, .unique = true});
  });
  call("alter_table", [&] {
    Transaction in = database_->begin({.bulk = true});
    in.add_column("things", {"more", nullable(varchar(100))}, "more").require();
    in.rename_column("things", "text", "words").require();
    in.drop_column("things", "amount").require();
    in.commit();
  });
  call("backup", [&] { static_cast<void>(database_->backup(directory_.path("copy"))); });
  call("erase_range", [&] { blobs.erase_range(Range::all()).require(); });
  call("drop_index and drop_table", [&] {
    database_->drop_index("things", "by_name");
    database_->drop_table("blobs");
  });
  call("compact", [&] { static_cast<void>(database_->compact()); });
  call("explain", [&] { static_cast<void>(explain(options())); });
  call("close", [&] { database_->close(); });
  call("open", [&] { open(); });
  call("open to read", [&] {
    Options reading = options();
    reading.read_only = true;
    const Database copy = Database::open(directory_.path("copy"), reading);
    EXPECT_EQ(copy.table("blobs").count(), 2'001U);
  });
}

// A copy of the files is what a crash leaves, with a transaction that has not ended.
TEST_P(SmallStackTest, SoHaveARecoveryAndARollback) {
  const Table blobs = database_->create_table(key_value_table("blobs"));
  const auto write = [&](Transaction& in) {
    for (char first = 'a'; first <= 'z'; ++first) {
      blobs.upsert(in, {long_key(first), leaf_value(first)}).require();
      blobs
          .upsert(in, {keep(std::string(1, first) + long_key(first).substr(2)),
                       keep(std::string(50'000, first))})
          .require();
    }
  };
  database_->run(write);
  call("rollback", [&] {
    Transaction in = database_->begin();
    write(in);
    blobs.erase_range(in, Range::all()).require();
    in.rollback();
  });
  call("destruction of a transaction", [&] {
    Transaction in = database_->begin();
    write(in);
  });
  Transaction open_still = database_->begin();
  write(open_still);
  blobs.erase_range(open_still, Range::from({long_key('g')})).require();
  database_->run([&](Transaction& in) {  // makes what the other one has written durable
    in.create_table(key_value_table("durable")).require();
  });
  std::filesystem::copy(directory_.path("db"), directory_.path("crashed"),
                        std::filesystem::copy_options::recursive);
  open_still.rollback();
  const std::uint64_t rows = blobs.count();
  call("recovery", [&] {
    const Database recovered = Database::open(directory_.path("crashed"), options());
    EXPECT_EQ(recovered.table("blobs").count(), rows);
  });
}

// The stacks of all threads that are made from now on are small; too small ones end the process.
TEST_P(SmallStackTest, SoHaveTheEnginesThreads) {
  pthread_attr_t before;
  pthread_attr_t few;
  ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(::pthread_getattr_default_np(&few), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&few, kStackBytes), 0);
  ASSERT_EQ(::pthread_attr_setguardsize(&few, 4'096), 0);
  database_.reset();
  ASSERT_EQ(::pthread_setattr_default_np(&few), 0);
  open();
  const Table blobs = database_->create_table(key_value_table("blobs"));
  const std::string tail = long_key('k').substr(4);
  const std::string large(50'000, 'v');
  const std::string& small = leaf_value('w');
  for (int round = 0; round < 4; ++round) {
    for (const bool bulk : {false, true}) {
      Transaction in = database_->begin({.bulk = bulk});
      for (int i = 0; i < 400; ++i) {
        const std::string key = std::to_string(i) + tail;
        blobs.upsert(in, {key, i % 8 == 0 ? large : small}).require();
      }
      round % 2 == 0 ? in.commit() : in.rollback();
    }
    Table other = database_->create_table(key_value_table("other"));
    RowSort sort(other, {.memory_bytes = 1 << 20, .threads = 2});
    RowEncoder encode(other);
    for (int i = 0; i < 2'000; ++i) {
      sort.add(encode({keep(std::to_string(i)), small}));
    }
    sort.finish();
    database_->drop_table("other");
    blobs.erase_range(Range::from({"2"})).require();
    static_cast<void>(database_->compact());
  }
  std::filesystem::copy(directory_.path("db"), directory_.path("crashed"),
                        std::filesystem::copy_options::recursive);
  const Database recovered = Database::open(directory_.path("crashed"), options());
  EXPECT_EQ(recovered.table("blobs").count(), blobs.count());
  ASSERT_EQ(::pthread_setattr_default_np(&before), 0);
}

// Blocks of memory that a call needs beside its stack are had when it begins, or it does nothing.
TEST(StackBlocks, ACallThatCannotHaveThemDoesNothing) {
  constexpr int kAsExpected = 0;
  constexpr int kNoFilter = 1;
  constexpr int kWentOn = 2;
  const test::TemporaryDirectory directory;
  EXPECT_EQ(test::run_in_child([&] {
              Database database = Database::open(directory.path("db"), {.page_bytes = 65'536});
              const Table blobs = database.create_table(key_value_table("blobs"));
              Transaction in = database.begin();
              std::vector<ThreadBlock> held(ThreadBlock::kReserved);
              std::ranges::for_each(held, &ThreadBlock::take);
              if (!test::forbid_calls({SCMP_SYS(mmap)}, ENOMEM)) {
                return kNoFilter;
              }
              const auto is_refused = [](FunctionRef<void()> call) {
                try {
                  call();
                } catch (const Error& error) {
                  return error.code() == ErrorCode::out_of_memory;
                }
                return false;
              };
              const bool are_refused =
                  is_refused([&] { blobs.upsert({"key", "value"}).require(); }) &&
                  is_refused([&] { blobs.upsert(in, {"key", "value"}).require(); }) &&
                  is_refused([&] { static_cast<void>(blobs.get({"key"})); }) &&
                  is_refused([&] { static_cast<void>(blobs.cursor()); }) &&
                  is_refused([&] { database.drop_table("blobs"); });
              held.clear();
              blobs.insert(in, {"key", "value"}).require();
              in.commit();
              return are_refused && blobs.count() == 1 ? kAsExpected : kWentOn;
            }),
            kAsExpected);
}

INSTANTIATE_TEST_SUITE_P(Pages, SmallStackTest, ::testing::Values(4'096, 16'384, 65'536),
                         [](const auto& pages) { return std::to_string(pages.param); });

}  // namespace
}  // namespace palimpsest
