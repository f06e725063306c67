// A schedule: transactions that take turns step by step, driven from one thread through the public
// API, and a table of items that they read and write.
//
//   auto [one, two] = begin_two();
//   EXPECT_EQ(one.put(x(), 11), done);
//   happened = two.value(x()) == 11;
//   documented(kAbortedRead, happened);
//
// Every schedule runs at each level, with all pages in memory and with none (every step begins by
// changing so many rows of other tables that no page of the items stays in memory; the reads of
// pages are counted), and with the parts of both items and both transactions exchanged. Some run
// with one of the two transactions being a bulk, at the same level. Every read is made by all
// available calls, and all must agree.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/function_ref.h"

#include "tests/isolation/anomalies.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::test {

using enum OutcomeKind;

enum class Pages : std::uint8_t { in_memory = 1, evicted };
/// Which of begin_two() is a bulk transaction.
enum class Bulk : std::uint8_t { neither = 0, first, second };

struct Setting {
  Isolation level{};
  Pages pages{};
  bool exchanged = false;
  Bulk bulk = Bulk::neither;
};
/// "read_committed_evicted_exchanged_first_is_bulk"
[[nodiscard]] std::string name_of(const Setting& setting);
void PrintTo(const Setting& setting, std::ostream* out);
/// Without bulks.
[[nodiscard]] std::vector<Setting> all_settings();
/// Also with bulks, except those both exchanged and evicted.
[[nodiscard]] std::vector<Setting> all_settings_and_bulks();

struct Item {
  std::int64_t id = 0;
  std::string name{};
  std::int64_t value = 0;

  friend bool operator==(const Item&, const Item&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Item& item) {
    return out << "(" << item.id << ", " << item.name << ", " << item.value << ")";
  }
};
using Items = std::vector<Item>;

/// The table: "by_name" is unique, "by_value" is not. At first it has (1, "n1", 10), (2, "n2", 20),
/// and behind them rows that no schedule uses. The other tables are like it, without the first two.
class ItemTable {
 public:
  static constexpr std::int64_t kOthers = 1000;  ///< first id, and first value, of those rows
  static constexpr const char* kNamesEnd = "z";  ///< lower bound of their names

  explicit ItemTable(const Setting& setting);
  ~ItemTable();
  ItemTable(const ItemTable&) = delete;
  ItemTable& operator=(const ItemTable&) = delete;

  [[nodiscard]] Database& database() noexcept { return database_; }
  [[nodiscard]] const Table& table() const noexcept { return table_; }
  [[nodiscard]] const Index& by_name() const noexcept { return by_name_; }
  [[nodiscard]] const Index& by_value() const noexcept { return by_value_; }

  /// One step of a schedule: a call on items.
  template <class Call>
  auto step(const Call& call) {
    if (setting_.pages == Pages::evicted) {
      evict();
    }
    const std::uint64_t reads = database_.statistics().page_reads;
    auto result = call();
    if constexpr (std::is_same_v<decltype(result), OutcomeKind>) {
      if (result == conflict) {
        return result;  // a bulk refuses without reading anything
      }
    }
    ++steps_;
    steps_with_reads_ += database_.statistics().page_reads != reads ? 1U : 0U;
    return result;
  }

 private:
  void evict();

  Setting setting_;
  std::uint64_t steps_ = 0;
  std::uint64_t steps_with_reads_ = 0;
  TemporaryDirectory directory_{memory_file_system()};
  Database database_;
  Table table_;
  std::vector<Table> others_{};  ///< whose pages evict those of the items
  Index by_name_;
  Index by_value_;
};

/// One transaction of a schedule, or none: calls without a transaction.
class Actor {
 public:
  Actor(ItemTable& items, Transaction transaction)
      : items_(&items), transaction_(std::move(transaction)) {}
  explicit Actor(ItemTable& items) : items_(&items) {}

