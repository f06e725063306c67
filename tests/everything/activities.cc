#include "tests/everything/activities.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <utility>

#include "tests/everything/judge.h"
#include "tests/everything/small_disk.h"
#include "tests/everything/statements.h"

namespace palimpsest::everything {
namespace {

struct Activity {
  const char* name;
  unsigned weight;
  void (Activities::*run)();
};

constexpr std::array kActivities{
    Activity{"transaction", 60, &Activities::transaction},
    Activity{"bulk", 4, &Activities::bulk},
    Activity{"refresh", 1, &Activities::refresh},
    Activity{"run", 15, &Activities::run},
    Activity{"loose transaction", 6, &Activities::loose},
    Activity{"call without a transaction", 25, &Activities::alone},
    Activity{"definition", 3, &Activities::define},
    Activity{"look at everything", 1, &Activities::look},
    Activity{"long read", 2, &Activities::long_read},
    Activity{"backup", 1, &Activities::backup},
    Activity{"room", 3, &Activities::change_room},
};

/// The numbers of statements begin here.
constexpr std::size_t kCountsOfActivities = 32;

}  // namespace

void Activities::one() {
  std::int64_t all = 0;
  for (const Activity& activity : kActivities) {
    all += activity.weight;
  }
  std::int64_t at = worker_.any(all);
  for (std::size_t number = 0; number < kActivities.size(); ++number) {
    at -= kActivities[number].weight;
    if (at < 0) {
      (this->*kActivities[number].run)();
      ++worker_.life().shared.counts[kCountsOfActivities + number];
      return;
    }
  }
}

std::size_t Activities::count() {
  return kActivities.size();
}
const char* Activities::name(std::size_t number) {
  return kActivities[number].name;
}

TransactionOptions Activities::any_options() {
  constexpr std::array kLevels{Isolation::snapshot, Isolation::snapshot, Isolation::read_committed,
                               Isolation::serializable};
  return {.durability = worker_.one_in(3) ? Durability::synchronous : Durability::asynchronous,
          .isolation = kLevels[static_cast<std::size_t>(worker_.any(std::ssize(kLevels)))]};
}

void Activities::give_up(Transaction& transaction) {
  if (transaction.is_active()) {
    worker_.call("rollback", [&] { transaction.rollback(); });
  }
  worker_.end(false);
}

void Activities::transact(const char* what, const TransactionOptions& options, const Body& body) {
  const bool is_loose = options.isolation == Isolation::none;
  std::optional<Transaction> transaction;
  worker_.begin(what, options.durability == Durability::synchronous, is_loose, false);
  try {
    transaction.emplace(worker_.call("begin", [&] { return worker_.database().begin(options); }));
    Scope scope{.in = &*transaction, .isolation = options.isolation, .is_bulk = options.bulk};
    if (is_loose) {
      scope.only = loose_table(worker_.thread());
    }
    // Once it has written, no other transaction changes columns before it has ended.
    const bool is_marked_first = !scope.keeps_snapshot() || worker_.one_in(2);
    if (is_marked_first) {
      worker_.write_marker(scope);
    }
    body(scope);
    if (!is_marked_first) {
      worker_.write_marker(scope);
    }
    if (worker_.one_in(12)) {
      return give_up(*transaction);
    }
    worker_.announce();
    worker_.call("commit", [&] { transaction->commit(); });
    worker_.end(true);
  } catch (const GivenUp&) {
    give_up(*transaction);
  } catch (const Error& error) {
    if (!worker_.is_expected(error) && error.code() != ErrorCode::failed) {
      worker_.fault(fmt::format("{}: {}: {}", what, name_of(error.code()), error.what()));
    }
    if (error.code() == ErrorCode::failed && !(options.bulk && worker_.mix().is_small_disk)) {
      worker_.fault(fmt::format("{}: {}", what, error.what()));
    }
    if (transaction) {
      give_up(*transaction);
    } else {
      worker_.end(false);
    }
  }
}

void Activities::some_statements(Scope& scope, std::int64_t count) {
  for (; count > 0; --count) {
    any_statement(worker_, scope);
  }
}

void Activities::transaction() {
  transact("transaction", any_options(), [&](Scope& scope) {
    some_statements(scope, worker_.one_in(20) ? worker_.any(150) : worker_.any(10));
  });
}

void Activities::bulk() {
  TransactionOptions options = any_options();
  options.bulk = true;
  options.isolation = worker_.one_in(3) ? Isolation::snapshot : Isolation::read_committed;
  transact("bulk", options, [&](Scope& scope) { some_statements(scope, 5 + worker_.any(100)); });
}

void Activities::refresh() {
  TransactionOptions options = any_options();
  options.bulk = true;
  options.isolation = Isolation::read_committed;
  transact("refresh", options, [&](Scope& scope) {
    refill(worker_, scope, worker_.target(scope), 50 + worker_.any(1500));
  });
}

/// The usual way to run a transaction.
void Activities::run() {
  RunOptions options{
      .transaction = any_options(), .attempts_max = 5, .restart_as_bulk = worker_.one_in(2)};
  const bool is_durable = options.transaction.durability == Durability::synchronous;
  worker_.begin("run()", is_durable, false, false);
  bool is_first = true;
  const auto body = [&](Transaction& transaction) {
    if (!std::exchange(is_first, false)) {
      worker_.begin_again();
    }
    // It may have become a bulk, and no call reports that: so its marker comes first.
    Scope scope{.in = &transaction, .isolation = Isolation::read_committed};
    try {
      worker_.write_marker(scope);
      some_statements(scope, worker_.any(20));
    } catch (const GivenUp&) {
      throw Error(ErrorCode::conflict, "a statement is in conflict");
    }
    worker_.announce();
  };
  try {
    worker_.call("run()", [&] { worker_.database().run(body, options); });
    worker_.end(true);
  } catch (const Error& error) {
    if (!worker_.is_expected(error)) {
      worker_.fault(fmt::format("run(): {}: {}", name_of(error.code()), error.what()));
    }
    worker_.end(false);
  }
}

void Activities::loose() {
  TransactionOptions options = any_options();
  options.isolation = Isolation::none;
  transact("loose transaction", options,
           [&](Scope& scope) { some_statements(scope, worker_.any(10)); });
}

void Activities::alone() {
  const bool is_durable = worker_.mix().options.durability == Durability::synchronous;
  worker_.begin("call without a transaction", is_durable, false, true);
  Scope scope{.isolation = Isolation::snapshot, .only = own_table(worker_.thread())};
  // One statement may be several calls, of which the last one changes something.
  worker_.announce();
  try {
    any_statement(worker_, scope);
    worker_.end(true);
  } catch (const GivenUp&) {
    worker_.end(false);
  } catch (const Error& error) {
    if (!worker_.is_expected(error)) {
      worker_.fault(fmt::format("alone: {}: {}", name_of(error.code()), error.what()));
    }
    worker_.end(false);
  }
}

/// A snapshot of everything must equal the journals up to the positions of the threads' markers.
void Activities::look() {
  try {
    const Transaction reader = worker_.call("begin", [&] {
      return worker_.database().begin({.isolation = Isolation::snapshot, .read_only = true});
    });
    const View view{.database = worker_.database(), .in = &reader};
    const std::string what = worker_.call("look at everything", [&] {
      Positions found{};
      return judged(view, worker_.life().world, worker_.life().shared, {.looker = worker_.thread()},
                    found);
    });
    if (!what.empty()) {
      worker_.fault("a snapshot: " + what);
    }
  } catch (const Error& error) {
    if (!worker_.is_expected(error)) {
      worker_.fault(fmt::format("looking: {}: {}", name_of(error.code()), error.what()));
    }
  }
}

/// Holds back the freeing of versions and of bulks.
void Activities::long_read() {
  if (reader_ && worker_.one_in(2)) {
    worker_.call("rollback", [&] { reader_.reset(); });
    return;
  }
  try {
    if (!reader_) {
      reader_.emplace(worker_.call("begin", [&] {
        return worker_.database().begin({.isolation = Isolation::snapshot, .read_only = true});
      }));
    }
    Scope scope{.in = &*reader_, .isolation = Isolation::snapshot};
    const Target target = worker_.target(scope);
    std::int64_t left = worker_.any(300);
    for (Cursor cursor = target.table.cursor(*reader_); cursor.valid() && left > 0; --left) {
      worker_.check_row(cursor.row(), false);
      cursor.next();
    }
  } catch (const Error& error) {
    if (!worker_.is_expected(error)) {
      worker_.fault(fmt::format("a long read: {}: {}", name_of(error.code()), error.what()));
    }
    reader_.reset();
  }
}

/// One in each life; it is judged when the life is over.
void Activities::backup() {
  Shared& shared = worker_.life().shared;
  int none = 0;
  if (worker_.mix().copy.empty() || !worker_.one_in(3) ||
      !shared.backup.compare_exchange_strong(none, kBackupBegun)) {
    return;
  }
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    shared.backup_lower[thread] = shared.threads[thread].promised_last(true);
  }
  try {
    worker_.call("backup", [&] { worker_.database().backup(worker_.mix().copy); });
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space) {  // its log was reused before it was copied
      worker_.fault(fmt::format("backup: {}: {}", name_of(error.code()), error.what()));
    }
    shared.backup = kBackupFailed;
    return;
  }
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    shared.backup_upper[thread] = shared.threads[thread].announced_last();
  }
  shared.backup = kBackupMade;
}

