// LMDB: one writer; readers see the pages of their snapshot, which writers do not reuse meanwhile.
//
// Settings, from the comments of lmdb.h: MDB_NOSYNC, with which a commit does not wait for the
// disk; MDB_NOTLS, so that a reader belongs to its object and not to its thread. The map is larger
// than any file here: LMDB has no cache of its own, and ignores `memory_bytes`.
#include <lmdb.h>

#include <utility>

#include "experiments/common/record_key.h"
#include "experiments/engines/ordered_engine.h"
#include "experiments/peers/lmdb.h"

namespace palimpsest::experiments::engines {
namespace {

using lmdb::ensure;
using lmdb::value_of;
using lmdb::view_of;

constexpr std::uint64_t kMapBytes = std::uint64_t{1} << 36U;

/// A transaction that is aborted unless committed.
class Scope {
 public:
  Scope(MDB_env* environment, unsigned flags) {
    ensure(mdb_txn_begin(environment, nullptr, flags, &transaction_), "begin");
  }
  ~Scope() { mdb_txn_abort(transaction_); }  // accepts null
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  [[nodiscard]] MDB_txn* get() const noexcept { return transaction_; }
  void commit() {
    MDB_txn* const committing = std::exchange(transaction_, nullptr);  // freed even if it fails
    ensure(mdb_txn_commit(committing), "commit");
  }

 private:
  MDB_txn* transaction_ = nullptr;
};

/// Destroyed before its transaction.
class Position {
 public:
  Position(const Scope& in, MDB_dbi table) {
    ensure(mdb_cursor_open(in.get(), table, &cursor_), "open a cursor");
  }
  ~Position() { mdb_cursor_close(cursor_); }
  Position(const Position&) = delete;
  Position& operator=(const Position&) = delete;

  /// False if there is no such record.
  [[nodiscard]] bool move(MDB_cursor_op to) {
    MDB_val value = {};
    const int code = mdb_cursor_get(cursor_, &key_, &value, to);
    if (code != MDB_NOTFOUND) {
      ensure(code, "move a cursor");
    }
    return code == MDB_SUCCESS;
  }
  [[nodiscard]] std::uint64_t key() const { return record_of(view_of(key_)); }
  void erase() { ensure(mdb_cursor_del(cursor_, 0), "delete"); }

 private:
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_ = {};
};

class Session final : public OrderedSession {
 public:
  Session(MDB_env* environment, MDB_dbi table) : environment_(environment), table_(table) {}

  void begin() override { scope_.emplace(environment_, 0U); }
  void commit() override {
    scope_->commit();
    scope_.reset();
  }

  void insert(std::uint64_t key, ByteView value) override { put(*scope_, key, value, 0); }

  std::optional<std::uint64_t> take_first() override {
    Position position(*scope_, table_);
    if (!position.move(MDB_FIRST)) {
      return std::nullopt;
    }
    const std::uint64_t key = position.key();
    position.erase();
    return key;
  }

  void replace_all(std::uint64_t records, ByteView value) override {
    Scope scope(environment_, 0);
    ensure(mdb_drop(scope.get(), table_, 0), "empty the table");
    for (std::uint64_t key = 0; key < records; ++key) {
      put(scope, key, value, MDB_APPEND);
    }
    scope.commit();
  }

 private:
  void put(const Scope& in, std::uint64_t key, ByteView value, unsigned flags) const {
    const RecordKey bytes(key);
    MDB_val key_value = value_of(bytes.view());
    MDB_val data = value_of(value);
    ensure(mdb_put(in.get(), table_, &key_value, &data, flags), "put");
  }

  MDB_env* environment_;
  MDB_dbi table_;
  std::optional<Scope> scope_;
};

class Reader final : public OrderedReader {
 public:
  Reader(MDB_env* environment, MDB_dbi table) : scope_(environment, MDB_RDONLY), table_(table) {}

  std::uint64_t count() override {
    Position position(scope_, table_);
    std::uint64_t count = 0;
    for (bool there = position.move(MDB_FIRST); there; there = position.move(MDB_NEXT)) {
      ++count;
    }
    return count;
  }

 private:
  Scope scope_;
  MDB_dbi table_;
};

class Engine final : public OrderedEngine {
 public:
  explicit Engine(const OrderedSettings& settings) {
    ensure(mdb_env_create(&environment_), "create an environment");
    try {
      ensure(mdb_env_set_mapsize(environment_, kMapBytes), "set the map size");
      ensure(mdb_env_open(environment_, settings.directory.c_str(), MDB_NOSYNC | MDB_NOTLS, 0600),
             "open");
      Scope scope(environment_, 0);
      ensure(mdb_dbi_open(scope.get(), nullptr, MDB_CREATE, &table_), "open the table");
      scope.commit();
    } catch (...) {
      close();
      throw;
    }
  }
  ~Engine() override { close(); }

  std::unique_ptr<OrderedSession> open_session() override {
    return std::make_unique<Session>(environment_, table_);
  }
  std::unique_ptr<OrderedReader> open_reader() override {
    return std::make_unique<Reader>(environment_, table_);
  }
  std::string description() const override { return "MDB_NOSYNC; mdb_drop and MDB_APPEND replace"; }
  void close() override { mdb_env_close(std::exchange(environment_, nullptr)); }  // accepts null

 private:
  MDB_env* environment_ = nullptr;
  MDB_dbi table_ = 0;
};

}  // namespace

OrderedEngineEntry lmdb_ordered() {
  return {.traits = {.name = "lmdb"}, .open = [](const OrderedSettings& settings) {
            return std::make_unique<Engine>(settings);
          }};
}

}  // namespace palimpsest::experiments::engines
