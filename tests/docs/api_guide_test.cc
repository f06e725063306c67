// The code in docs/api.md, compiled and run: each of its pieces of C++ is here, line by line
// (tests/structure/doc_snippets.py), and its stated results are checked.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/backup.h"
#include "palimpsest/database.h"
#include "palimpsest/row_encoder.h"
#include "palimpsest/row_sort.h"
#include "palimpsest/row_writer.h"
#include "palimpsest/salvage.h"
#include "palimpsest/table_of.h"

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace palimpsest;

TableSchema account_schema() {
  using namespace palimpsest::types;
  return {.name = "account",
          .columns = {{"id", int64()},
                      {"owner", varchar(40)},
                      {"balance", decimal(12, 2)},
                      {"visits", int32()},
                      {"closed", nullable(date())}},
          .key = {"id"}};
}

struct Account {
  std::int64_t id = 0;
  std::string owner{};
  Decimal balance{};
  std::int32_t visits = 0;
  std::optional<Date> closed{};
};

TableOf<Account> accounts_of(const Database& database) {
  return {database.table("account"),
          {{"id", &Account::id},
           {"owner", &Account::owner},
           {"balance", &Account::balance},
           {"visits", &Account::visits},
           {"closed", &Account::closed}}};
}

void erase_below(Database& database, const Table& events, std::int64_t end) {
  for (bool is_done = false; !is_done;) {
    is_done = database.run([&](Transaction& transaction) {
      std::int64_t last = 0;
      int rows = 0;
      const Range range = Range::up_to({end}, Range::Bound::exclusive);
      events.visit(transaction, range, [&](const RowView& row) {
        last = row["id"].as_integer();
        return ++rows < 1000;
      });
      if (rows != 0) {
        events.erase_range(transaction, Range::up_to({last})).require();
      }
      return rows < 1000;
    });
  }
}