void Activities::change_room() {
  if (!worker_.mix().ballast.empty()) {
    const auto most = static_cast<std::int64_t>(worker_.mix().disk_bytes);
    resize_ballast(worker_.mix().ballast,
                   worker_.one_in(2) ? 0 : static_cast<std::uint64_t>(worker_.any(most)));
  }
}

// Definitions

void Activities::define() {
  const std::unique_lock alone(worker_.life().definers, std::try_to_lock);
  if (!alone) {
    return;
  }
  TransactionOptions options = any_options();
  if (options.isolation == Isolation::serializable) {
    options.isolation = Isolation::snapshot;
  }
  options.bulk = worker_.one_in(2);
  transact("definition", options, [&](Scope& scope) {
    const std::int64_t before = worker_.one_in(3) ? worker_.any(3) : 0;
    if (!scope.is_bulk) {
      some_statements(scope, before);
    }
    change_definition(scope);
    some_statements(scope, worker_.any(4));
  });
}

void Activities::change_definition(Scope& scope) {
  const auto table = worker_.one_in(5)
                         ? own_table(worker_.thread())
                         : shared_table(static_cast<std::uint32_t>(worker_.any(kSharedTables)));
  bool is_there = true;
  try {
    static_cast<void>(scope.in->table(table_name(table)));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) {
      throw;
    }
    is_there = false;
  }
  if (!is_there) {
    return create_table(scope, table);
  }
  if (scope.is_bulk && worker_.one_in(2)) {
    return alter(scope, table);
  }
  const Target target = worker_.target(scope, table);
  if (!scope.is_bulk && is_shared(table) && worker_.one_in(4)) {
    return drop_table(scope, target);
  }
  change_index(scope, target);
}

