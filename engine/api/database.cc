#include "palimpsest/database.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "palimpsest/error.h"

#include "base/io/machine.h"
#include "base/io/open_device.h"
#include "base/io/overlay_device.h"
#include "base/random.h"
#include "base/sync_point.h"
#include "base/thread_blocks.h"
#include "base/thread_number.h"
#include "buffer/page_header.h"
#include "engine/api/autocommit.h"
#include "engine/api/effective_options.h"
#include "engine/api/table_handle.h"
#include "engine/api/transaction_state.h"
#include "engine/api/visiting.h"
#include "engine/log_place.h"
#include "engine/table/sought_leaves.h"
#include "engine/table/table_state.h"

namespace palimpsest {
namespace detail {
namespace {

constexpr std::chrono::microseconds kLongestWait{20'000};

bool another_attempt_may_help(const Error& error) noexcept {
  switch (error.code()) {
    case ErrorCode::conflict:
    case ErrorCode::transaction_too_old:
    case ErrorCode::snapshot_too_old:
    case ErrorCode::not_serializable:
    case ErrorCode::too_many_transactions: return true;
    default: return false;
  }
}

}  // namespace

bool Backoff::wait_after(const Error& error) {
  if (attempts_left_ <= 1 || !another_attempt_may_help(error)) {
    return false;
  }
  --attempts_left_;
  wait();
  return true;
}

// The time is random, so that two transactions that met do not meet again.
void Backoff::wait() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  Random random(static_cast<std::uint64_t>(now) + thread_number());
  std::this_thread::sleep_for(
      std::chrono::microseconds(1 + random.below(static_cast<std::uint64_t>(longest_.count()))));
  longest_ = std::min(2 * longest_, kLongestWait);
}

Attempts::Attempts(const DatabaseState& database, unsigned attempts_max) noexcept
    : database_(database), backoff_(attempts_max) {}

void Attempts::failed(const Transaction& transaction, const Error& error) noexcept {
  conflicting_writer_ = {};
  const TransactionState* const state = transaction.state_.get();
  if (error.code() == ErrorCode::conflict && state != nullptr && state->transaction != nullptr) {
    const txn::ConflictingWriter conflicting_writer = state->transaction->conflicting_writer();
    conflicting_writer_ = {.transaction = conflicting_writer.transaction,
                           .life = conflicting_writer.life,
                           .is_definer = conflicting_writer.is_definer};
  }
}

// A definer that waits for a transaction of this thread does not end before that transaction does:
// so the caller gets an error.
bool Attempts::wait_after(const Error& error) {
  const txn::ConflictingWriter conflicting_writer{
      .transaction = static_cast<const txn::Transaction*>(conflicting_writer_.transaction),
      .life = conflicting_writer_.life,
      .is_definer = conflicting_writer_.is_definer};
  conflicting_writer_ = {};
  const txn::OwnWait own(began_);
  const auto until = began_ + database_.definition_patience;
  bool has_waited = false;
  for (;;) {
    if (own.is_in_vain(conflicting_writer)) {
      txn::OwnWait::refuse(std::string(error.what()) + ": run()");
    }
    if (waits_for_own(database_, conflicting_writer, own)) {
      return false;
    }
    if (!conflicting_writer.is_definer || !conflicting_writer.is_active() ||
        std::chrono::steady_clock::now() >= until) {
      break;
    }
    PALIMPSEST_SYNC_POINT("engine.definer.awaited");
    backoff_.wait();
    has_waited = true;
  }
  return (has_waited && !conflicting_writer.is_active()) || backoff_.wait_after(error);
}

void refuse_other_process(std::string_view path, int process) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: process {} opened the database, and this process is its child: it "
                          "cannot use what fork() copied; a child must open databases itself, each "
                          "when no other process has it open",
                          path, process));
}

void require_writable(const DatabaseState& database) {
  if (database.is_read_only()) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{}: the database is open read-only and cannot be written", database.path));
  }
}

void TableHandle::require_open() const {
  if (database_.engine == nullptr) [[unlikely]] {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\": the database was closed", table_->name()));
  }
}

void refuse_moved_away(std::string_view what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("the {} was moved from", what));
}

engine::DefinitionPtr TableHandle::require_definition() const {
  require_open();
  engine::DefinitionPtr now = visible_definition();
  if (now == nullptr) {
    engine::refuse_missing_table(*table_);
  }
  return now;
}

