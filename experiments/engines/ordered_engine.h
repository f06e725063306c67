// Ordered records with transactions, as any embedded engine offers them: the seam between a
// workload and the engines that it runs on. Each engine has one adapter.
//
// A record is a number with a value of bytes. All commits are asynchronous: no adapter waits for
// the disk; each engine writes its log by its own defaults. A session has at most one transaction
// open.
// Thread-safety: an engine, any thread; a session or a reader, one thread at a time. Sessions and
// readers are destroyed before their engine.
// Failure: std::exception with the engine's own message; the transaction is rolled back when the
// session is destroyed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace palimpsest::experiments::engines {

class OrderedSession {
 public:
  OrderedSession() = default;
  virtual ~OrderedSession() = default;
  OrderedSession(const OrderedSession&) = delete;
  OrderedSession& operator=(const OrderedSession&) = delete;

  virtual void begin() = 0;
  virtual void commit() = 0;
  /// Inserts a record; its key is absent.
  virtual void insert(std::uint64_t key, ByteView value) = 0;
  /// Erases the record with the smallest key and returns the key; nothing if there is no record.
  /// Walks with the engine's cursor or iterator.
  [[nodiscard]] virtual std::optional<std::uint64_t> take_first() = 0;
  /// Replaces all records by those with the keys [0, records), in a transaction of its own, by the
  /// engine's calls for many records.
  virtual void replace_all(std::uint64_t records, ByteView value) = 0;
};

/// A snapshot, from when it was opened to when it is destroyed.
class OrderedReader {
 public:
  OrderedReader() = default;
  virtual ~OrderedReader() = default;
  OrderedReader(const OrderedReader&) = delete;
  OrderedReader& operator=(const OrderedReader&) = delete;

  /// The number of records, by reading each of them.
  [[nodiscard]] virtual std::uint64_t count() = 0;
};

class OrderedEngine {
 public:
  OrderedEngine() = default;
  virtual ~OrderedEngine() = default;
  OrderedEngine(const OrderedEngine&) = delete;
  OrderedEngine& operator=(const OrderedEngine&) = delete;

  [[nodiscard]] virtual std::unique_ptr<OrderedSession> open_session() = 0;
  [[nodiscard]] virtual std::unique_ptr<OrderedReader> open_reader() = 0;
  /// Its configuration, in the engine's own terms.
  [[nodiscard]] virtual std::string description() const = 0;
  virtual void close() = 0;
};

struct OrderedSettings {
  std::filesystem::path directory;  ///< exists and is empty
  std::uint64_t memory_bytes = 0;   ///< for the engine's cache
};

struct OrderedEngineTraits {
  std::string name;
};

struct OrderedEngineEntry {
  OrderedEngineTraits traits;
  std::function<std::unique_ptr<OrderedEngine>(const OrderedSettings&)> open;
};

[[nodiscard]] OrderedEngineEntry palimpsest_ordered();
[[nodiscard]] OrderedEngineEntry lmdb_ordered();
[[nodiscard]] OrderedEngineEntry rocksdb_ordered();
[[nodiscard]] OrderedEngineEntry sqlite_ordered();

}  // namespace palimpsest::experiments::engines
