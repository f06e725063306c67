#include "tests/everything/worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "tests/everything/activities.h"

namespace palimpsest::everything {
namespace {

std::uint64_t mixed(std::uint64_t seed, std::uint64_t life, std::uint64_t thread) {
  seed ^= life << 8U | thread;
  return splitmix64(seed);
}

}  // namespace

Call::Call(CallInProgress& slot, const char* what) : slot_(slot), before_(slot.what.load()) {
  slot_.thread_id.store(::gettid());
  slot_.since_ns.store(now_ns());
  slot_.what.store(what);
}

Call::~Call() {
  slot_.since_ns.store(now_ns());
  slot_.what.store(before_);
}

Worker::Worker(Life& life, std::uint32_t thread)
    : life_(life),
      thread_(thread),
      journal_(life.shared.threads[thread]),
      random_(mixed(life.mix.seed, life.mix.life, thread)) {}

void Worker::run() {
  Activities activities(*this);
  while (!life_.ends.load(std::memory_order_relaxed) && has_room()) {
    activities.one();
  }
}

void Worker::fault(const std::string& what) const {
  throw std::runtime_error(
      fmt::format("thread {}, transaction {}: {}", thread_, journal_.last(), what));
}

void Worker::begin(const char* what, bool is_durable, bool is_loose, bool is_alone) {
  const std::uint32_t at = journal_.count.load();
  Entry& next = journal_.entries[at];
  next.what = what;
  next.is_durable = is_durable;
  next.is_loose = is_loose;
  next.is_alone = is_alone;
  next.steps_begin = at == 0 ? 0 : journal_.entries[at - 1].steps_end;
  next.steps_end = next.steps_begin;
  next.outcome = CommitOutcome::open;
  journal_.count.store(at + 1);
  ids_ = 0;
}

void Worker::begin_again() {
  entry().outcome = CommitOutcome::open;
  entry().steps_end = entry().steps_begin;
}

bool Worker::has_room() const {
  const std::uint32_t count = journal_.count.load();
  const std::uint32_t steps = count == 0 ? 0 : journal_.entries[count - 1].steps_end;
  return count + 10 < ThreadJournal::kEntriesMax && steps + 20'000 < ThreadJournal::kStepsMax;
}

void Worker::note_row(const Target& target, std::int64_t key, Id before, const RowState& after) {
  note({.kind = Step::Kind::row,
        .table = target.number,
        .key = key,
        .made = target.columns.made,
        .before = before,
        .after = after});
}

void Worker::write_marker(Scope& scope) {
  const Table marker = scope.in->table(marker_name(thread_, scope.isolation == Isolation::none));
  const auto number = static_cast<std::int64_t>(this->number());
  require(call("upsert of a marker", [&] { return marker.upsert(*scope.in, {1, number}); }),
          "a marker");
}

Target Worker::target(Scope& scope) {
  if (scope.only) {
    return target(scope, *scope.only);
  }
  return target(scope, one_in(3) ? own_table(thread_)
                                 : shared_table(static_cast<std::uint32_t>(any(kSharedTables))));
}

Target Worker::target(Scope& scope, std::uint8_t number) {
  const std::string name = table_name(number);
  if (scope.in == nullptr) {
    std::optional<Table> table = database().find_table(name);
    if (!table) {
      throw GivenUp{};
    }
    TableColumns columns = columns_of(table->schema());
    return {number, *std::move(table), std::move(columns)};
  }
  Table table = scope.in->table(name);  // not_found is to be expected
  TableColumns columns = columns_of(table.schema());
  return {number, std::move(table), std::move(columns)};
}

void Worker::require(const Outcome& outcome, const char* what,
                     std::optional<OutcomeKind> other) const {
  if (outcome.is_conflict()) {
    throw GivenUp{};
  }
  if (!outcome.is_done() && outcome.kind() != other) {
    fault(fmt::format("{}: {}", what, outcome.text()));
  }
}

bool Worker::is_expected(const Error& error) const {
  switch (error.code()) {
    case ErrorCode::conflict:
    case ErrorCode::gate_timeout:
    case ErrorCode::snapshot_too_old:
    case ErrorCode::transaction_too_old:
    case ErrorCode::version_budget_exceeded:
    case ErrorCode::not_serializable:
    case ErrorCode::too_many_transactions:
    case ErrorCode::not_found: return true;  // a table, or an index, was dropped
    case ErrorCode::no_space: return mix().is_small_disk;
    default: return false;
  }
}

void Worker::check_row(const RowView& row, bool is_dirty) const {
  if (const std::string what = fault_of(row); !what.empty()) {
    fault(what);
  }
  const Id id = id_of(row);
  const std::uint64_t writer = (id >> 56U) - 1;
  const std::uint64_t number = id >> 20U & ((std::uint64_t{1} << 36U) - 1);
  if (is_dirty || writer >= kThreads || (writer == thread_ && number == journal_.last())) {
    return;
  }
  const ThreadJournal& theirs = life_.shared.threads[writer];
  if (number > theirs.before) {
    const CommitOutcome outcome = theirs.at(number).outcome;
    if (outcome != CommitOutcome::announced && outcome != CommitOutcome::acknowledged) {
      fault(fmt::format("sees {:x}, which has not been committed", id));
    }
  }
}

}  // namespace palimpsest::everything