class ApiGuide : public ::testing::Test {
 protected:
  ApiGuide() {
    database_.create_table(account_schema());
    Table accounts = database_.table("account");
    accounts.insert({7, "Ada", Decimal::of(100'00, 2), 0, {}}).require();
    accounts.insert({8, "Bob", Decimal::of(5'00, 2), 0, {}}).require();
    database_.create_index("account", {.name = "by_owner", .columns = {"owner"}});
  }

  const test::TemporaryDirectory directory_;
  const std::string path_ = directory_.path("shop");
  Database database_ = Database::open(path_, {.memory_bytes = 64 << 20});
};

TEST_F(ApiGuide, FindingOrMakingATable) {
  Database& database = database_;
  Table accounts = database.find_or_create_table(account_schema());
  EXPECT_EQ(accounts.count(), 2U);
}

TEST_F(ApiGuide, BeginningsEndsAndSizes) {
  const Table accounts = database_.table("account");
  std::vector<std::string> names;
  {
    const Index by_owner = accounts.index("by_owner");
    for (Cursor cursor = by_owner.cursor(Range::starts_with({"A"})); cursor.valid();
         cursor.next()) {
      names.emplace_back(cursor.row()["owner"].as_bytes());
    }
  }
  EXPECT_EQ(names, std::vector<std::string>{"Ada"});
  Cursor cursor = accounts.cursor();
  cursor.seek_at_or_before({1000});
  const std::int64_t last_id = cursor.valid() ? cursor.row()["id"].as_integer() : 0;
  EXPECT_EQ(last_id, 8);
  const std::uint64_t exactly = accounts.count(Range::from({7}));
  const RangeSize about = accounts.approximate_size(Range::from({7}));
  std::cout << exactly << " rows, about " << about.rows << " of " << about.bytes << " bytes\n";
  EXPECT_EQ(exactly, about.rows);
}

TEST_F(ApiGuide, FirstProgram) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.path("first");
  Database database = Database::open(path);
  Table accounts = database.create_table(account_schema());
  database.run([&](Transaction& transaction) {
    accounts.insert(transaction, {7, "Ada", Decimal::of(100'00, 2), 0, {}}).require();
    accounts.insert(transaction, {8, "Bob", Decimal::of(5'00, 2), 0, {}}).require();
  });
  if (const std::optional<Row> row = accounts.get({7})) {
    std::cout << (*row)["owner"].as_bytes() << " has " << (*row)["balance"].as_decimal() << '\n';
  }
  database.close();
  EXPECT_TRUE(Database::open(path).table("account").get({8}).has_value());
}

TEST_F(ApiGuide, Options) {
  database_.close();
  const std::string path = path_;
  Options options;
  options.memory_bytes = std::uint64_t{256} << 20U;  // 256 MiB for everything
  options.create_if_missing = false;
  options.progress = [](const RecoveryProgress& now) {
    std::cerr << "recovering: " << now.bytes_done << " of " << now.bytes_total << " bytes\n";
  };
  Database database = Database::open(path, options);
  std::ostringstream shown;
  std::ostream& out = shown;
  for (const EffectiveOption& option : explain(options)) {
    out << option.name << " = " << option.value << " (" << option.reason << ")\n";
  }
  EXPECT_THAT(shown.str(), testing::StartsWith("memory_bytes = 268435456 (set)\n"));
}

TEST_F(ApiGuide, Writing) {
  const Table accounts = database_.table("account");
  Transaction transaction = database_.begin();
  accounts.insert(transaction, {9, "Eve", Decimal::of(0, 2), 0, {}}).require();
  accounts.upsert(transaction, {9, "Eve", Decimal::of(1, 2), 0, {}}).require();
  accounts.update(transaction, {9}, {{"owner", "Eva"}, {"visits", 3}}).require();
  accounts.erase(transaction, {9}).require();
  accounts.erase_range(transaction, Range::from({100})).require();
  const Outcome outcome = accounts.insert(transaction, {7, "Mallory", Decimal(), 0, {}});
  if (outcome.kind() == OutcomeKind::exists) {
    std::cout << outcome.text() << '\n';  // table "account": key (7) exists
  }
  EXPECT_EQ(outcome.text(), "table \"account\": key (7) exists");
  const Column<std::int32_t> visits = accounts.column<std::int32_t>("visits");
  accounts.modify(transaction, {7}, [&](RowEditor& row) { row.set(visits, row.get(visits) + 1); })
      .require();
  EXPECT_EQ(accounts.get(transaction, {7})->get(visits), 1);
  const std::vector<Key> both{{7}, {8}};
  accounts.modify_many(transaction, both, [&](std::size_t, RowEditor& row) { row.set(visits, 0); })
      .require();
  transaction.commit();
  EXPECT_EQ(accounts.get({7})->get(visits), 0);
  EXPECT_EQ(accounts.get({8})->get(visits), 0);
  EXPECT_FALSE(accounts.get({9}).has_value());
}

TEST_F(ApiGuide, Reading) {
  Database& database = database_;
  const Table accounts = database_.table("account");
  Decimal total;
  std::string name;
  const Column<std::int32_t> visits = accounts.column<std::int32_t>("visits");
  const bool found = accounts.read({7}, [&](const RowView& row) {
    name = row["owner"].as_bytes();
    total += row["balance"].as_decimal();
    std::cout << name << " came " << row.get(visits) << " times\n";
  });
  EXPECT_TRUE(found);
  EXPECT_EQ(name, "Ada");
  const std::vector<std::int64_t> ids{7, 8, 1000};
  std::vector<Key> keys;
  keys.reserve(ids.size());
  for (const std::int64_t id : ids) {
    keys.push_back({id});
  }
  accounts.read_many(keys, [&](std::size_t key, const RowView& row) {
    std::cout << ids[key] << ": " << row["owner"].as_bytes() << '\n';
  });
  database.prefetch({{accounts, {7}}, {accounts, {1000}}});
  std::size_t rows = 0;
  accounts.visit(Range::from({7}), [&](const RowView& row) {
    total += row["balance"].as_decimal();
    return ++rows < 1000;
  });
  EXPECT_EQ(rows, 2U);
  EXPECT_EQ(total, Decimal::of(205'00, 2));
  for (Cursor cursor = accounts.cursor(Range::from({7}, Range::Bound::exclusive)); cursor.valid();
       cursor.next()) {
    std::cout << cursor.row().text() << '\n';  // (8, "Bob", 5.00, 0, null)
  }
  EXPECT_EQ(accounts.cursor(Range::from({7}, Range::Bound::exclusive)).row().text(),
            "(8, \"Bob\", 5.00, 0, null)");
}

TEST_F(ApiGuide, Structs) {
  Database& database = database_;
  Transaction transaction = database_.begin();
  const TableOf<Account> accounts = accounts_of(database);
  accounts.insert(transaction, {.id = 9, .owner = "Eve"}).require();
  const auto visit = [](Account& account) {
    account.balance += Decimal::of(12'50, 2);
    account.visits += 1;
  };
  accounts.modify(transaction, {9}, visit).require();
  const std::optional<Account> eve = accounts.get(transaction, {9});
  ASSERT_TRUE(eve.has_value());
  EXPECT_EQ(eve->owner, "Eve");
  EXPECT_EQ(eve->balance, Decimal::of(12'50, 2));
  EXPECT_EQ(eve->visits, 1);
  const std::vector<Account> family{{.id = 20, .owner = "Flo"}, {.id = 21, .owner = "Gil"}};
  accounts.insert_many(transaction, family).require();
  for (Cursor cursor = accounts.table().cursor(transaction); cursor.valid(); cursor.next()) {
    const Account account = accounts.of(cursor.row());
    std::cout << account.owner << ": " << account.balance << '\n';
  }
}

TEST_F(ApiGuide, Indexes) {
  const Table accounts = database_.table("account");
  database_.drop_index("account", "by_owner");
  Database& database = database_;
  std::vector<std::int64_t> ids;
  database.create_index("account", {.name = "by_owner", .columns = {"owner"}});
  const Index by_owner = accounts.index("by_owner");
  for (Cursor cursor = by_owner.cursor(Range::prefix({"Ada"})); cursor.valid(); cursor.next()) {
    ids.push_back(cursor.row()["id"].as_integer());
  }
  EXPECT_THAT(ids, testing::ElementsAre(7));
  database.create_index("account", {.name = "owner", .columns = {"owner"}, .unique = true});
  const std::optional<Row> bob = accounts.index("owner").get({"Bob"});
  EXPECT_EQ((*bob)["id"].as_integer(), 8);
}

TEST_F(ApiGuide, Transactions) {
  const TableOf<Account> accounts = accounts_of(database_);
  Database& database = database_;
  const Decimal amount = Decimal::of(7'00, 2);
  const bool paid = database.run([&](Transaction& transaction) {
    bool covered = false;
    const auto pay = [&](Account& payer) {
      covered = payer.balance >= amount;
      payer.balance -= covered ? amount : Decimal();
    };
    accounts.modify(transaction, {7}, pay).require();
    accounts.modify(transaction, {8}, [&](Account& payee) { payee.balance += amount; }).require();
    if (!covered) {
      transaction.rollback();
    }
    return covered;
  });
  EXPECT_TRUE(paid);
  EXPECT_EQ(accounts.get({8})->balance, Decimal::of(12'00, 2));
  Transaction transaction = database.begin({.durability = Durability::asynchronous});
  accounts.erase(transaction, {8}).require();
  transaction.rollback();
  EXPECT_TRUE(accounts.get({8}).has_value());
}

TEST_F(ApiGuide, Bulks) {
  Database& database = database_;
  Transaction bulk = database.begin({.bulk = true});
  bulk.create_table(key_value_table("word")).require();
  const Table words = bulk.table("word");
  for (const char* word : {"ada", "bob", "cleo"}) {
    words.insert(bulk, {word, "1"}).require();
  }
  RowEncoder encode(words);
  RowSort sort(words, {.memory_bytes = 64 << 20});
  for (const char* word : {"eve", "dan"}) {
    sort.add(encode({word, "1"}));
  }
  sort.finish();
  while (sort.next()) {
    words.insert(bulk, sort.row()).require();
  }
  bulk.commit();
  EXPECT_TRUE(database.table("word").get({"cleo"}));
}

TEST_F(ApiGuide, RowsAreErasedInSteps) {
  using namespace palimpsest::types;
  const Table events = database_.create_table(
      {.name = "event", .columns = {{"id", int64()}, {"what", varchar(20)}}, .key = {"id"}});
  for (std::int64_t id = 0; id < 2500; ++id) {
    events.insert({id, "came"}).require();
  }
  erase_below(database_, events, 2400);
  std::size_t rows = 0;
  events.visit(Range::all(), [&](const RowView&) { return static_cast<void>(++rows), true; });
  EXPECT_EQ(rows, 100U);
}

TEST_F(ApiGuide, RowsWithoutValues) {
  const Table accounts = database_.table("account");
  std::string row;
  std::optional<RowWriter> writer = RowWriter::of(accounts);
  writer->begin(row);
  const bool fits = writer->set_integer(0, 3000) && writer->set_text(1, "Eve") &&
                    writer->set_decimal(2, 1250) && writer->set_integer(3, 0);
  writer->set(4, Value());
  const std::size_t row_bytes = writer->end();
  const std::string_view made(row);
  const std::string_view key = made.substr(0, writer->key_bytes());
  accounts.insert(EncodedRow::of(key, made.substr(key.size(), row_bytes))).require();
  EXPECT_TRUE(fits);
  const std::optional<Row> eve = accounts.get({3000});
  ASSERT_TRUE(eve);
  EXPECT_EQ((*eve)["owner"].as_bytes(), "Eve");
  EXPECT_EQ((*eve)["balance"].as_decimal(), Decimal::of(12'50, 2));
  EXPECT_TRUE((*eve)["closed"].is_null());
}

TEST_F(ApiGuide, Definitions) {
  Database& database = database_;
  database.run([&](Transaction& transaction) {
    transaction.create_table(key_value_table("picture")).require();
    const Table pictures = transaction.table("picture");
    pictures.insert(transaction, {"ada.png", "...bytes..."}).require();
  });
  const Table pictures = database.table("picture");
  pictures.upsert({"bob.png", "...bytes..."}).require();
  pictures.read(Key::encoded("bob.png"),
                [](const RowView& row) { std::cout << row.bytes().size() << " bytes\n"; });
  EXPECT_EQ((*pictures.get({"ada.png"}))["value"].as_bytes(), "...bytes...");
}

TEST_F(ApiGuide, AlteringTables) {
  using namespace palimpsest::types;
  Database& database = database_;
  Transaction migration = database.begin({.bulk = true});
  migration.add_column("account", {"currency", character(3)}, "EUR").require();
  migration.rename_column("account", "owner", "holder").require();
  migration.drop_column("account", "visits").require();
  migration.commit();
  const std::optional<Row> ada = database.table("account").get({7});
  ASSERT_TRUE(ada);
  EXPECT_EQ(ada->text(), "(7, \"Ada\", 100.00, null, \"EUR\")");
}

TEST_F(ApiGuide, AlteringTablesByAFunction) {
  using namespace palimpsest::types;
  Database& database = database_;
  const auto in_cents = [](const RowView& before, std::span<Value> row) {
    const Decimal balance = before["balance"].as_decimal();
    row[2] = static_cast<std::int64_t>(balance.unscaled());
  };
  Transaction migration = database.begin({.bulk = true});
  migration
      .alter_table("account",
                   {.columns = {{"id", int64()}, {"holder", varchar(80)}, {"cents", int64()}},
                    .renamed = {{.from = "owner", .to = "holder"}}},
                   in_cents)
      .require();
  migration.commit();
  const std::optional<Row> ada = database.table("account").get({7});
  ASSERT_TRUE(ada);
  EXPECT_EQ(ada->text(), "(7, \"Ada\", 10000)");
}

TEST_F(ApiGuide, Salvage) {
  const std::string directory = directory_.path("damaged");
  const std::string rest = directory_.path("rest");
  database_.backup(directory);
  const SalvageReport saved = salvage(directory, rest);
  for (const SalvagedTable& table : saved.tables) {
    std::cout << table.name << ": " << table.rows << " rows"
              << (table.is_whole() ? "\n" : ", and some are missing\n");
  }
  EXPECT_TRUE(saved.is_whole());
  EXPECT_EQ(saved.tables.size(), database_.tables().size());
}

TEST_F(ApiGuide, Backups) {
  Database& database = database_;
  const std::string copy = directory_.path("copy");
  BackupOptions options;
  options.bytes_per_second_max = std::uint64_t{100} << 20U;  // 100 MiB, to leave others some
  options.progress = [](const BackupProgress& now) {
    std::cerr << "copied: " << now.bytes_copied << " of " << now.bytes_total << " bytes\n";
  };
  const BackupReport report = database.backup(copy, options);
  std::cout << report.page_bytes << " bytes of pages copied, " << report.damaged_pages
            << " pages are damaged\n";
  EXPECT_GT(report.page_bytes, 0U);
  EXPECT_EQ(report.damaged_pages, 0U);
  Options reading;
  reading.read_only = true;
  const Database archive = Database::open(copy, reading);
  std::cout << archive.tables().size() << " tables\n";
  EXPECT_EQ((*archive.table("account").get({8}))["owner"].as_bytes(), "Bob");
}

TEST_F(ApiGuide, ShorterFiles) {
  Database& database = database_;
  CompactionOptions options;
  options.progress = [](const CompactionProgress& now) {
    std::cerr << "moved: " << now.pages_moved << " of " << now.pages_total << " pages\n";
  };
  const CompactionReport report = database.compact(options);
  std::cout << report.bytes_before << " bytes before, " << report.bytes_after << " now, "
            << report.bytes_in_use << " in use\n";
  EXPECT_LE(report.bytes_after, report.bytes_before);
}

TEST_F(ApiGuide, Messages) {
  database_.close();
  const std::string path = path_;
  std::mutex lines_mutex;
  std::vector<std::string> lines;
  Options reported;
  reported.log_level = LogLevel::info;
  reported.log = [&](const LogMessage& message) {
    const std::lock_guard lock(lines_mutex);
    lines.push_back(std::string(name_of(message.level)) + " " + text_of(message));
  };
  Database quiet = Database::open(path, reported);
  quiet.close();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines.front(), testing::StartsWith("info database: the database is open path="));
}

TEST_F(ApiGuide, Errors) {
  const Table accounts = database_.table("account");
  std::optional<ErrorCode> seen;
  try {
    accounts
        .insert({10,
                 std::string_view("a name of more than forty bytes, as this one is"),
                 Decimal(),
                 0,
                 {}})
        .require();
  } catch (const Error& error) {
    std::cerr << name_of(error.code()) << ": " << error.what() << '\n';
    seen = error.code();
  }
  EXPECT_EQ(seen, ErrorCode::invalid_argument);
}

TEST_F(ApiGuide, Closing) {
  Database& database = database_;
  const Statistics now = database.statistics();
  std::cout << now.page_reads << " pages read, " << now.transactions_active << " open\n";
  database.close();
  EXPECT_EQ(now.transactions_active, 0U);
}

}  // namespace
