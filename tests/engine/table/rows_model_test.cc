// Random tables with random indexes, against a map: after every round the rows, the indexes and
// every way to read them agree.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/table/index_entries.h"
#include "tests/engine/format/random_table.h"
#include "tests/engine/table/table_fixture.h"
#include "tests/support/seed.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::order_of;
using palimpsest::test::random_index;
using palimpsest::test::random_row;
using palimpsest::test::random_schema;
using palimpsest::test::RandomRow;

constexpr int kTables = 25;
constexpr int kRounds = 8;
constexpr int kStatements = 40;
constexpr std::size_t kKeyMax = 512;  // with the fixture's pages

struct StoredRow {
  std::string key;
  std::string bytes;
};

class Model {
 public:
  explicit Model(const TableFormat& format) : format_(&format) {}

  /// As the table would store it; nothing if its key, or an entry's, is too long or empty.
  [[nodiscard]] std::optional<StoredRow> stored(std::span<const Value> values) const {
    try {
      KeyMemory memory;
      StoredRow row{.key = std::string(
                        format_->keys().encode_row(values, memory.room(kKeyMax).first(kKeyMax))),
                    .bytes = {}};
      format_->rows().encode(values, row.bytes);
      const bool is_empty = row.key.empty();
      return is_empty || !entries(row) ? std::nullopt : std::optional(row);
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  /// The entries of all indexes; nothing if one of them is invalid.
  [[nodiscard]] std::optional<std::vector<std::string>> entries(const StoredRow& row) const {
    RowValues values;
    const auto all = values.of(*format_, row.key, row.bytes);
    std::vector<std::string> entries;
    for (const TableFormat::Index& index : format_->indexes()) {
      KeyMemory memory;
      try {
        entries.emplace_back(
            index.codec.encode(all, row.key, memory.room(kKeyMax).first(kKeyMax)).key);
      } catch (const Error&) {
        return std::nullopt;
      }
      if (entries.back().empty()) {
        return std::nullopt;
      }
    }
    return entries;
  }
  /// Whether another row has one of its entries.
  [[nodiscard]] bool collides(const StoredRow& row) const {
    const auto wanted = entries(row).value();
    for (const auto& [key, bytes] : rows) {
      if (key == row.key) {
        continue;
      }
      const auto taken = entries({key, bytes}).value();
      for (std::size_t index = 0; index < taken.size(); ++index) {
        if (taken[index] == wanted[index]) {
          return true;
        }
      }
    }
    return false;
  }
  /// Stores the row if possible, and returns the outcome.
  OutcomeKind store(const StoredRow& row) {
    if (collides(row)) {
      return OutcomeKind::exists;
    }
    rows.insert_or_assign(row.key, row.bytes);
    return OutcomeKind::done;
  }

  Content rows;

 private:
  const TableFormat* format_;
};

class RandomTable {
 public:
  RandomTable(Random& random, TableSchema schema, std::vector<IndexSchema> indexes)
      : random_(random), table_(std::move(schema), std::move(indexes)), model_(table_.format()) {}

  void run() {
    for (int round = 0; round < kRounds && !::testing::Test::HasFailure(); ++round) {
      const Content before = model_.rows;
      const auto transaction = table_.begin();
      for (int number = 0; number < kStatements; ++number) {
        statement(table_.in(transaction));
      }
      if (random_.one_in(3)) {
        transaction->rollback();
        model_.rows = before;
      } else {
        transaction->commit();
      }
      table_.database().checkpointer().run();
      ASSERT_TRUE(table_.rows() == model_.rows);
      ASSERT_TRUE(table_.indexes_are_of(model_.rows));
      check_reads();
    }
    ASSERT_TRUE(sound(table_.database()));
  }

 private:
  [[nodiscard]] const TableFormat& format() { return table_.format(); }
  [[nodiscard]] const TableSchema& schema() { return format().schema(); }

  /// A row, often with the key of an existing one, in memory of `memory`.
  RandomRow any_row(RowValues& memory) {
    RandomRow row = random_row(random_, schema());
    if (!model_.rows.empty() && random_.one_in(2)) {
      const auto& [key, bytes] = any_stored();
      const auto values = memory.of(format(), key, bytes);
      for (const std::size_t column : format().keys().columns()) {
        row.values[column] = values[column];
      }
    }
    return row;
  }
  const Content::value_type& any_stored() {
    auto found = model_.rows.begin();
    std::advance(found, static_cast<std::ptrdiff_t>(random_.below(model_.rows.size())));
    return *found;
  }

  /// Runs `write`, and expects the outcome that the model predicts. Nothing: the row cannot be
  /// stored, unless another refusal comes first.
  template <class Write>
  void expect(const std::optional<OutcomeKind>& kind, const Write& write) {
    if (!kind) {
      try {
        EXPECT_EQ(write().kind(), OutcomeKind::exists);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      }
      return;
    }
    const Outcome outcome = write();
    EXPECT_EQ(outcome.kind(), *kind) << outcome.text();
  }

  void statement(const RowStatements& writes) {
    RowValues key_memory;
    const RandomRow row = any_row(key_memory);
    const auto stored = model_.stored(row.values);
    const bool exists = stored && model_.rows.contains(stored->key);
    const bool encoded = stored && random_.one_in(2);
    switch (random_.below(7)) {
      case 0:
      case 1: {
        const auto kind = !stored
                              ? std::nullopt
                              : std::optional(exists ? OutcomeKind::exists : model_.store(*stored));
        expect(kind, [&] {
          return encoded ? writes.insert(EncodedRow::of(stored->key, stored->bytes))
                         : writes.insert(Values(row.values));
        });
        break;
      }
      case 2: {
        const auto kind = !stored ? std::nullopt : std::optional(model_.store(*stored));
        expect(kind, [&] {
          return encoded ? writes.upsert(EncodedRow::of(stored->key, stored->bytes))
                         : writes.upsert(Values(row.values));
        });
        break;
      }
      case 3: rewrite(writes, row, stored, exists); break;
      case 4: update(writes, row, stored, exists); break;
      case 5: edit(writes, stored); break;
      default:
        if (stored) {
          expect(model_.rows.erase(stored->key) != 0 ? OutcomeKind::done : OutcomeKind::absent,
                 [&] { return writes.erase(Key::encoded(stored->key)); });
        }
    }
  }

  void rewrite(const RowStatements& writes, const RandomRow& row,
               const std::optional<StoredRow>& stored, bool exists) {
    if (!stored) {
      return;
    }
    const auto key = palimpsest::test::values_of(schema(), schema().key, row.values);
    expect(exists ? model_.store(*stored) : OutcomeKind::absent, [&] {
      return writes.rewrite(key, [&](const RowView&) { return ByteView(stored->bytes); });
    });
  }

  /// Edits as few bytes as possible, byte by byte from a position in their middle, or all.
  void edit_to(ByteView wanted, RowEditor& row) {
    if (random_.one_in(2)) {
      std::ranges::copy(wanted, row.bytes().begin());
      return;
    }
    const std::size_t from = wanted.empty() ? 0 : random_.below(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::size_t at = (from + i) % wanted.size();
      if (row.view()[at] != wanted[at]) {
        row.set_bytes(at, wanted.substr(at, 1));
      }
    }
  }

  /// In place, to the bytes of another row, if they are as many.
  void edit(const RowStatements& writes, const std::optional<StoredRow>& wanted) {
    if (!wanted) {
      return;
    }
    const auto old = model_.rows.find(wanted->key);
    const auto edit = [&] {
      return writes.modify(Key::encoded(wanted->key), [&](RowEditor& row) {
        if (row.view().size() == wanted->bytes.size()) {
          edit_to(wanted->bytes, row);
        }
      });
    };
    if (old == model_.rows.end()) {
      expect(OutcomeKind::absent, edit);
      return;
    }
    const bool is_large = old->first.size() + old->second.size() > 2 * kKeyMax;
    const bool changes = old->second.size() == wanted->bytes.size();
    if (is_large || (changes && !same_in_indexes(format(), old->second, wanted->bytes))) {
      expect(std::nullopt, edit);
      return;
    }
    expect(OutcomeKind::done, edit);
    old->second = changes ? wanted->bytes : old->second;
  }

  /// Updates some columns to those of a row that can be stored.
  void update(const RowStatements& writes, const RandomRow& row,
              const std::optional<StoredRow>& stored, bool exists) {
    if (!stored) {
      return;
    }
    std::vector<Value> values = row.values;
    RowValues memory;
    std::vector<Change> changes;
    const auto old = model_.rows.find(stored->key);
    for (std::size_t column = 0; column < values.size(); ++column) {
      if (format().key_position(column)) {
        continue;
      }
      if (random_.one_in(2)) {
        changes.push_back({schema().columns[column].name, values[column]});
      } else if (exists) {
        values[column] = memory.of(format(), old->first, old->second)[column];
      }
    }
    const auto after = exists ? model_.stored(values) : stored;
    const auto kind =
        !after ? std::nullopt : std::optional(exists ? model_.store(*after) : OutcomeKind::absent);
    expect(kind, [&] { return writes.update(Key::encoded(stored->key), Changes(changes)); });
  }

  void check_reads() {
    const auto in = table_.begin();
    txn::Transaction* const by = random_.one_in(2) ? in.get() : nullptr;
    std::vector<Key> keys;
    for (const auto& [key, bytes] : model_.rows) {
      keys.push_back(Key::encoded(key));
    }
    Content read;
    table_.reads(by).read_many(
        keys, [&](std::size_t, const RowView& row) { read.emplace(row.key_bytes(), row.bytes()); });
    EXPECT_TRUE(read == model_.rows);
    Content seen;
    table_.reads(by).visit_many(
        keys, [&](std::size_t, const RowView& row) { seen.emplace(row.key_bytes(), row.bytes()); });
    EXPECT_TRUE(seen == model_.rows);
    check_range(by);
    for (std::size_t index = 0; index < format().indexes().size(); ++index) {
      check_index(by, index);
    }
  }

  /// Whether a row, or its index entry, is between two bounds of so many first columns.
  static bool is_within(std::weak_ordering to_lower, std::weak_ordering to_upper,
                        const Range& range) {
    const bool above =
        range.lower_bound() == Range::Bound::inclusive ? to_lower >= 0 : to_lower > 0;
    const bool below =
        range.upper_bound() == Range::Bound::inclusive ? to_upper <= 0 : to_upper < 0;
    return above && below;
  }
  Range::Bound any_bound() {
    return random_.one_in(2) ? Range::Bound::inclusive : Range::Bound::exclusive;
  }

  /// The rows of a range by any bounds of the columns of that name, and the range itself.
  template <class Use>
  void with_range(const std::vector<std::string>& columns, const Use& use) {
    RowValues lower_memory;
    RowValues upper_memory;
    const RandomRow lower = any_row(lower_memory);
    const RandomRow upper = any_row(upper_memory);
    const std::vector<std::string> first(
        columns.begin(),
        columns.begin() + static_cast<std::ptrdiff_t>(random_.below(columns.size() + 1)));
    const std::vector<Value> from = palimpsest::test::values_of(schema(), first, lower.values);
    const std::vector<Value> to = palimpsest::test::values_of(schema(), first, upper.values);
    const Range range = Range::between(Key(from), Key(to), any_bound(), any_bound());
    std::set<std::string> expected;
    for (const auto& [key, bytes] : model_.rows) {
      RowValues memory;
      const auto values = memory.of(format(), key, bytes);
      if (is_within(order_of(schema(), first, values, lower.values),
                    order_of(schema(), first, values, upper.values), range)) {
        expected.insert(key);
      }
    }
    try {
      use(range, expected);
    } catch (const Error& error) {  // a bound that exceeds the maximum key size
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    }
  }

  /// What a cursor shows, in both directions.
  static std::set<std::string> shown(RowCursor& cursor) {
    std::vector<std::string> forward;
    for (; cursor.valid(); cursor.next()) {
      forward.emplace_back(cursor.row().key_bytes());
    }
    std::vector<std::string> backward;
    for (cursor.seek_last(); cursor.valid(); cursor.previous()) {
      backward.emplace_back(cursor.row().key_bytes());
    }
    EXPECT_TRUE(std::equal(forward.rbegin(), forward.rend(), backward.begin(), backward.end()));
    return {forward.begin(), forward.end()};
  }

  void check_range(txn::Transaction* by) {
    with_range(schema().key, [&](const Range& range, const std::set<std::string>& expected) {
      RowCursor cursor({by, table_.state()}, range, random_.between(1, 20));
      EXPECT_TRUE(shown(cursor) == expected);
      for (const Direction direction : {Direction::forward, Direction::backward}) {
        std::set<std::string> visited;
        table_.reads(by).visit(
            range,
            [&](const RowView& row) {
              EXPECT_EQ(model_.rows.at(std::string(row.key_bytes())), row.bytes());
              return visited.emplace(row.key_bytes()).second;
            },
            direction);
        EXPECT_TRUE(visited == expected);
      }
    });
  }

  void check_index(txn::Transaction* by, std::size_t index) {
    const IndexSchema& of = format().stored().indexes[index].schema;
    with_range(of.columns, [&](const Range& range, const std::set<std::string>& expected) {
      RowCursor cursor({by, table_.state()}, of.name, range);
      EXPECT_TRUE(shown(cursor) == expected);
    });
    if (!of.unique) {
      return;
    }
    for (const auto& [key, bytes] : model_.rows) {
      RowValues memory;
      const auto values =
          palimpsest::test::values_of(schema(), of.columns, memory.of(format(), key, bytes));
      const bool has_null = std::ranges::any_of(values, &Value::is_null);
      std::string found;
      EXPECT_EQ(table_.reads(by).read_by_index(
                    of.name, values, [&](const RowView& row) { found = row.key_bytes(); }),
                !has_null);
      EXPECT_TRUE(has_null || found == key);
    }
  }

  Random& random_;
  OneTable table_;
  Model model_;
};

TEST(RowsModel, RandomTables) {
  Random random(palimpsest::test::seed());
  for (int number = 0; number < kTables && !::testing::Test::HasFailure(); ++number) {
    const TableSchema schema = random_schema(random);
    std::vector<IndexSchema> indexes;
    for (std::uint64_t index = 0, count = random.below(4); index < count; ++index) {
      indexes.push_back(random_index(random, schema));
      indexes.back().name = fmt::format("index{}", index);
    }
    RandomTable(random, schema, indexes).run();
  }
}

TEST(RowsModel, PeopleWithTwoIndexes) {
  Random random(palimpsest::test::seed());
  RandomTable(random, people(), indexes_of_people()).run();
}

}  // namespace
}  // namespace palimpsest::engine::test