std::optional<Table> find_table(DatabaseState& database, std::string_view name,
                                const txn::Transaction* by) {
  engine::TablePtr table = database.engine->tables().find(name, by);
  if (table == nullptr) {
    return std::nullopt;
  }
  engine::DefinitionPtr definition = table->keep_visible_to(by);
  if (definition == nullptr) {
    return std::nullopt;
  }
  return Table(
      std::make_shared<const TableHandle>(database, std::move(table), std::move(definition), by));
}

Table require_table(DatabaseState& database, std::string_view name, const txn::Transaction* by) {
  std::optional<Table> table = find_table(database, name, by);
  if (!table) {
    throw Error(ErrorCode::not_found, "there is no table \"" + std::string(name) + "\"");
  }
  return *std::move(table);
}

}  // namespace detail

// Opening

namespace {

/// Adds the overlay that keeps writes in memory, if the database is opened to be read.
std::unique_ptr<io::Device> laid_over(const detail::DatabaseState& state,
                                      std::unique_ptr<io::Device> device) {
  return state.is_read_only()
             ? std::make_unique<io::OverlayDevice>(std::move(device), state.overlay)
             : std::move(device);
}

/// Without a log there is no database; but if there are pages, only the log is missing.
std::unique_ptr<io::Device> open_log(const detail::DatabaseState& state, const std::string& path,
                                     const io::DeviceOptions& options) {
  try {
    return state.is_read_only() ? laid_over(state, io::open_device(path, options))
                                : io::open_log_device(path, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found || !state.pages->exists(buffer::kPageFileName)) {
      throw;
    }
    engine::refuse_missing_log(*state.pages, path);
  }
}

void open_devices(detail::DatabaseState& state, const std::filesystem::path& directory,
                  const std::filesystem::path& log_directory, const io::DeviceOptions& options) {
  state.pages = laid_over(state, io::open_device(directory.string(), options));
  if (!log_directory.empty()) {
    state.log = open_log(state, log_directory.string(), options);
  }
}

// Many parts write to the overlay. When its memory runs out, their errors say only that there is no
// space left: report the memory limit instead.
std::unique_ptr<engine::Engine> open_engine(const detail::DatabaseState& state,
                                            const engine::EngineOptions& options) {
  io::Device& log = state.log != nullptr ? *state.log : *state.pages;
  try {
    return engine::Engine::open(*state.pages, log, options);
  } catch (const Error&) {
    if (!state.is_read_only() || !state.overlay->has_refused()) {
      throw;
    }
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{}: opened read-only, the database has more to recover than "
                            "memory_bytes, {}, can hold; opening it once for writing recovers it",
                            state.pages->path(), state.memory_bytes));
  }
}

}  // namespace

Database Database::open(const std::filesystem::path& directory, const Options& options) {
  engine::EffectiveOptions effective = engine::effective_options(options, io::this_machine());
  reserve_thread_blocks();  // its pages may have any size
  auto state = std::make_unique<detail::DatabaseState>();
  state->path = directory.string();
  state->options = effective.shown;
  state->memory_bytes = effective.database.memory_bytes;
  state->durability = effective.durability;
  state->isolation = effective.isolation;
  state->autocommit_patience = options.autocommit_patience;
  state->definition_patience = options.definition_patience;
  if (options.read_only) {
    state->overlay = std::make_shared<io::OverlayMemory>(state->memory_bytes);
  }
  state->messages = std::make_unique<MessageLog>(
      options.log ? options.log : stderr_log_sink(options.log_level), options.log_level);
  effective.device.log = state->messages->sink();
  effective.database.log = state->messages->sink();
  open_devices(*state, directory, options.log_directory, effective.device);
  state->engine = open_engine(*state, effective.database);
  state->has_large_pages = state->engine->file().page_size_bytes() > buffer::kPageSizeMin;
  engine::show_as_opened(state->options, *state->engine);
  state->messages->flush();
  return Database(std::move(state));
}

Database::Database(std::unique_ptr<detail::DatabaseState> state) noexcept
    : state_(std::move(state)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&& other) noexcept {
  detail::take_over(state_, other.state_);
  return *this;
}
Database::~Database() {
  detail::end_of(state_);
}