  [[nodiscard]] OutcomeKind insert(std::int64_t id, const std::string& name, std::int64_t value,
                                   const std::string& note = "");
  /// Changes the value, and so the row's position in an index.
  [[nodiscard]] OutcomeKind put(std::int64_t id, std::int64_t value);
  [[nodiscard]] OutcomeKind rename(std::int64_t id, const std::string& name);
  [[nodiscard]] OutcomeKind set_note(std::int64_t id, const std::string& note);
  [[nodiscard]] OutcomeKind update(std::int64_t id, const Changes& changes);
  [[nodiscard]] OutcomeKind erase(std::int64_t id);

  /// The row's value; nothing if there is none.
  [[nodiscard]] std::optional<std::int64_t> value(std::int64_t id);
  [[nodiscard]] std::optional<std::string> note(std::int64_t id);
  [[nodiscard]] std::optional<std::int64_t> id_of_name(const std::string& name);
  /// All items, by id.
  [[nodiscard]] Items all();
  /// The ids of the items whose value is a multiple of so much.
  [[nodiscard]] std::vector<std::int64_t> ids_with_multiples_of(std::int64_t divisor);
  [[nodiscard]] Cursor cursor(const Range& range);
  [[nodiscard]] Cursor cursor_by_value(const Range& range);

  void commit() { transaction_->commit(); }
  /// False if it is not serializable.
  [[nodiscard]] bool commits();
  void rollback() { transaction_->rollback(); }
  [[nodiscard]] Transaction& transaction() { return *transaction_; }

 private:
  /// `with(transaction)` or `without()`, as one step.
  template <class With, class Without>
  auto step(const With& with, const Without& without) {
    return items_->step([&] { return transaction_ ? with(*transaction_) : without(); });
  }
  [[nodiscard]] Items visited(Direction direction);
  [[nodiscard]] Items walked_back();
  [[nodiscard]] Items of_index(const Index& index, const Range& range);

  ItemTable* items_;
  std::optional<Transaction> transaction_{};
};

/// The items from the cursor's position to its end.
[[nodiscard]] Items rest_of(Cursor& cursor);

class Schedule : public ::testing::TestWithParam<Setting> {
 protected:
  [[nodiscard]] Isolation level() const { return GetParam().level; }
  [[nodiscard]] bool is(Isolation level) const { return GetParam().level == level; }
  /// Whether each transaction has one snapshot.
  [[nodiscard]] bool has_snapshots() const {
    return is(Isolation::snapshot) || is(Isolation::serializable);
  }
  [[nodiscard]] std::int64_t x() const { return GetParam().exchanged ? 2 : 1; }
  [[nodiscard]] std::int64_t y() const { return GetParam().exchanged ? 1 : 2; }
  /// The initial values of x and y.
  [[nodiscard]] std::int64_t x_before() const { return 10 * x(); }
  [[nodiscard]] std::int64_t y_before() const { return 10 * y(); }

  [[nodiscard]] Actor begin() { return begin(level()); }
  [[nodiscard]] Actor begin(Isolation level, bool is_bulk = false);
  /// The first is the one that writes first. Either may be the older one, and either a bulk.
  [[nodiscard]] std::pair<Actor, Actor> begin_two();
  [[nodiscard]] Actor begin_first() { return begin(level(), GetParam().bulk == Bulk::first); }
  [[nodiscard]] Actor begin_second() { return begin(level(), GetParam().bulk == Bulk::second); }
  [[nodiscard]] bool is_any_bulk() const { return GetParam().bulk != Bulk::neither; }
  /// Whether the second one's writes to the table conflict after the first one has committed: a
  /// bulk has the whole table, or nothing of it.
  [[nodiscard]] bool is_too_late_for_bulk() const {
    return GetParam().bulk == Bulk::second && has_snapshots();
  }
  [[nodiscard]] Actor nobody() { return Actor(items_); }

  /// The outcome of a write over a committed change of the first one. If that was a bulk, the
  /// engine must first notice that all snapshots see it before `none`, which leaves no versions,
  /// can write there.
  [[nodiscard]] OutcomeKind over_the_first(FunctionRef<OutcomeKind()> write) const;
  /// Expects that it has happened exactly if the documents allow it at this level.
  void documented(const Anomaly& anomaly, bool happened) const;

  ItemTable items_{GetParam()};
};

}  // namespace palimpsest::test
