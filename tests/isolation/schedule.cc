#include "tests/isolation/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "tests/support/error_of.h"
#include "tests/support/eventually.h"

namespace palimpsest::test {
namespace {

using namespace palimpsest::types;

constexpr std::int64_t kOthersCount = 600;
constexpr std::int64_t kEvictingCount = 300;  // in each of the tables that evict the items
constexpr std::int64_t kOthersPerPage = 4;
constexpr std::size_t kOtherNoteBytes = 800;                           // some of them fill a page
constexpr std::uint64_t kMemoryBytesLeast = std::uint64_t{16} << 18U;  // some dozen pages

std::string_view text_of(Isolation level) {
  switch (level) {
    case Isolation::none: return "none";
    case Isolation::read_committed: return "read_committed";
    case Isolation::snapshot: return "snapshot";
    case Isolation::serializable: return "serializable";
    case Isolation::by_default: break;
  }
  return "by_default";
}

Options options_of(const Setting& setting) {
  Options options;
  options.memory_bytes = std::uint64_t{16} << 20U;
  options.isolation = setting.level;
  options.durability = Durability::asynchronous;
  options.log_bytes_max = std::uint64_t{16} << 20U;
  options.max_transactions = 32;
  options.begin_patience = std::chrono::milliseconds(20);
  options.autocommit_patience = std::chrono::milliseconds(1);
  options.definition_patience = std::chrono::milliseconds(50);
  if (setting.pages == Pages::evicted) {
    options.memory_bytes = kMemoryBytesLeast;
    options.version_bytes_max = std::uint64_t{1} << 20U;
    options.log_bytes_max = std::uint64_t{64} << 20U;
  }
  return options;
}

Table make_table(Database& database, const std::string& name) {
  Transaction transaction = database.begin();
  transaction
      .create_table({.name = name,
                     .columns = {{"id", int64()},
                                 {"name", varchar(40)},
                                 {"value", int64()},
                                 {"note", varchar(100'000)},
                                 {"touched", int64()}},
                     .key = {"id"}})
      .require();
  transaction.create_index(name, {.name = "by_name", .columns = {"name"}, .unique = true})
      .require();
  transaction.create_index(name, {.name = "by_value", .columns = {"value"}}).require();
  transaction.commit();
  return database.table(name);
}

void insert_other_rows(Transaction& transaction, const Table& table, std::int64_t count) {
  const std::string note(kOtherNoteBytes, 'o');
  for (std::int64_t id = ItemTable::kOthers; id < ItemTable::kOthers + count; ++id) {
    const std::string name = fmt::format("z{}", id);
    table.insert(transaction, {id, name, id, note, 0}).require();
  }
}

std::string_view text_of(Bulk bulk) {
  switch (bulk) {
    case Bulk::first: return "_first_is_bulk";
    case Bulk::second: return "_second_is_bulk";
    case Bulk::neither: break;
  }
  return "";
}

Item item_of(const RowView& row) {
  return {.id = row["id"].as_integer(),
          .name = std::string(row["name"].as_bytes()),
          .value = row["value"].as_integer()};
}

constexpr std::array<Value, 1> kIdsEnd{ItemTable::kOthers};
constexpr std::array<Value, 1> kNamesEnd{ItemTable::kNamesEnd};

/// In the table, and in the index by value.
Range items_range() {
  return Range::up_to(Key(kIdsEnd), Range::Bound::exclusive);
}

}  // namespace

std::string name_of(const Setting& setting) {
  return fmt::format("{}_{}{}{}", text_of(setting.level),
                     setting.pages == Pages::evicted ? "evicted" : "in_memory",
                     setting.exchanged ? "_exchanged" : "", text_of(setting.bulk));
}

void PrintTo(const Setting& setting, std::ostream* out) {
  *out << name_of(setting);
}

std::vector<Setting> all_settings() {
  std::vector<Setting> settings;
  for (const Isolation level : kLevels) {
    for (const Pages pages : {Pages::in_memory, Pages::evicted}) {
      for (const bool exchanged : {false, true}) {
        settings.push_back({.level = level, .pages = pages, .exchanged = exchanged});
      }
    }
  }
  return settings;
}

std::vector<Setting> all_settings_and_bulks() {
  std::vector<Setting> settings = all_settings();
  for (const Bulk bulk : {Bulk::first, Bulk::second}) {
    for (Setting setting : all_settings()) {
      setting.bulk = bulk;
      if (setting.level == Isolation::serializable) {
        continue;  // no bulk is
      }
      if (setting.pages == Pages::in_memory || !setting.exchanged) {
        settings.push_back(setting);
      }
    }
  }
  return settings;
}

// The table

ItemTable::ItemTable(const Setting& setting)
    : setting_(setting),
      database_(Database::open(directory_.path(), options_of(setting))),
      table_(make_table(database_, "item")),
      by_name_(table_.index("by_name")),
      by_value_(table_.index("by_value")) {
  if (setting_.pages == Pages::evicted) {
    others_.push_back(make_table(database_, "other"));
    others_.push_back(make_table(database_, "another"));
    const Statistics statistics = database_.statistics();
    EXPECT_GE(kEvictingCount / kOthersPerPage, 2 * statistics.pool_bytes / statistics.page_bytes)
        << "each of them is twice what memory has room for";
  }
  Transaction transaction = database_.begin();
  table_.insert(transaction, {1, "n1", 10, "", 0}).require();
  table_.insert(transaction, {2, "n2", 20, "", 0}).require();
  insert_other_rows(transaction, table_, kOthersCount);
  for (const Table& others : others_) {
    insert_other_rows(transaction, others, kEvictingCount);
  }
  transaction.commit();
}

/// Which pages are evicted is partly chance: now and then one stays.
ItemTable::~ItemTable() {
  if (setting_.pages == Pages::evicted) {
    EXPECT_GE(steps_with_reads_ + 1, steps_ - steps_ / 10) << "pages had stayed in memory";
  }
}

/// Changes rows of other tables rather than read them, because clean pages are evicted before dirty
/// ones; at level `none`, which leaves no versions; in other tables, because a bulk has its own
/// table to itself. Two tables take turns: a parent whose pages are walked offers the reclaimer
/// enough victims, so that the pages of a parent that is visited later may stay for as long. During
/// the walk of one table the other's root is evicted, and later gets another frame.
void ItemTable::evict() {
  Transaction transaction = database_.begin({.isolation = Isolation::none});
  for (int round = 0; round < 2; ++round) {
    for (const Table& others : others_) {
      const Column<std::int64_t> touched = others.column<std::int64_t>("touched");
      const auto touch = [&](RowEditor& row) { row.set(touched, row.get(touched) + 1); };
      for (std::int64_t id = kOthers; id < kOthers + kEvictingCount; id += kOthersPerPage) {
        others.modify(transaction, {id}, touch).require();
      }
    }
  }
  transaction.commit();
}

// Writing

bool Actor::commits() {
  const auto code = error_of([&] { commit(); });
  EXPECT_EQ(code.value_or(ErrorCode::not_serializable), ErrorCode::not_serializable);
  return !code;
}

OutcomeKind Actor::insert(std::int64_t id, const std::string& name, std::int64_t value,
                          const std::string& note) {
  const Table& table = items_->table();
  return step([&](Transaction& in) { return table.insert(in, {id, name, value, note, 0}).kind(); },
              [&] { return table.insert({id, name, value, note, 0}).kind(); });
}

OutcomeKind Actor::update(std::int64_t id, const Changes& changes) {
  const Table& table = items_->table();
  return step([&](Transaction& in) { return table.update(in, {id}, changes).kind(); },
              [&] { return table.update({id}, changes).kind(); });
}

OutcomeKind Actor::put(std::int64_t id, std::int64_t value) {
  return update(id, {{"value", value}});
}

OutcomeKind Actor::rename(std::int64_t id, const std::string& name) {
  return update(id, {{"name", name}});
}

OutcomeKind Actor::set_note(std::int64_t id, const std::string& note) {
  return update(id, {{"note", note}});
}

OutcomeKind Actor::erase(std::int64_t id) {
  const Table& table = items_->table();
  return step([&](Transaction& in) { return table.erase(in, {id}).kind(); },
              [&] { return table.erase({id}).kind(); });
}

// Reading one row

std::optional<std::int64_t> Actor::value(std::int64_t id) {
  const Table& table = items_->table();
  const auto row =
      step([&](Transaction& in) { return table.get(in, {id}); }, [&] { return table.get({id}); });
  const auto value = row ? std::optional((*row)["value"].as_integer()) : std::nullopt;
  std::optional<std::int64_t> seen;
  const auto look = [&](const RowView& view) { seen = view["value"].as_integer(); };
  const bool found = step([&](Transaction& in) { return table.read(in, {id}, look); },
                          [&] { return table.read({id}, look); });
  EXPECT_EQ(found, value.has_value());
  EXPECT_EQ(seen, value) << "read()";
  seen.reset();
  const std::array<Value, 1> columns{id};
  const std::array<Key, 1> keys{Key(columns)};
  const auto look_at_one = [&](std::size_t /*key*/, const RowView& view) { look(view); };
  step([&](Transaction& in) { return table.read_many(in, keys, look_at_one), true; },
       [&] { return table.read_many(keys, look_at_one), true; });
  EXPECT_EQ(seen, value) << "read_many()";
  seen.reset();
  step([&](Transaction& in) { return table.visit_many(in, keys, look_at_one), true; },
       [&] { return table.visit_many(keys, look_at_one), true; });
  EXPECT_EQ(seen, value) << "visit_many()";
  return value;
}

std::optional<std::string> Actor::note(std::int64_t id) {
  const Table& table = items_->table();
  const auto row =
      step([&](Transaction& in) { return table.get(in, {id}); }, [&] { return table.get({id}); });
  const auto note = row ? std::optional(std::string((*row)["note"].as_bytes())) : std::nullopt;
  std::optional<std::string> shown;
  Cursor one = cursor(Range::prefix({id}));
  if (one.valid()) {
    shown = one.row()["note"].as_bytes();
  }
  EXPECT_TRUE(shown == note) << "a cursor";
  shown.reset();
  const auto look = [&](const RowView& view) {
    shown = view["note"].as_bytes();
    return true;
  };
  step([&](Transaction& in) { return table.visit(in, Range::prefix({id}), look), true; },
       [&] { return table.visit(Range::prefix({id}), look), true; });
  EXPECT_TRUE(shown == note) << "visit()";
  return note;
}

std::optional<std::int64_t> Actor::id_of_name(const std::string& name) {
  const Index& index = items_->by_name();
  const auto row = step([&](Transaction& in) { return index.get(in, {name}); },
                        [&] { return index.get({name}); });
  if (row) {
    EXPECT_EQ((*row)["name"].as_bytes(), name);
  }
  return row ? std::optional((*row)["id"].as_integer()) : std::nullopt;
}

// Reading all of them

Items Actor::visited(Direction direction) {
  const Table& table = items_->table();
  const Range range = items_range();
  Items items;
  const auto look = [&](const RowView& row) { return items.push_back(item_of(row)), true; };
  step([&](Transaction& in) { return table.visit(in, range, look, direction), true; },
       [&] { return table.visit(range, look, direction), true; });
  return items;
}

Items Actor::walked_back() {
  Cursor rows = cursor(items_range());
  Items items;
  for (items_->step([&] { return rows.seek_last(), true; }); rows.valid(); rows.previous()) {
    items.push_back(item_of(rows.row()));
  }
  return items;
}

Items Actor::of_index(const Index& index, const Range& range) {
  Cursor rows = step([&](Transaction& in) { return index.cursor(in, range); },
                     [&] { return index.cursor(range); });
  return rest_of(rows);
}

Items Actor::all() {
  Items items = visited(Direction::forward);
  Items backward = visited(Direction::backward);
  std::ranges::reverse(backward);
  EXPECT_EQ(backward, items) << "visit() backward";
  Cursor rows = cursor(items_range());
  EXPECT_EQ(rest_of(rows), items) << "a cursor";
  backward = walked_back();
  std::ranges::reverse(backward);
  EXPECT_EQ(backward, items) << "a cursor backward";

  const auto by_value = [](const Item& a, const Item& b) {
    return std::pair(a.value, a.id) < std::pair(b.value, b.id);
  };
  Items ordered = items;
  std::ranges::sort(ordered, by_value);
  EXPECT_EQ(of_index(items_->by_value(), items_range()), ordered) << "the index by value";
  std::ranges::sort(ordered, {}, &Item::name);
  EXPECT_EQ(of_index(items_->by_name(), Range::up_to(Key(kNamesEnd), Range::Bound::exclusive)),
            ordered)
      << "the index by name";
  return items;
}

std::vector<std::int64_t> Actor::ids_with_multiples_of(std::int64_t divisor) {
  std::vector<std::int64_t> ids;
  for (const Item& item : all()) {
    if (item.value % divisor == 0) {
      ids.push_back(item.id);
    }
  }
  return ids;
}

Cursor Actor::cursor(const Range& range) {
  const Table& table = items_->table();
  return step([&](Transaction& in) { return table.cursor(in, range, 1); },
              [&] { return table.cursor(range, 1); });
}

Cursor Actor::cursor_by_value(const Range& range) {
  const Index& index = items_->by_value();
  return step([&](Transaction& in) { return index.cursor(in, range); },
              [&] { return index.cursor(range); });
}

Items rest_of(Cursor& cursor) {
  Items rest;
  while (cursor.valid()) {
    rest.push_back(item_of(cursor.row()));
    cursor.next();
  }
  return rest;
}

// Schedules

Actor Schedule::begin(Isolation level, bool is_bulk) {
  return {items_, items_.database().begin({.isolation = level, .bulk = is_bulk})};
}

std::pair<Actor, Actor> Schedule::begin_two() {
  if (!GetParam().exchanged) {
    Actor older = begin_first();
    return {std::move(older), begin_second()};
  }
  Actor older = begin_second();
  return {begin_first(), std::move(older)};
}

OutcomeKind Schedule::over_the_first(FunctionRef<OutcomeKind()> write) const {
  OutcomeKind outcome = write();
  const bool is_awaited = GetParam().bulk == Bulk::first && is(Isolation::none);
  if (outcome == conflict && is_awaited) {
    EXPECT_TRUE(eventually([&] { return (outcome = write()) != conflict; }));
  }
  return outcome;
}

void Schedule::documented(const Anomaly& anomaly, bool happened) const {
  const auto number =
      static_cast<std::size_t>(std::ranges::find(kLevels, level()) - kLevels.begin());
  EXPECT_EQ(happened, number < anomaly.possible_levels[static_cast<std::size_t>(GetParam().bulk)])
      << anomaly.name << (happened ? " has happened" : " has not happened");
}

}  // namespace palimpsest::test
