#include "tests/everything/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "tests/everything/rows.h"

namespace palimpsest::everything {
namespace {

std::optional<Row> row_of(const View& view, const Table& table, const Key& key) {
  return view.in != nullptr ? table.get(*view.in, key) : table.get(key);
}

Cursor cursor_of(const View& view, const Table& table) {
  return view.in != nullptr ? table.cursor(*view.in) : table.cursor();
}

std::uint64_t marker(const View& view, std::uint32_t thread, bool loose) {
  const std::optional<Row> row = row_of(view, view.database.table(marker_name(thread, loose)), {1});
  return row ? static_cast<std::uint64_t>((*row)["number"].as_integer()) : 0;
}

/// Rows that calls without a transaction have written, as they are.
class Alone {
 public:
  Alone(const View& view, const ThreadJournal& journal, std::uint32_t thread, bool skips_loose)
      : view_(view),
        journal_(journal),
        skips_loose_(skips_loose),
        table_(view.database.table(table_name(own_table(thread)))) {}

  /// The last call in (`marked`, `end`] whose state the rows show. The calls after one that is
  /// missing are missing, too.
  std::uint64_t last(std::uint64_t marked, std::uint64_t end) {
    while (end > marked && !is_run(marked + 1, end)) {
      --end;
    }
    std::map<std::int64_t, Id> expected;  // of the rows that they write, before them
    for (std::uint64_t number = marked + 1; number <= end; ++number) {
      each_step(number, [&](const Step& step) { expected.emplace(step.key, step.before); });
    }
    std::uint64_t last = marked;
    for (std::uint64_t number = marked + 1; number <= end; ++number) {
      each_step(number, [&](const Step& step) { expected[step.key] = step.after.id; });
      if (is_alone(number) && are(expected)) {
        last = number;
      }
    }
    return last;
  }

 private:
  [[nodiscard]] bool is_alone(std::uint64_t number) const {
    const Entry& entry = journal_.at(number);
    return entry.is_alone && entry.outcome != CommitOutcome::given_up &&
           entry.outcome != CommitOutcome::open;
  }
  /// Whether no transaction among them has written a marker, or would have.
  [[nodiscard]] bool is_run(std::uint64_t first, std::uint64_t last) const {
    for (std::uint64_t number = first; number <= last; ++number) {
      const Entry& entry = journal_.at(number);
      const bool is_left_out = skips_loose_ && entry.is_loose;
      if (!entry.is_alone && !is_left_out &&
          (entry.outcome == CommitOutcome::announced ||
           entry.outcome == CommitOutcome::acknowledged)) {
        return false;
      }
    }
    return true;
  }
  template <class Each>
  void each_step(std::uint64_t number, const Each& each) const {
    const Entry& entry = journal_.at(number);
    for (std::uint32_t at = entry.steps_begin; is_alone(number) && at < entry.steps_end; ++at) {
      each(journal_.steps[at]);
    }
  }
  bool are(const std::map<std::int64_t, Id>& expected) {
    return std::ranges::all_of(expected,
                               [&](const auto& row) { return id_at(row.first) == row.second; });
  }
  Id id_at(std::int64_t key) {
    const auto known = ids_.find(key);
    if (known != ids_.end()) {
      return known->second;
    }
    const KeyOf named(key);
    const std::optional<Row> row = row_of(view_, table_, named.key());
    return ids_[key] = row ? id_of(*row) : 0;
  }

