// The interface that the drivers of transactional workloads need from an engine: ordered tables of
// bytes, and transactions on them. One small adapter for each engine; everything above is the same
// for all.
//
// Templates, not virtual functions: the operations of a session are inlined into the workload's
// transactions. All engines store the same bytes (tables/encoded_key.h, tables/encoded_row.h) in
// the same tables; an index is a table whose values are empty, kept by the workload.
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

#include "base/bytes.h"
#include "experiments/oltp/store_session.h"
#include "experiments/tables/session.h"

namespace palimpsest::experiments::oltp {

/// The purpose of a session, so that an adapter can prepare the fastest honest way to do it.
enum class SessionUse : std::uint8_t {
  /// Transactions only insert, absent keys that no other session inserts, mostly ascending in each
  /// table. They need not be durable before finish_load().
  load = 1,
  run,
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
  std::filesystem::path directory;  ///< exists; empty, or as this engine left it
  std::vector<std::string> tables;  ///< names of letters and '_'
  /// A load has filled the tables: a missing one is an error. Else missing tables are created.
  bool loaded = false;
  std::uint64_t memory_bytes = 0;  ///< for everything the engine keeps in memory
  std::uint64_t data_bytes = 0;    ///< of keys and rows, as loaded
  std::uint32_t sessions_max = 0;  ///< most sessions open at once
  Isolation isolation = Isolation::none;
  Durability durability = Durability::async;
  bool write_conflicts = true;  ///< off: see StoreTraits::has_measuring_switches
  bool versions = true;         ///< likewise
  /// Writing of asynchronous commits begins within this time: for an engine without such a thread
  /// the adapter flushes the log this often (common/periodic_task.h).
  std::chrono::milliseconds asynchronous_interval{10};

  /// Whether the data, with the usual 30 % for half-full pages and their headers, fits memory.
  [[nodiscard]] bool fits_in_memory() const noexcept {
    return data_bytes / 10 * 13 <= memory_bytes;
  }
};

/// An engine's own figures; nothing if it does not have them. Those of the first group count since
/// it was opened, the rest are current values.
struct StoreCounts {
  std::optional<std::uint64_t> page_reads{};
  std::optional<std::uint64_t> page_writes{};
  std::optional<std::uint64_t> log_bytes{};

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

}  // namespace palimpsest::experiments::oltp
