// One table of bytes, changed by an engine's calls for bulks: a load of many rows, in the order of
// their keys or shuffled, and the erasure of a range of them (bulk/, files/). One adapter for each
// engine; each cites where its settings come from.
//
// put() until make_durable(), then anything else.
// Thread-safety: one thread.
// Failure: std::exception with the engine's own message; also for rows that should come in order
// and do not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "palimpsest/function_ref.h"

#include "experiments/common/bytes.h"

namespace palimpsest::experiments {

/// Space in files.
struct Space {
  std::uint64_t data_bytes = 0;                   ///< of rows and their tree
  std::optional<std::uint64_t> reusable_bytes{};  ///< of these: free, if the engine reports it
};

class BulkStore {
 public:
  BulkStore() = default;
  virtual ~BulkStore() = default;
  BulkStore(const BulkStore&) = delete;
  BulkStore& operator=(const BulkStore&) = delete;

  virtual void put(ByteView key, ByteView value) = 0;
  /// After the last row: makes all rows survive any crash.
  virtual void make_durable() = 0;
  /// Erases the rows up to that key, included. They stay erased after any crash.
  virtual void erase_through(ByteView last) = 0;
  /// The remaining work, after which reads cost what they ordinarily do, and the space of erased
  /// rows is free, as far as the engine does that.
  virtual void settle() = 0;
  /// Calls seen(key, value) for the rows, in the order of their keys, until it returns false.
  virtual void visit(FunctionRef<bool(ByteView key, ByteView value)> seen) = 0;
  /// The largest key; nothing if there is no row.
  [[nodiscard]] virtual std::optional<std::string> last_key() = 0;
  [[nodiscard]] virtual Space space() = 0;
  /// The method, in the engine's own terms.
  [[nodiscard]] virtual std::string description() const = 0;
  virtual void close() = 0;
};

struct BulkSettings {
  std::filesystem::path directory;  ///< exists; empty, or as this engine left it
  std::uint64_t memory_bytes = 0;
  bool sorted = true;  ///< rows come in the order of their keys
  /// A load that begins again after a crash, of more rows than memory holds: nothing is durable
  /// before make_durable(). Else rows are put and erased, each by one durable change.
  bool restartable = false;
};

struct BulkTraits {
  std::string name;
};

struct BulkEntry {
  BulkTraits traits;
  std::function<std::unique_ptr<BulkStore>(const BulkSettings&)> open;
};

[[nodiscard]] BulkEntry lmdb_bulk();
[[nodiscard]] BulkEntry rocksdb_bulk();
[[nodiscard]] BulkEntry wiredtiger_bulk();

}  // namespace palimpsest::experiments
