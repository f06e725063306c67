// LMDB: a copy-on-write B+-tree in a memory map, one writer, no log.
//
// Settings, from the comments of lmdb.h (mdb_env_open, mdb_put, "Caveats"):
// - Synchronous: the default. A commit writes the copied pages, syncs, and writes the meta page
//   through. Writers wait for each other; there is no group commit.
// - Asynchronous: MDB_NOMETASYNC, which leaves out the second sync: "a system crash may undo the
//   last committed transaction". That is the nearest LMDB has without risking its integrity:
//   MDB_NOSYNC, with mdb_env_sync now and then, may leave a corrupt file. So it still syncs the
//   data of every commit, and ignores --flush_ms.
// - No MDB_WRITEMAP: with it each commit would msync the map.
// Log bytes: none; a commit writes whole pages, from leaf to root.
#include <fmt/format.h>
#include <lmdb.h>

#include <cstring>
#include <utility>

#include "experiments/log_bench/peer_engines.h"
#include "experiments/peers/lmdb.h"

namespace palimpsest::experiments {
namespace {

using lmdb::ensure;
using lmdb::value_of;

constexpr std::size_t kMapBytes = std::size_t{1} << 30U;  // address space and a sparse file

/// A transaction that is aborted unless committed.
class Transaction {
 public:
  Transaction(MDB_env* environment, unsigned flags) {
    ensure(mdb_txn_begin(environment, nullptr, flags, &transaction_), "begin");
  }
  ~Transaction() { mdb_txn_abort(transaction_); }  // accepts null
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  [[nodiscard]] MDB_txn* get() const noexcept { return transaction_; }

  void commit() {
    MDB_txn* const committing = std::exchange(transaction_, nullptr);  // freed even if it fails
    ensure(mdb_txn_commit(committing), "commit");
  }

 private:
  MDB_txn* transaction_ = nullptr;
};

class LmdbSession final : public CommitSession {
 public:
  LmdbSession(MDB_env* environment, MDB_dbi table) : environment_(environment), table_(table) {}

  void update(std::uint64_t record, std::size_t offset, const Field& bytes) override {
    Transaction writer(environment_, 0);
    std::optional<Value> value = get(writer, record);
    if (!value) {
      throw DamagedRecord(fmt::format("lmdb: record {} is missing", record));
    }
    std::memcpy(value->data() + offset, bytes.data(), bytes.size());
    const RecordKey key(record);
    MDB_val key_value = value_of(key.view());
    MDB_val data = value_of(view_of(*value));
    ensure(mdb_put(writer.get(), table_, &key_value, &data, 0), "put");
    writer.commit();
  }

  std::optional<Value> read(std::uint64_t record) override {
    const Transaction reader(environment_, MDB_RDONLY);
    return get(reader, record);
  }

 private:
  std::optional<Value> get(const Transaction& transaction, std::uint64_t record) const {
    const RecordKey key(record);
    MDB_val key_value = value_of(key.view());
    MDB_val data = {};
    const int code = mdb_get(transaction.get(), table_, &key_value, &data);
    if (code == MDB_NOTFOUND || (code == MDB_SUCCESS && data.mv_size != kValueBytes)) {
      return std::nullopt;
    }
    ensure(code, "get");
    Value value;
    std::memcpy(value.data(), data.mv_data, kValueBytes);
    return value;
  }

  MDB_env* environment_;
  MDB_dbi table_;
};

class LmdbEngine final : public CommitEngine {
 public:
  explicit LmdbEngine(const CommitSettings& settings)
      : synchronous_(settings.durability == Durability::synchronous) {
    ensure(mdb_env_create(&environment_), "create an environment");
    try {
      open(settings);
    } catch (...) {
      mdb_env_close(environment_);
      throw;
    }
  }

  ~LmdbEngine() override { mdb_env_close(environment_); }

  void load(std::uint64_t records) override {
    Transaction writer(environment_, 0);
    for (std::uint64_t record = 0; record < records; ++record) {
      const RecordKey key(record);
      const Value value = fresh_value(record);
      MDB_val key_value = value_of(key.view());
      MDB_val data = value_of(view_of(value));
      ensure(mdb_put(writer.get(), table_, &key_value, &data, MDB_APPEND), "put");
    }
    writer.commit();
  }

  std::unique_ptr<CommitSession> open_session() override {
    return std::make_unique<LmdbSession>(environment_, table_);
  }

  LogCounts log_counts() const override { return {}; }

  std::string durability_description() const override {
    return synchronous_ ? "pages and meta page synced by each commit"
                        : "MDB_NOMETASYNC: pages synced by each commit, the last may be undone";
  }

  void close() override { ensure(mdb_env_sync(environment_, 1), "sync"); }

 private:
  void open(const CommitSettings& settings) {
    ensure(mdb_env_set_mapsize(environment_, kMapBytes), "set the map size");
    ensure(mdb_env_set_maxreaders(environment_, settings.sessions_max + 8), "set the readers");
    const unsigned flags = synchronous_ ? 0U : unsigned{MDB_NOMETASYNC};
    ensure(mdb_env_open(environment_, settings.directory.c_str(), flags, 0600), "open");
    Transaction writer(environment_, 0);
    ensure(mdb_dbi_open(writer.get(), nullptr, MDB_CREATE, &table_), "open the table");
    writer.commit();
  }

  bool synchronous_;
  MDB_env* environment_ = nullptr;
  MDB_dbi table_ = 0;
};

}  // namespace

CommitEngineEntry lmdb_engine() {
  return {.traits = {.name = "lmdb"},
          .open = [](const CommitSettings& settings) -> std::unique_ptr<CommitEngine> {
            return std::make_unique<LmdbEngine>(settings);
          }};
}

}  // namespace palimpsest::experiments
