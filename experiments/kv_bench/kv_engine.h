// The interface that the driver needs from a key-value engine. One adapter (store_engine.h)
// implements it for all engines; the reference engine and the bare tree (micro/tree_engine.h) have
// their own.
//
// Every adapter does the same work for the same call: lookups copy the value out, an update reads
// the value, changes it and writes it back, a scan hands every key and value to the sink. Faster
// ways of an engine (handing out pointers, blind writes) are not measured here.
//
// Thread-safety: a KvEngine may be used by any number of threads; a KvSession belongs to the thread
// that opened it and ends there, before the engine is closed.
// Failure: std::exception with the engine's own message; the driver ends the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "experiments/common/bytes.h"
#include "experiments/engines/store.h"
#include "experiments/kv_bench/records.h"

namespace palimpsest::experiments {

class KvSession {
 public:
  KvSession() = default;
  virtual ~KvSession() = default;
  KvSession(const KvSession&) = delete;
  KvSession& operator=(const KvSession&) = delete;

  /// Adds a record; the adapter may batch until finish_load.
  virtual void insert(ByteView key, ByteView value) = 0;
  /// Ends this session's part of a load.
  virtual void finish_load() = 0;

  /// Copies the value into `out` and returns its size; nothing if the key is absent. Values longer
  /// than `out` are cut there, and the size tells.
  [[nodiscard]] virtual std::optional<std::size_t> lookup(ByteView key, std::span<char> out) = 0;

  /// Reads the value, applies the change, writes it back; false if the key is absent.
  [[nodiscard]] virtual bool update(ByteView key, RecordChange& change) = 0;

  /// Hands records in key order, the first at or after `from`, to the sink until it has enough.
  virtual void scan(ByteView from, ScanSink& sink) = 0;
};

/// Counters since the engine was opened, where the engine keeps them.
struct EngineStats {
  std::optional<std::uint64_t> page_reads;
  std::optional<std::uint64_t> page_writes;
};

class KvEngine {
 public:
  KvEngine() = default;
  virtual ~KvEngine() = default;
  KvEngine(const KvEngine&) = delete;
  KvEngine& operator=(const KvEngine&) = delete;

  [[nodiscard]] virtual std::unique_ptr<KvSession> open_session(SessionUse use) = 0;
  /// Called once after all load sessions have finished: does the work that reads would otherwise
  /// pay for.
  virtual void finish_load() = 0;
  [[nodiscard]] virtual EngineStats stats() const = 0;
  /// How it reaches the disk: "io_uring, O_DIRECT", "mmap", ...
  [[nodiscard]] virtual std::string io_description() const = 0;
  /// Writes back all data and closes; the next open finds it. No sessions are open.
  virtual void close() = 0;
};

struct EngineSettings {
  std::filesystem::path directory;  ///< exists; empty, or as this engine left it
  std::uint64_t memory_bytes = 0;
  std::uint32_t page_bytes = 0;
  std::uint64_t records = 0;
  std::uint32_t value_bytes = 0;
  std::uint32_t sessions_max = 0;  ///< most sessions open at once
  bool fits_in_memory = false;     ///< whether the data is smaller than memory_bytes
  bool double_write = true;
};

/// Opens the engine, creating an empty store if the directory is empty.
using OpenEngine = std::function<std::unique_ptr<KvEngine>(const EngineSettings&)>;

/// Facts about an engine that the driver needs before opening it.
struct EngineTraits {
  std::string name;
  std::uint32_t page_kib_fixed = 0;    ///< the only page size it has; 0 if it can be chosen
  std::uint32_t load_threads_max = 0;  ///< 0 if loads gain from any number of threads
  std::uint32_t memory_mib_min = 1;
  bool takes_double_write = false;  ///< whether --double_write has an effect
  bool persistent = true;           ///< false if nothing remains after close
};

struct EngineEntry {
  EngineTraits traits;
  OpenEngine open;
};

}  // namespace palimpsest::experiments
