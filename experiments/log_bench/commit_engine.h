// The interface that the driver needs from a transactional engine. One adapter (store_engine.h)
// implements it for all engines; the reference engine has its own.
//
// Every adapter does the same work for the same call: one transaction that changes kFieldBytes of
// one existing record, committed with the given durability. An adapter that meets a conflict
// repeats the transaction; the time counts.
//
// Thread-safety: a CommitEngine may be used by any number of threads; a CommitSession belongs to
// the thread that opened it and ends there, before the engine is closed.
// Failure: std::exception with the engine's own message; the driver ends the run.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "experiments/engines/store.h"
#include "experiments/log_bench/records.h"

namespace palimpsest::experiments {

class CommitSession {
 public:
  CommitSession() = default;
  virtual ~CommitSession() = default;
  CommitSession(const CommitSession&) = delete;
  CommitSession& operator=(const CommitSession&) = delete;

  /// One transaction: replaces the bytes of the record's value at `offset`, and commits.
  virtual void update(std::uint64_t record, std::size_t offset, const Field& bytes) = 0;

  /// The value of a record as committed; nothing if it is absent or of another size.
  [[nodiscard]] virtual std::optional<Value> read(std::uint64_t record) = 0;
};

/// The engine's counters of its log since it was opened, if it has them.
struct LogCounts {
  std::optional<std::uint64_t> record_bytes{};  ///< log records with their headers, without padding
  std::optional<std::uint64_t> log_bytes{};  ///< all that was written to the log, padding included
  std::optional<std::uint64_t> checkpoints{};  ///< completed ones
};

class CommitEngine {
 public:
  CommitEngine() = default;
  virtual ~CommitEngine() = default;
  CommitEngine(const CommitEngine&) = delete;
  CommitEngine& operator=(const CommitEngine&) = delete;

  /// Inserts the records [0, records) with their fresh_value(); called once, on an empty store.
  virtual void load(std::uint64_t records) = 0;
  [[nodiscard]] virtual std::unique_ptr<CommitSession> open_session() = 0;
  [[nodiscard]] virtual LogCounts log_counts() const = 0;
  /// How commits become durable, in the engine's own terms: "WAL, fdatasync by the group's leader".
  [[nodiscard]] virtual std::string durability_description() const = 0;
  /// Makes everything durable and closes; throws errors of background work. No sessions are open.
  virtual void close() = 0;
};

struct CommitSettings {
  std::filesystem::path directory;  ///< exists; empty, or as this engine left it
  std::uint64_t memory_bytes = 0;
  std::uint32_t sessions_max = 0;  ///< most sessions open at once
  Durability durability = Durability::sync;
  std::chrono::milliseconds flush_every{};  ///< asynchronous: the log is made durable this often
  std::chrono::milliseconds checkpoint_every{};  ///< for engines that checkpoint by time
  std::optional<std::uint64_t> log_bytes_max{};  ///< for engines that checkpoint as the log grows
  bool delta = false;  ///< by the engine's call for changes of parts of a value
};

/// Opens the engine, creating an empty store if the directory is empty.
using OpenCommitEngine = std::function<std::unique_ptr<CommitEngine>(const CommitSettings&)>;

/// Facts about an engine that the options need before it is opened.
struct CommitEngineTraits {
  std::string name;
  bool takes_delta = false;          ///< whether --delta is a choice
  bool bounds_log = false;           ///< whether --log_mib is a choice
  bool checkpoints_by_time = false;  ///< whether --checkpoint_ms is
  bool persistent = true;            ///< false if nothing reaches a disk
};

struct CommitEngineEntry {
  CommitEngineTraits traits;
  OpenCommitEngine open;
};

}  // namespace palimpsest::experiments
