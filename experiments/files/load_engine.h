// The interface that csv_load_peers needs from an engine: it puts rows, as keys and values, into an
// empty store, in the order of their keys or shuffled, by the engine's calls for bulk loads.
//
// Thread-safety: one thread. Failure: std::exception with the engine's own message; also for rows
// that should come in order and do not.
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
  /// After the last row: makes all rows survive any crash.
  virtual void make_durable() = 0;
  /// The remaining work, after which reads cost what they ordinarily do.
  virtual void settle() = 0;
  /// All rows, in the order of their keys.
  virtual void for_each(FunctionRef<void(ByteView key, ByteView value)> seen) = 0;
  /// The method, in the engine's own terms.
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
