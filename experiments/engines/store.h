// The interface of every engine for every benchmark: ordered tables of bytes, and transactions on
// them. One adapter for each engine; everything above is the same for all.
//
// Templates, not virtual functions: the operations of a session are inlined into the workload's
// transactions. All engines store the same bytes in the same tables; an index is a table whose
// values are empty, kept by the workload.
//
// StoreSettings::purpose says what the benchmark measures. Each engine is configured for that as
// its users would; its configuration for all purposes stands in one place, beside its adapter.
//
// store_session.h defines a Session.
//
// A Store is an open database:
//   Session                        the type of its sessions
//   open_session(use)              a std::unique_ptr<Session>, used and destroyed by the calling
//                                  thread, before close()
//   finish_load()                  called once, after all sessions of a load are gone: makes all
//                                  durable and settles what reads would otherwise pay for
//   counts()                       StoreCounts
//   description()                  how it reaches the disk and keeps its promises, for people
//   effective_options()            EngineOptions: how it is set, defaults included, in its own
//   terms
//   close()                        makes all durable and closes; the next opening finds all data.
//                                  Nothing else is called afterwards
// Failure: std::exception with the engine's own message from everything but rollback(): the run
// ends.
// Thread-safety: a Store, any thread; a Session, its own.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/common/bytes.h"
#include "experiments/engines/store_session.h"
#include "experiments/tables/session.h"

namespace palimpsest::experiments {

/// What a store is opened for.
enum class Purpose : std::uint8_t {
  transactions = 1,  ///< of several operations on several tables (oltp/)
  commits,           ///< small transactions, made durable (log_bench/)
  /// Single operations, without promises after a crash (kv_bench/). begin() and commit() frame one
  /// operation, and do nothing where the engine offers operations without a transaction.
  key_values,
  /// The same work again and again on one table (endurance/). A transaction that erases or inserts
  /// need not look whether the key exists.
  churn,
};

/// The purpose of a session, so that an adapter can prepare the fastest honest way to do it.
enum class SessionUse : std::uint8_t {
  /// Transactions only insert, absent keys that no other session inserts, mostly ascending in each
  /// table. They need not be durable before finish_load().
  load = 1,
  read_only,
  read_write,
};

/// Isolation levels.
enum class Isolation : std::uint8_t {
  none = 1,        ///< atomic; no two open transactions change the same row
  read_committed,  ///< and each call reads what has been committed
  snapshot,        ///< and each reads one state of the database
  serializable,
};
[[nodiscard]] std::string_view name_of(Isolation isolation) noexcept;

/// When commit() returns.
enum class Durability : std::uint8_t {
  async = 1,  ///< at once; writing begins within StoreSettings::asynchronous_interval
  sync,       ///< when the transaction survives any crash
};
[[nodiscard]] std::string_view name_of(Durability durability) noexcept;

struct StoreSettings {
  Purpose purpose = Purpose::transactions;
  std::filesystem::path directory;  ///< exists; empty, or as this engine left it
  std::vector<std::string>
      tables;  ///< names of letters and '_'; none: one table, the engine names it
  /// A load has filled the tables: a missing one is an error. Else missing tables are created.
  bool loaded = false;
  std::uint64_t memory_bytes = 0;  ///< for everything the engine keeps in memory
  std::uint64_t data_bytes = 0;    ///< of keys and rows, as loaded
  std::uint32_t sessions_max = 0;  ///< most sessions open at once
  Isolation isolation = Isolation::none;
  Durability durability = Durability::async;
  bool write_conflicts = true;  ///< off: see StoreTraits::has_measuring_switches
  bool versions = true;         ///< likewise
  std::uint32_t page_bytes = 4096;
  /// Writing of asynchronous commits begins within this time: for an engine without such a thread
  /// the adapter flushes the log this often (common/periodic_task.h).
  std::chrono::milliseconds asynchronous_interval{10};
  /// For engines that checkpoint by time, at Purpose::commits.
  std::chrono::milliseconds checkpoint_every{};
  /// For engines that checkpoint as the log grows; else as log_bytes_default().
  std::optional<std::uint64_t> log_bytes_max{};

  /// Whether the data, with the usual 30 % for half-full pages and their headers, fits memory.
  [[nodiscard]] bool fits_in_memory() const noexcept {
    return data_bytes / 10 * 13 <= memory_bytes;
  }
  /// Maximum log before an engine flushes or checkpoints the logged changes: four times the memory,
  /// within 256 MiB to 4 GiB, as Palimpsest's default (Options::log_bytes_max).
  [[nodiscard]] constexpr std::uint64_t log_bytes_default() const noexcept {
    constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
    return std::clamp(4 * std::min(memory_bytes, 4096 * kMib), 256 * kMib, 4096 * kMib);
  }
};

/// An engine's own figures; nothing if it does not have them. Those of the first group count since
/// it was opened, the rest are current values.
struct StoreCounts {
  std::optional<std::uint64_t> page_reads{};
  std::optional<std::uint64_t> page_writes{};
  std::optional<std::uint64_t> log_bytes{};         ///< written to the log, padding included
  std::optional<std::uint64_t> log_record_bytes{};  ///< of records with their headers
  std::optional<std::uint64_t> checkpoints{};       ///< completed ones

  std::optional<std::uint64_t> data_bytes{};  ///< of disk, in use, without the log
  std::optional<std::uint64_t> version_bytes{};
  std::optional<std::uint64_t> mapping_table_bytes{};
  std::optional<std::uint64_t> orphan_tables{};
};

/// An option of an engine in effect.
struct EngineOption {
  std::string name;
  std::string value;
};
using EngineOptions = std::vector<EngineOption>;

template <class S>
concept Store =
    StoreSession<typename S::Session> && requires(S& store, const S& constant, SessionUse use) {
      { store.open_session(use) } -> std::same_as<std::unique_ptr<typename S::Session>>;
      store.finish_load();
      { constant.counts() } -> std::same_as<StoreCounts>;
      { constant.description() } -> std::same_as<std::string>;
      { constant.effective_options() } -> std::same_as<EngineOptions>;
      store.close();
    };

/// Facts about an engine that a driver needs before opening it.
struct StoreTraits {
  std::string name;                      ///< of --engine
  std::vector<Isolation> isolations;     ///< supported ones; the first is the default
  std::vector<Durability> durabilities;  ///< likewise
  std::uint32_t memory_mib_min = 1;
  std::uint32_t load_threads_max = 0;  ///< 0: loads gain from any number of threads
  std::uint32_t load_batch = 1000;     ///< records of a transaction that loads key-values
  std::uint32_t page_kib_fixed = 0;    ///< the only page size it has; 0 if it can be chosen
  bool takes_delta = false;            ///< whether its sessions have replace_bytes()
  bool bounds_log = false;             ///< whether StoreSettings::log_bytes_max is a choice
  bool checkpoints_by_time = false;    ///< whether StoreSettings::checkpoint_every is
  /// Whether it can run without checking for conflicts, and without keeping versions, one
  /// transaction at a time; for measuring their cost.
  bool has_measuring_switches = false;
};

/// An engine as passed to drivers.
template <Store S>
struct StoreEntry {
  StoreTraits traits;
  std::function<std::unique_ptr<S>(const StoreSettings&)> open;
};

}  // namespace palimpsest::experiments