void Activities::create_table(Scope& scope, std::uint8_t table) {
  const Id made = worker_.new_id();
  const Outcome outcome = worker_.call("create_table", [&] {
    return scope.in->create_table(first_schema(table_name(table), made));
  });
  // Without a snapshot it may have been made since.
  worker_.require(outcome, "create_table", OutcomeKind::exists);
  if (outcome) {
    worker_.note({.kind = Step::Kind::table, .table = table, .made = made, .after = {.id = made}});
  }
}

void Activities::drop_table(Scope& scope, const Target& target) {
  const Outcome outcome =
      worker_.call("drop_table", [&] { return scope.in->drop_table(table_name(target.number)); });
  worker_.require(outcome, "drop_table");
  worker_.note({.kind = Step::Kind::table,
                .table = target.number,
                .made = target.columns.made,
                .before = target.columns.schema});
}

void Activities::change_index(Scope& scope, const Target& target) {
  const auto which = static_cast<std::uint32_t>(worker_.any(kIndexes));
  Step step{.kind = Step::Kind::index,
            .table = target.number,
            .index = static_cast<std::uint8_t>(which),
            .made = target.columns.made};
  for (const IndexSchema& index : target.table.indexes()) {
    if (const auto [number, id] = index_of(index.name); number == which) {
      if (scope.is_bulk) {
        return;  // which drops nothing
      }
      const Outcome dropped = worker_.call("drop_index", [&] {
        return scope.in->drop_index(table_name(target.number), index.name);
      });
      worker_.require(dropped, "drop_index");
      step.before = id;
      return worker_.note(step);
    }
  }
  step.after.id = worker_.new_id();
  const IndexSchema index = index_schema(which, step.after.id);
  const Outcome made = worker_.call(
      "create_index", [&] { return scope.in->create_index(table_name(target.number), index); });
  worker_.require(made, "create_index", OutcomeKind::exists);
  if (made) {
    worker_.note(step);
  }
}

/// Adds or removes columns, and renames the one whose name encodes which columns there are.
void Activities::alter(Scope& scope, std::uint8_t table) {
  Target target = worker_.target(scope, table);
  const std::string name = table_name(table);
  Step step{.kind = Step::Kind::rename,
            .table = table,
            .made = target.columns.made,
            .before = target.columns.schema,
            .after = {.id = worker_.new_id()}};
  TableAlteration alteration{.columns = target.table.schema().columns,
                             .renamed = {{.from = mark_name(step.before, step.made),
                                          .to = mark_name(step.after.id, step.made)}}};
  for (ColumnDefinition& column : alteration.columns) {
    if (column.name == alteration.renamed[0].from) {
      column.name = alteration.renamed[0].to;
    }
  }
  const std::vector<Id>& extras = target.columns.extras;
  const std::int64_t what = worker_.any(5);
  Outcome outcome;
  if (what == 0 && !extras.empty()) {
    step.kind = Step::Kind::drop_column;
    step.column = extras[static_cast<std::size_t>(worker_.any(std::ssize(extras)))];
    std::erase_if(alteration.columns, [&](const ColumnDefinition& column) {
      return column.name == extra_name(step.column);
    });
  } else if (what < 4 && extras.size() < 5) {
    step.kind = Step::Kind::add_column;
    step.column = worker_.new_id();
    step.fill = what == 1 ? Fill::null : what == 2 ? Fill::constant : Fill::computed;
    alteration.columns.push_back(extra_column(step.column));
  }
  const auto convert = [&](const RowView& before, std::span<Value> row) {
    if (step.fill == Fill::constant || step.fill == Fill::computed) {
      const Id full =
          step.fill == Fill::constant ? 0 : static_cast<Id>(before["full"].as_integer());
      row.back() = extra_value(full, step.column);
    }
  };
  outcome = worker_.call("alter_table", [&] {
    return step.fill == Fill::constant || step.fill == Fill::computed
               ? scope.in->alter_table(name, alteration, convert)
               : scope.in->alter_table(name, alteration);
  });
  worker_.require(outcome, "alter_table");
  worker_.note(step);
}

}  // namespace palimpsest::everything