detail::DatabaseState& Database::state() const {
  if (state_ != nullptr) {
    state_->require_own_process();
  }
  if (state_ == nullptr || state_->engine == nullptr) [[unlikely]] {
    throw Error(ErrorCode::invalid_argument,
                state_ == nullptr ? "the database was moved from" : "the database was closed");
  }
  state_->reserve_blocks();
  return *state_;
}

// If closing fails half-way, nothing can go on, as checkpoints have ended; the next opening
// recovers what was not written. A database that was opened to be read has nothing to preserve, so
// such an error is ignored.
void Database::close() {
  detail::DatabaseState& state = this->state();
  try {
    state.engine->close();
  } catch (const std::exception&) {
    if (!state.engine->is_closed()) {
      throw;  // it is in use, and stays open
    }
    state.shut();
    if (!state.is_read_only()) {
      throw;
    }
  }
  state.shut();
}

// Transactions

namespace {

/// Estimated version memory of a changed row, if nothing is known about the rows. An update of some
/// columns takes less, one of a long row more.
constexpr std::uint64_t kVersionBytesOfRow = 200;

/// Whether the versions of this many rows would exceed what one transaction may have.
bool is_too_large(engine::Engine& engine, std::uint64_t changes) noexcept {
  const std::uint64_t most = engine.transactions().version_memory().bytes_max() / 2;
  return changes > most / kVersionBytesOfRow;
}

Isolation level_of(txn::Isolation isolation) noexcept {
  switch (isolation) {
    case txn::Isolation::none: return Isolation::none;
    case txn::Isolation::read_committed: return Isolation::read_committed;
    case txn::Isolation::serializable: return Isolation::serializable;
    case txn::Isolation::snapshot: break;
  }
  return Isolation::snapshot;
}

}  // namespace

// The bulk gets the isolation level of the failed transaction, however long it takes.
bool Database::makes_bulk_after(const Error& error, TransactionOptions& options) const {
  if (error.code() != ErrorCode::version_budget_exceeded || options.bulk || options.read_only) {
    return false;
  }
  const Isolation level = level_of(engine::isolation_of(options.isolation, state_->isolation));
  if (level == Isolation::serializable) {
    return false;
  }
  options.isolation = level;
  options.bulk = true;
  return true;
}

// Called after the body. If the engine has ended the transaction, the commit reports it.
void Database::commit_unless_ended(Transaction& transaction) {
  const auto has_ended = [&] {
    detail::TransactionState& state = transaction.state();
    const std::lock_guard turn(state.turn);
    return state.transaction == nullptr;
  };
  if (transaction.state_ != nullptr && !has_ended()) {
    transaction.commit();
  }
}

void Database::bind(Transaction& transaction) noexcept {
  transaction.state_->transaction->thread().bind();
}

Transaction Database::begin(const TransactionOptions& options) {
  detail::Visiting::refuse_within(this->state());
  if (options.read_only && (options.bulk || options.expected_changes != 0)) {
    throw Error(ErrorCode::invalid_argument, "a bulk transaction cannot be read-only");
  }
  detail::DatabaseState& database = this->state();
  if (options.bulk) {
    detail::require_writable(database);
  }
  const bool is_read_only = options.read_only || database.is_read_only();
  const bool is_serializable =
      engine::isolation_of(options.isolation, database.isolation) == txn::Isolation::serializable;
  if (options.bulk && options.isolation == Isolation::serializable) {
    throw Error(ErrorCode::invalid_argument, "a bulk transaction cannot be serializable");
  }
  const bool is_bulk = options.bulk || (!is_serializable && !is_read_only &&
                                        is_too_large(*database.engine, options.expected_changes));
  // A transaction that takes hours would lose its snapshot.
  const Isolation wanted = is_bulk && options.isolation == Isolation::by_default
                               ? Isolation::read_committed
                               : options.isolation;
  auto state = std::make_unique<detail::TransactionState>();
  state->database = &database;
  state->read_only = is_read_only;
  state->transaction =
      database.begin(options.durability, engine::isolation_of(wanted, database.isolation),
                     is_read_only ? txn::SnapshotUse::reads : txn::SnapshotUse::reads_and_writes);
  if (is_bulk) {
    state->bulk = std::make_unique<engine::Bulk>(database.engine->transactions(),
                                                 database.engine->tables(), *state->transaction);
  }
  return Transaction(std::move(state));
}

// Tables

