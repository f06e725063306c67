// What csv_load_peers needs from an engine: rows as keys and values come into an empty store, in
// the order of their keys or in none, by the means that the engine has for much at a time.
//
// Thread-safety: one thread. Failure: std::exception with the engine's own message; also for rows
// that were to come in order and do not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/bytes.h"

namespace palimpsest::experiments::files {

class LoadEngine {
 public:
  LoadEngine() = default;
  virtual ~LoadEngine() = default;
  LoadEngine(const LoadEngine&) = delete;
  LoadEngine& operator=(const LoadEngine&) = delete;

  virtual void put(ByteView key, ByteView value) = 0;
  /// Behind the last row: all of them survive any crash.
  virtual void make_durable() = 0;
  /// What is left to be done until rows are read at their ordinary price.
  virtual void settle() = 0;
  /// All rows, in the order of their keys.
  virtual void for_each(FunctionRef<void(ByteView key, ByteView value)> seen) = 0;
  /// How it is done, in the engine's own terms.
  [[nodiscard]] virtual std::string description() const = 0;
  virtual void close() = 0;
};

struct LoadSettings {
  std::filesystem::path directory;  ///< exists; empty, or as this engine left it
  std::uint64_t memory_bytes = 0;
  bool sorted = false;  ///< rows come in the order of their keys
};

struct LoadEngineTraits {
  std::string name;
};

struct LoadEngineEntry {
  LoadEngineTraits traits;
  std::function<std::unique_ptr<LoadEngine>(const LoadSettings&)> open;
};

// Each adapter cites where its settings come from.
[[nodiscard]] LoadEngineEntry lmdb_load();
[[nodiscard]] LoadEngineEntry rocksdb_load();
[[nodiscard]] LoadEngineEntry wiredtiger_load();

}  // namespace palimpsest::experiments::files
