#include "experiments/engines/palimpsest/store.h"

#include <fmt/format.h>

#include <stdexcept>

namespace palimpsest::experiments {
namespace {

palimpsest::Isolation isolation_of(Isolation isolation) {
  switch (isolation) {
    case Isolation::none: return palimpsest::Isolation::none;
    case Isolation::read_committed: return palimpsest::Isolation::read_committed;
    case Isolation::snapshot: return palimpsest::Isolation::snapshot;
    case Isolation::serializable: break;
  }
  return palimpsest::Isolation::serializable;
}

palimpsest::Durability durability_of(Durability durability) {
  return durability == Durability::sync ? palimpsest::Durability::synchronous
                                        : palimpsest::Durability::asynchronous;
}

palimpsest::Options options_of(const StoreSettings& settings) {
  palimpsest::Options options;
  options.memory_bytes = settings.memory_bytes;
  if (settings.purpose == Purpose::key_values) {
    options.page_bytes = settings.page_bytes;
    options.durability = durability_of(settings.durability);
  }
  options.log_bytes_max = settings.log_bytes_max.value_or(0);
  options.create_if_missing = !settings.loaded;
  options.asynchronous_interval = settings.asynchronous_interval;
  options.isolation = isolation_of(settings.isolation);
  options.experimental.write_conflicts = settings.write_conflicts;
  options.experimental.versions = settings.versions;
  return options;
}

std::vector<palimpsest::Table> open_tables(Database& database, const StoreSettings& settings) {
  std::vector<palimpsest::Table> tables;
  const std::vector<std::string> names =
      settings.tables.empty() ? std::vector<std::string>{"records"} : settings.tables;
  for (const std::string& name : names) {
    const auto found = database.find_table(name);
    if (!found && settings.loaded) {
      throw std::runtime_error(fmt::format("{}: table {} was loaded, but is missing",
                                           settings.directory.string(), name));
    }
    tables.push_back(found ? *found : database.create_table(key_value_table(name)));
  }
  return tables;
}

}  // namespace

void PalimpsestSession::rollback() noexcept {
  try {
    if (transaction_ && transaction_->is_active()) {
      transaction_->rollback();
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it has failed, as the next call says
  }
  transaction_.reset();
}

void PalimpsestSession::prefetch(std::span<const TablePlace> places) {
  prefetched_.clear();
  for (const TablePlace& place : places) {
    prefetched_.emplace_back(at(place.table), Key::encoded(place.key));
  }
  database_.prefetch(prefetched_);
}

Access PalimpsestSession::insert_many(TableId table, std::span<const RowBytes> rows) {
  inserted_.clear();
  for (const RowBytes& row : rows) {
    inserted_.push_back(palimpsest::EncodedRow::of(row.key, row.bytes));
  }
  return attempt([&] { return access_of(at(table).insert_many(*transaction_, inserted_)); });
}

std::span<const Key> PalimpsestSession::keys_of(std::span<const ByteView> keys) {
  keys_.clear();
  for (const ByteView key : keys) {
    keys_.push_back(Key::encoded(key));
  }
  return keys_;
}

Access PalimpsestSession::access_of(const palimpsest::Outcome& outcome) noexcept {
  switch (outcome.kind()) {
    case OutcomeKind::done: return Access::done;
    case OutcomeKind::exists: return Access::exists;
    case OutcomeKind::absent: return Access::missing;
    case OutcomeKind::conflict: break;
  }
  reason_ = ConflictReason::write_conflict;
  return Access::conflict;
}

Access PalimpsestSession::conflict_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::not_serializable: reason_ = ConflictReason::validation; break;
    case ErrorCode::conflict: reason_ = ConflictReason::write_conflict; break;
    case ErrorCode::transaction_too_old:
    case ErrorCode::snapshot_too_old: reason_ = ConflictReason::too_old; break;
    default: throw;
  }
  return Access::conflict;
}

PalimpsestStore::PalimpsestStore(const StoreSettings& settings)
    : settings_(settings),
      database_(Database::open(settings.directory, options_of(settings))),
      tables_(open_tables(database_, settings)) {}

std::unique_ptr<PalimpsestSession> PalimpsestStore::open_session(SessionUse use) {
  const bool loads = use == SessionUse::load;
  return std::make_unique<PalimpsestSession>(
      database_, tables_, durability_of(loads ? Durability::async : settings_.durability),
      settings_.purpose == Purpose::key_values && !loads, !settings_.fits_in_memory());
}

StoreCounts PalimpsestStore::counts() const {
  const Statistics statistics = database_.statistics();
  return {.page_reads = statistics.page_reads,
          .page_writes = statistics.page_writes,
          .log_bytes = statistics.log_device_bytes,
          .log_record_bytes = statistics.log_bytes,
          .checkpoints = statistics.checkpoints,
          .data_bytes = statistics.data_bytes,
          .version_bytes = statistics.version_bytes,
          .mapping_table_bytes = statistics.entry_bytes,
          .orphan_tables = statistics.orphan_tables};
}

std::string PalimpsestStore::description() const {
  std::string io;
  for (const EffectiveOption& option : database_.options()) {
    if (option.name == "use_io_uring") {
      io = fmt::format(", use_io_uring {} ({})", option.value, option.reason);
    }
  }
  if (settings_.purpose == Purpose::churn) {
    return "asynchronous commits; a cursor takes; a bulk replaces";
  }
  return (settings_.durability == Durability::sync
              ? std::string("commits are durable when they return")
              : fmt::format("commits are written to disk after {} ms",
                            settings_.asynchronous_interval.count())) +
         io;
}

EngineOptions PalimpsestStore::effective_options() const {
  EngineOptions options;
  for (const EffectiveOption& option : database_.options()) {
    options.push_back(
        {.name = option.name, .value = fmt::format("{} ({})", option.value, option.reason)});
  }
  return options;
}

void PalimpsestStore::close() {
  tables_.clear();
  database_.close();
}

StoreEntry<PalimpsestStore> palimpsest_store() {
  return {.traits = {.name = "palimpsest",
                     .isolations = {Isolation::snapshot, Isolation::serializable,
                                    Isolation::read_committed, Isolation::none},
                     .durabilities = {Durability::async, Durability::sync},
                     .memory_mib_min = 8,
                     .bounds_log = true,
                     .has_measuring_switches = true},
          .open = [](const StoreSettings& settings) {
            return std::make_unique<PalimpsestStore>(settings);
          }};
}

}  // namespace palimpsest::experiments
