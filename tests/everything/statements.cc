#include "tests/everything/statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/row_encoder.h"

namespace palimpsest::everything {
namespace {

using Keys = std::vector<std::pair<std::int64_t, Id>>;

/// Changes rows and records that in the journal: without a transaction before the change, since
/// nothing tells later whether it was done.
template <class Change, class Note>
Outcome changed(Worker& worker, Scope& scope, const Target& target, const char* what,
                const Change& change, const Note& note) {
  if (scope.in == nullptr) {
    note();
  }
  const Outcome outcome = worker.call(what, change);
  if (scope.in == nullptr && !outcome) {
    worker.drop_steps();
  }
  if (outcome) {
    scope.has_written[target.number] = true;
    if (scope.in != nullptr) {
      note();
    }
  }
  return outcome;
}

std::int64_t stored(Id id) {
  return static_cast<std::int64_t>(id);
}

std::int64_t any_key(Worker& worker) {
  return worker.any(kKeys);
}

RowState any_row(Worker& worker, const Target& target) {
  const Id id = worker.new_id();
  return {.id = id,
          .full_id = id,
          .body_id = id,
          .schema = target.columns.schema,
          .group = worker.one_in(5) ? kNoValue : worker.any(12),
          .number = worker.one_in(2) ? kNoValue : worker.any(worker.one_in(300) ? 20 : 10'000'000)};
}

RowState state_of(const RowView& row) {
  const auto value_of = [](const Value& value) {
    return value.is_null() ? kNoValue : value.as_integer();
  };
  return {.id = id_of(row),
          .full_id = static_cast<Id>(row["full"].as_integer()),
          .body_id = static_cast<Id>(row["body_id"].as_integer()),
          .schema = static_cast<Id>(row["columns"].as_integer()),
          .group = value_of(row["grp"]),
          .number = value_of(row["number"])};
}

bool is_dirty(const Scope& scope) {
  return scope.isolation == Isolation::none;
}

/// The row that will be replaced: no other transaction changes it until then, or the change is a
/// conflict. With an id of 0: there is none, and an inserted row replaces none.
RowState seen(Worker& worker, Scope& scope, const Target& target, std::int64_t key) {
  const KeyOf named(key);
  if (scope.in != nullptr && !scope.keeps_snapshot() && is_shared(target.number)) {
    const Outcome claimed = worker.call("update that claims", [&] {
      return target.table.update(
          *scope.in, named.key(),
          {{mark_name(target.columns.schema, target.columns.made), Value()}});
    });
    worker.require(claimed, "claiming", OutcomeKind::absent);
    if (!claimed) {
      return {};
    }
    scope.has_written[target.number] = true;
  }
  RowState state;
  const auto use = [&](const RowView& row) {
    worker.check_row(row, is_dirty(scope));
    state = state_of(row);
  };
  worker.call("read", [&] {
    return scope.in != nullptr ? target.table.read(*scope.in, named.key(), use)
                               : target.table.read(named.key(), use);
  });
  return state;
}

/// Accepts that another row has the number, in a unique index.
void require_written(Worker& worker, Scope& scope, const Outcome& outcome, const char* what,
                     bool is_expected) {
  if (outcome.is_conflict()) {
    throw GivenUp{};
  }
  const bool is_taken = outcome.kind() == OutcomeKind::exists && !outcome.place().index.empty();
  const bool is_raced = outcome.kind() == OutcomeKind::exists && !scope.keeps_snapshot();
  if (!outcome.is_done() && !is_taken && !is_raced && is_expected) {
    worker.fault(fmt::format("{}: {}", what, outcome.text()));
  }
  if (outcome.is_done() && !is_expected) {
    worker.fault(fmt::format("{}: done", what));
  }
}

/// Without a snapshot the row may exist by then: it was changed, and not recorded.
void require_absent(Worker& worker, const Scope& scope, const Outcome& outcome) {
  if (outcome.is_conflict() || (outcome.is_done() && !scope.keeps_snapshot())) {
    throw GivenUp{};
  }
  if (outcome.kind() != OutcomeKind::absent) {
    worker.fault("a row is there that was not: " + outcome.text());
  }
}

void put(Worker& worker, Scope& scope, const Target& target, bool is_upsert) {
  const std::int64_t key = any_key(worker);
  const RowState before = seen(worker, scope, target, key);
  // Without a snapshot it is unknown what an upsert finds where there was no row.
  const bool upserts =
      is_upsert && (before.id != 0 || scope.keeps_snapshot() || !is_shared(target.number));
  const RowState row = any_row(worker, target);
  const RowValues values(key, row, target.columns);
  const auto change = [&] {
    if (upserts) {
      return scope.in != nullptr ? target.table.upsert(*scope.in, values.values())
                                 : target.table.upsert(values.values());
    }
    return scope.in != nullptr ? target.table.insert(*scope.in, values.values())
                               : target.table.insert(values.values());
  };
  const Outcome outcome = changed(worker, scope, target, upserts ? "upsert" : "insert", change,
                                  [&] { worker.note_row(target, key, before.id, row); });
  require_written(worker, scope, outcome, "putting a row", upserts || before.id == 0);
}
void insert(Worker& worker, Scope& scope, const Target& target) {
  put(worker, scope, target, false);
}
void upsert(Worker& worker, Scope& scope, const Target& target) {
  put(worker, scope, target, true);
}

/// Updates some columns, those of the index among them; often the body, too.
void update(Worker& worker, Scope& scope, const Target& target) {
  const std::int64_t key = any_key(worker);
  const RowState before = seen(worker, scope, target, key);
  RowState row = before;
  const RowState other = any_row(worker, target);
  row.id = other.id;
  row.group = other.group;
  row.number = other.number;
  const auto nullable = [](std::int64_t value) {
    return value == kNoValue ? Value() : Value(value);
  };
  std::vector<Change> changes{
      {"id", stored(row.id)}, {"grp", nullable(row.group)}, {"number", nullable(row.number)}};
  std::string body;
  if (worker.one_in(2)) {
    row.body_id = row.id;
    body = body_of(row.body_id);
    changes.push_back({"body", body});
    changes.push_back({"body_id", stored(row.body_id)});
  }
  const KeyOf named(key);
  const auto change = [&] {
    return scope.in != nullptr ? target.table.update(*scope.in, named.key(), changes)
                               : target.table.update(named.key(), changes);
  };
  if (before.id == 0) {
    return require_absent(worker, scope, worker.call("update of no row", change));
  }
  require_written(worker, scope,
                  changed(worker, scope, target, "update", change,
                          [&] { worker.note_row(target, key, before.id, row); }),
                  "update", true);
}

/// Changes a row in place.
void modify(Worker& worker, Scope& scope, const Target& target) {
  const std::int64_t key = any_key(worker);
  RowState row = seen(worker, scope, target, key);
  const Id before = row.id;
  if (before == 0 || body_bytes(row.body_id) > kEditedBodyMax) {
    return;
  }
  row.id = worker.new_id();
  const auto id = target.table.column<std::int64_t>("id");
  const KeyOf named(key);
  const Key one = named.key();
  const bool many = worker.one_in(3);
  const auto change = [&] {
    const auto edit = [&](RowEditor& editor) { editor.set(id, stored(row.id)); };
    const auto edit_many = [&](std::size_t, RowEditor& editor) { edit(editor); };
    if (many) {
      return scope.in != nullptr ? target.table.modify_many(*scope.in, {&one, 1}, edit_many)
                                 : target.table.modify_many({&one, 1}, edit_many);
    }
    return scope.in != nullptr ? target.table.modify(*scope.in, one, edit)
                               : target.table.modify(one, edit);
  };
  worker.require(changed(worker, scope, target, "modify", change,
                         [&] { worker.note_row(target, key, before, row); }),
                 "modify");
}

void rewrite(Worker& worker, Scope& scope, const Target& target) {
  const std::int64_t key = any_key(worker);
  const RowState before = seen(worker, scope, target, key);
  if (before.id == 0) {
    return;
  }
  const RowState row = any_row(worker, target);
  const RowValues values(key, row, target.columns);
  RowEncoder encode(target.table);
  const EncodedRow bytes = encode(values.values());
  Id found = 0;
  const auto replace = [&](const RowView& stored_row) -> std::string_view {
    found = id_of(stored_row);
    return bytes.bytes;
  };
  const KeyOf named(key);
  const auto change = [&] {
    return scope.in != nullptr ? target.table.rewrite(*scope.in, named.key(), replace)
                               : target.table.rewrite(named.key(), replace);
  };
  const Outcome outcome = changed(worker, scope, target, "rewrite", change,
                                  [&] { worker.note_row(target, key, before.id, row); });
  require_written(worker, scope, outcome, "rewrite", true);
  if (outcome && found != before.id) {
    worker.fault(fmt::format("rewrites {:x}, and had seen {:x}", found, before.id));
  }
}

void erase(Worker& worker, Scope& scope, const Target& target) {
  const std::int64_t key = any_key(worker);
  const RowState before = seen(worker, scope, target, key);
  const KeyOf named(key);
  const auto change = [&] {
    return scope.in != nullptr ? target.table.erase(*scope.in, named.key())
                               : target.table.erase(named.key());
  };
  if (before.id == 0) {
    return require_absent(worker, scope, worker.call("erase of no row", change));
  }
  worker.require(changed(worker, scope, target, "erase", change,
                         [&] { worker.note_row(target, key, before.id, {}); }),
                 "erase");
}

Keys rows_in(Worker& worker, const Scope& scope, const Target& target, const Range& range) {
  Keys keys;
  const auto visit = [&](const RowView& row) {
    keys.emplace_back(key_of(row), id_of(row));
    return true;
  };
  worker.call("visit", [&] {
    scope.in != nullptr ? target.table.visit(*scope.in, range, visit)
                        : target.table.visit(range, visit);
  });
  return keys;
}

/// Whether no other transaction changes what a scope has listed before the scope erases it.
bool owns(const Scope& scope, const Target& target) {
  return scope.keeps_snapshot() || !is_shared(target.number) ||
         (scope.is_bulk && scope.has_written[target.number]);
}

void erase_rows(Worker& worker, Scope& scope, const Target& target, const Range& range) {
  const Keys keys = rows_in(worker, scope, target, range);
  std::uint64_t erased = 0;
  const auto change = [&] {
    const ErasedRange gone = scope.in != nullptr ? target.table.erase_range(*scope.in, range)
                                                 : target.table.erase_range(range);
    erased = gone.rows;
    return gone.outcome;
  };
  const auto note = [&] {
    for (const auto& [key, id] : keys) {
      worker.note_row(target, key, id, {});
    }
  };
  worker.require(changed(worker, scope, target, "erase_range", change, note), "erase_range");
  if (erased != keys.size()) {
    worker.fault(fmt::format("erase_range: {} of {} rows", erased, keys.size()));
  }
}

void erase_range(Worker& worker, Scope& scope, const Target& target) {
  if (!owns(scope, target)) {
    return;
  }
  const std::int64_t part = worker.any(part_of(kKeys));
  erase_rows(worker, scope, target,
             worker.one_in(20) ? Range::all() : Range::between({part}, {part + worker.any(4)}));
}

/// All of them, or none.
void insert_rows(Worker& worker, Scope& scope, const Target& target, std::int64_t first,
                 std::int64_t count) {
  std::vector<std::string> bytes;
  std::vector<RowState> rows;
  std::vector<EncodedRow> encoded;
  RowEncoder encode(target.table);
  bytes.reserve(2 * static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    rows.push_back(any_row(worker, target));
    const RowValues values(first + i, rows.back(), target.columns);
    const EncodedRow row = encode(values.values());
    bytes.emplace_back(row.key);
    bytes.emplace_back(row.bytes);
    encoded.push_back(EncodedRow::of(bytes[bytes.size() - 2], bytes.back(), row.layout));
  }
  const auto change = [&] {
    return scope.in != nullptr ? target.table.insert_many(*scope.in, encoded)
                               : target.table.insert_many(encoded);
  };
  const auto note = [&] {
    for (std::int64_t i = 0; i < count; ++i) {
      worker.note_row(target, first + i, 0, rows[static_cast<std::size_t>(i)]);
    }
  };
  // Without a transaction, a change that is recorded before it is done must succeed.
  const bool is_taken =
      scope.in == nullptr &&
      std::ranges::any_of(std::views::iota(first, first + count), [&](std::int64_t key) {
        return seen(worker, scope, target, key).id != 0;
      });
  const Outcome outcome = is_taken ? worker.call("insert_many of what is there", change)
                                   : changed(worker, scope, target, "insert_many", change, note);
  worker.require(outcome, "insert_many", OutcomeKind::exists);
  if (is_taken && outcome) {
    worker.fault("insert_many has inserted rows that were there");
  }
}

void insert_many(Worker& worker, Scope& scope, const Target& target) {
  insert_rows(worker, scope, target, any_key(worker), 1 + worker.any(20));
}

// Reading

Direction any_direction(Worker& worker) {
  return worker.one_in(2) ? Direction::forward : Direction::backward;
}

Range any_range(Worker& worker) {
  const std::int64_t part = worker.any(part_of(kKeys));
  return worker.one_in(8)   ? Range::all()
         : worker.one_in(2) ? Range::prefix({part})
                            : Range::between({part}, {part + worker.any(8)});
}

std::map<std::int64_t, Id> shown_by(Worker& worker, const Scope& scope, Cursor cursor,
                                    Direction direction) {
  std::map<std::int64_t, Id> shown;
  if (direction == Direction::backward) {
    cursor.seek_last();
  }
  for (; cursor.valid(); direction == Direction::backward ? cursor.previous() : cursor.next()) {
    worker.check_row(cursor.row(), is_dirty(scope));
    if (!shown.emplace(key_of(cursor.row()), id_of(cursor.row())).second &&
        scope.keeps_snapshot()) {
      worker.fault(fmt::format("a cursor shows row {} twice", key_of(cursor.row())));
    }
  }
  return shown;
}

/// By cursor in any direction, and under page latches: with a snapshot both read the same.
void read_range(Worker& worker, Scope& scope, const Target& target) {
  const Range range = any_range(worker);
  const auto shown = worker.call("cursor", [&] {
    return shown_by(
        worker, scope,
        scope.in != nullptr ? target.table.cursor(*scope.in, range) : target.table.cursor(range),
        any_direction(worker));
  });
  const Keys visited = rows_in(worker, scope, target, range);
  if (scope.keeps_snapshot() &&
      shown != std::map<std::int64_t, Id>(visited.begin(), visited.end())) {
    worker.fault(fmt::format("a cursor shows {} rows, visit() {} or different ones", shown.size(),
                             visited.size()));
  }
}

void count(Worker& worker, Scope& scope, const Target& target) {
  const Range range = any_range(worker);
  const std::uint64_t rows = worker.call("count", [&] {
    return scope.in != nullptr ? target.table.count(*scope.in, range) : target.table.count(range);
  });
  const std::size_t visited = rows_in(worker, scope, target, range).size();
  if (scope.keeps_snapshot() && rows != visited) {
    worker.fault(fmt::format("count() is {}, visit() shows {}", rows, visited));
  }
  worker.call("approximate_size", [&] { return target.table.approximate_size(range).rows; });
}

void read_many(Worker& worker, Scope& scope, const Target& target) {
  std::vector<Key> keys;
  std::vector<std::unique_ptr<KeyOf>> named;
  for (int i = 0; i < 20; ++i) {
    named.push_back(std::make_unique<KeyOf>(any_key(worker)));
    keys.push_back(named.back()->key());
  }
  const auto show = [&](std::size_t number, const RowView& row) {
    worker.check_row(row, is_dirty(scope));
    if (row["part"].as_integer() != named[number]->part() ||
        row["name"].as_bytes() != named[number]->name()) {
      worker.fault("read_many shows another row");
    }
  };
  worker.call("read_many", [&] {
    scope.in != nullptr ? target.table.read_many(*scope.in, keys, show)
                        : target.table.read_many(keys, show);
  });
}

/// All rows in an index's order: with a snapshot those of the table that have a value there.
void read_index(Worker& worker, Scope& scope, const Target& target) {
  const auto indexes = target.table.indexes();
  if (indexes.empty()) {
    return;
  }
  const auto& schema = indexes[static_cast<std::size_t>(worker.any(std::ssize(indexes)))];
  const Index index = target.table.index(schema.name);
  const bool is_whole = worker.one_in(10);
  const Range range = is_whole ? Range::all() : Range::prefix({worker.any(12)});
  const auto shown = worker.call("index cursor", [&] {
    return shown_by(worker, scope,
                    scope.in != nullptr ? index.cursor(*scope.in, range) : index.cursor(range),
                    any_direction(worker));
  });
  if (!is_whole || !scope.keeps_snapshot()) {
    return;
  }
  const Keys visited = rows_in(worker, scope, target, Range::all());
  if (shown != std::map<std::int64_t, Id>(visited.begin(), visited.end())) {
    worker.fault(fmt::format("index \"{}\" shows {} rows, its table {} or different ones",
                             schema.name, shown.size(), visited.size()));
  }
}

struct Statement {
  const char* name;
  unsigned weight;
  void (*run)(Worker&, Scope&, const Target&);
};

constexpr std::array kStatements{
    Statement{"insert", 12, insert},
    Statement{"upsert", 12, upsert},
    Statement{"update", 12, update},
    Statement{"modify", 10, modify},
    Statement{"rewrite", 8, rewrite},
    Statement{"erase", 10, erase},
    Statement{"erase_range", 2, erase_range},
    Statement{"insert_many", 3, insert_many},
    Statement{"read a range", 4, read_range},
    Statement{"read many", 6, read_many},
    Statement{"count", 1, count},
    Statement{"read an index", 3, read_index},
};

}  // namespace

void any_statement(Worker& worker, Scope& scope) {
  std::int64_t all = 0;
  for (const Statement& statement : kStatements) {
    all += statement.weight;
  }
  std::int64_t at = worker.any(all);
  for (std::size_t number = 0; number < kStatements.size(); ++number) {
    at -= kStatements[number].weight;
    if (at < 0) {
      kStatements[number].run(worker, scope, worker.target(scope));
      ++worker.life().shared.counts[number];
      return;
    }
  }
}

void refill(Worker& worker, Scope& scope, const Target& target, std::int64_t rows) {
  if (!owns(scope, target)) {
    put(worker, scope, target, true);  // makes other transactions wait
    if (!owns(scope, target)) {
      return;
    }
  }
  erase_rows(worker, scope, target, Range::all());
  for (std::int64_t first = 0; first < rows; first += 50) {
    insert_rows(worker, scope, target, first, std::min<std::int64_t>(50, rows - first));
  }
}

std::size_t statement_count() {
  return kStatements.size();
}
const char* statement_name(std::size_t number) {
  return kStatements[number].name;
}

}  // namespace palimpsest::everything