namespace {

/// For definitions: when it is their turn, they change what exists then.
const RunOptions kOnce{.transaction = {.isolation = Isolation::read_committed}, .attempts_max = 1};

/// Calls define(transaction) in a transaction of its own, and retries conflicts with bulks or other
/// definers until `patience` is over.
template <class Define>
void define_alone(Database& database, std::chrono::milliseconds patience, Define&& define) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (detail::Backoff backoff(0);; backoff.wait()) {
    try {
      return database.run([&](Transaction& in) { define(in).require(); }, kOnce);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::conflict || std::chrono::steady_clock::now() >= until) {
        throw;
      }
    }
  }
}

}  // namespace

void Database::prefetch(std::span<const Place> places) const {
  const detail::DatabaseState& state = this->state();
  detail::Visiting::refuse_within(state);
  engine::SoughtLeaves leaves;
  std::vector<engine::DefinitionPtr> kept;
  for (const Place& place : places) {
    const detail::TableHandle& table = detail::require_handle(place.table_, "table or index");
    if (&table.database() != &state) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("table \"{}\" belongs to another database", table.table().name()));
    }
    kept.push_back(table.require_definition());
    const engine::TableDefinition& definition = *kept.back();
    if (place.index_.empty()) {
      leaves.add_row(definition, place.key_);
    } else {
      leaves.add_entry(definition, definition.format->require_index(place.index_), place.key_);
    }
  }
  leaves.prefetch();
}

Table Database::table(std::string_view name) const {
  return detail::require_table(state(), name, nullptr);
}

std::optional<Table> Database::find_table(std::string_view name) const {
  return detail::find_table(state(), name, nullptr);
}

std::vector<TableSchema> Database::tables() const {
  std::vector<TableSchema> schemas;
  for (const engine::TablePtr& table : state().engine->tables().all()) {
    const CallEpochs::Call call = table->calls().enter();
    if (const engine::TableDefinition* const definition = table->seen_by(nullptr, nullptr)) {
      schemas.push_back(definition->format->schema());
    }
  }
  return schemas;
}

Table Database::create_table(const TableSchema& schema) {
  define_alone(*this, state().definition_patience,
               [&](Transaction& in) { return in.create_table(schema); });
  return table(schema.name);
}

namespace {

std::string text_of_column(const std::vector<ColumnDefinition>& columns, std::size_t number) {
  return number < columns.size()
             ? fmt::format("\"{}\" {}", columns[number].name, text_of(columns[number].type))
             : "none";
}

void require_same(const TableSchema& there, const TableSchema& wanted) {
  for (std::size_t i = 0; i < std::max(there.columns.size(), wanted.columns.size()); ++i) {
    const std::string is = text_of_column(there.columns, i);
    const std::string is_to_be = text_of_column(wanted.columns, i);
    if (is != is_to_be) {
      throw Error(ErrorCode::already_exists,
                  fmt::format("table \"{}\" exists with other columns: column {} is {}, not {}",
                              there.name, i + 1, is, is_to_be));
    }
  }
  if (there.key != wanted.key) {
    throw Error(ErrorCode::already_exists,
                fmt::format("table \"{}\" exists with another key: ({}), not ({})", there.name,
                            fmt::join(there.key, ", "), fmt::join(wanted.key, ", ")));
  }
}

}  // namespace

// Between the search and the making, another thread may make the table, and drop it again.
Table Database::find_or_create_table(const TableSchema& schema) {
  for (;;) {
    if (std::optional<Table> table = find_table(schema.name)) {
      require_same(table->schema(), schema);
      return *std::move(table);
    }
    try {
      return create_table(schema);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::already_exists) {
        throw;
      }
    }
  }
}

void Database::drop_table(std::string_view table) {
  define_alone(*this, state().definition_patience,
               [&](Transaction& in) { return in.drop_table(table); });
}

void Database::create_index(std::string_view table, const IndexSchema& schema) {
  define_alone(*this, state().definition_patience,
               [&](Transaction& in) { return in.create_index(table, schema); });
}

void Database::drop_index(std::string_view table, std::string_view index) {
  define_alone(*this, state().definition_patience,
               [&](Transaction& in) { return in.drop_index(table, index); });
}

// Inspection

const std::vector<EffectiveOption>& Database::options() const {
  return state().options;
}

}  // namespace palimpsest