  const View& view_;
  const ThreadJournal& journal_;
  bool skips_loose_;
  Table table_;
  std::map<std::int64_t, Id> ids_;
};

std::string compare(Cursor cursor, const TableModel& model, const World& world) {
  std::set<std::int64_t> shown;
  for (; cursor.valid(); cursor.next()) {
    const std::int64_t key = key_of(cursor.row());
    const auto expected = model.rows.find(key);
    if (expected == model.rows.end()) {
      return fmt::format("row {} of {:x} is not to be there", key, id_of(cursor.row()));
    }
    if (!shown.insert(key).second) {
      return fmt::format("row {} is shown twice", key);
    }
    if (std::string what = difference(cursor.row(), expected->second, model, world);
        !what.empty()) {
      return what;
    }
  }
  for (const auto& [key, row] : model.rows) {
    if (!shown.contains(key)) {
      return fmt::format("row {} of {:x} is missing", key, row.id);
    }
  }
  return "";
}

std::string compare_indexes(const View& view, const Table& table, const TableModel& model,
                            const World& world) {
  std::array<Id, kIndexes> found{};
  for (const IndexSchema& schema : table.indexes()) {
    const auto [which, id] = index_of(schema.name);
    found[which] = id;
    const Index index = table.index(schema.name);
    const std::string what =
        compare(view.in != nullptr ? index.cursor(*view.in) : index.cursor(), model, world);
    if (!what.empty()) {
      return fmt::format("index \"{}\": {}", schema.name, what);
    }
  }
  return found == model.indexes
             ? ""
             : fmt::format("indexes are {:x} and {:x}, not {:x} and {:x}", found[0], found[1],
                           model.indexes[0], model.indexes[1]);
}

std::string compare_table(const View& view, std::uint32_t number, const World& world) {
  const TableModel& model = world.tables[number];
  const std::optional<Table> table = view.database.find_table(table_name(number));
  if (!table || model.schema == 0) {
    return table.has_value() == (model.schema != 0) ? "" : table ? "is there" : "is missing";
  }
  if (table->schema().columns != schema_of(number, world).columns) {
    return fmt::format("has other columns than those of {:x}", model.schema);
  }
  const std::string what = compare(cursor_of(view, *table), model, world);
  return !what.empty() ? what : compare_indexes(view, *table, model, world);
}

/// Compares the table as a transaction sees it, by its own handles.
std::string compare_seen(const View& view, std::uint32_t number, const World& world) {
  const TableModel& model = world.tables[number];
  if (is_shared(number)) {
    // The database's tables and their columns change meanwhile: compares the rows only if the table
    // still has the columns of the model.
    const std::optional<Table> table = view.database.find_table(table_name(number));
    if (!table || columns_of(table->schema()).schema != model.schema) {
      return "";
    }
    return compare(cursor_of(view, *table), model, world);
  }
  return compare(cursor_of(view, view.database.table(table_name(number))), model, world);
}

std::string position(const View& view, const Shared& shared, const Bounds& bounds,
                     std::uint32_t thread, Positions& found) {
  const ThreadJournal& journal = shared.threads[thread];
  std::uint64_t number = marker(view, thread, false);
  if (!bounds.looker) {
    number = std::max(number, marker(view, thread, true));
  }
  number = std::max(number, journal.before);
  const std::uint64_t end = bounds.looker ? journal.announced_last() : bounds.upper[thread];
  if (number <= end && is_known(own_table(thread), bounds.looker)) {
    number = Alone(view, journal, thread, bounds.looker.has_value()).last(number, end);
  }
  found[thread] = number;
  if (number < bounds.lower[thread]) {
    return fmt::format("thread {}: {} was acknowledged, {} is the last one found", thread,
                       bounds.lower[thread], number);
  }
  if (number > end) {
    return fmt::format("thread {}: {} is found, {} was the last one begun", thread, number, end);
  }
  if (number > journal.before && journal.at(number).outcome == CommitOutcome::given_up) {
    return fmt::format("thread {}: {} is found, and was rolled back", thread, number);
  }
  return "";
}

}  // namespace

Bounds Bounds::after(const Shared& shared, bool is_closed) {
  Bounds bounds;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    bounds.lower[thread] = shared.threads[thread].promised_last(is_closed);
    bounds.upper[thread] = shared.threads[thread].announced_last();
  }
  return bounds;
}

std::string judged(const View& view, const World& world, const Shared& shared, const Bounds& bounds,
                   Positions& found) {
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    if (std::string what = position(view, shared, bounds, thread, found); !what.empty()) {
      return what;
    }
  }
  try {
    const World expected = advanced(world, shared, found, bounds.looker);
    for (std::uint32_t table = 0; table < kTables; ++table) {
      if (!is_known(table, bounds.looker)) {
        continue;
      }
      const std::string what = bounds.looker ? compare_seen(view, table, expected)
                                             : compare_table(view, table, expected);
      if (!what.empty()) {
        return fmt::format("table \"{}\": {}", table_name(table), what);
      }
    }
  } catch (const std::runtime_error& error) {
    if (dynamic_cast<const Error*>(&error) != nullptr) {
      throw;
    }
    return error.what();
  }
  return "";
}

}  // namespace palimpsest::everything
