// LMDB: transactions as large as the memory allows.
//
// Settings, from the comments of lmdb.h:
// - sorted: MDB_APPEND, "allows fast bulk loading when keys are already known to be in the correct
//   order".
// - shuffled: mdb_put.
// - MDB_NOSYNC, and mdb_env_sync at the end: nothing is durable before, which does not matter,
//   since a load begins again after a crash.
// - A transaction keeps the pages that it has changed in memory: it commits when they may have
//   taken half of the allowed memory. Shuffled rows are counted as a page each.
// Memory: resident memory includes mapped pages of the file.
#include <lmdb.h>

#include <utility>

#include "experiments/files/load_engine.h"
#include "experiments/peers/lmdb.h"

namespace palimpsest::experiments::files {
namespace {

using lmdb::ensure;
using lmdb::value_of;
using lmdb::view_of;

/// Address space, and a file that grows with its pages.
constexpr std::uint64_t kMapBytes = std::uint64_t{1} << 40U;
constexpr std::uint64_t kPageBytes = 4096;

class LmdbLoad final : public LoadEngine {
 public:
  explicit LmdbLoad(const LoadSettings& settings)
      : sorted_(settings.sorted), changed_bytes_max_(settings.memory_bytes / 2) {
    ensure(mdb_env_create(&environment_), "create an environment");
    try {
      ensure(mdb_env_set_mapsize(environment_, kMapBytes), "set the map size");
      ensure(mdb_env_open(environment_, settings.directory.c_str(), MDB_NOSYNC, 0600), "open");
      begin();
      ensure(mdb_dbi_open(writer_, nullptr, MDB_CREATE, &table_), "open the table");
      commit();
    } catch (...) {
      release();
      throw;
    }
  }
  ~LmdbLoad() override { release(); }

  void put(ByteView key, ByteView value) override {
    if (writer_ == nullptr) {
      begin();
    }
    MDB_val key_value = value_of(key);
    MDB_val data = value_of(value);
    ensure(mdb_put(writer_, table_, &key_value, &data, sorted_ ? MDB_APPEND : 0), "put");
    changed_bytes_ += sorted_ ? key.size() + value.size() : kPageBytes;
    if (changed_bytes_ >= changed_bytes_max_) {
      commit();
    }
  }

  void make_durable() override {
    if (writer_ != nullptr) {
      commit();
    }
    ensure(mdb_env_sync(environment_, 1), "sync");
  }

  void settle() override {}

  void for_each(FunctionRef<void(ByteView key, ByteView value)> seen) override {
    begin();
    MDB_cursor* cursor = nullptr;
    ensure(mdb_cursor_open(writer_, table_, &cursor), "open a cursor");
    MDB_val key = {};
    MDB_val value = {};
    int code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    for (; code == MDB_SUCCESS; code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
      seen(view_of(key), view_of(value));
    }
    ensure(code == MDB_NOTFOUND ? MDB_SUCCESS : code, "walk a cursor");
    mdb_cursor_close(cursor);
    commit();
  }

  std::string description() const override {
    return sorted_ ? "MDB_APPEND, MDB_NOSYNC, one sync at the end"
                   : "mdb_put, MDB_NOSYNC, one sync at the end";
  }

  void close() override { mdb_env_close(std::exchange(environment_, nullptr)); }

 private:
  void begin() { ensure(mdb_txn_begin(environment_, nullptr, 0, &writer_), "begin"); }
  void commit() {
    changed_bytes_ = 0;
    ensure(mdb_txn_commit(std::exchange(writer_, nullptr)), "commit");  // freed even if it fails
  }
  void release() {
    mdb_txn_abort(std::exchange(writer_, nullptr));  // accepts null, as the next does
    mdb_env_close(std::exchange(environment_, nullptr));
  }

  const bool sorted_;
  const std::uint64_t changed_bytes_max_;
  std::uint64_t changed_bytes_ = 0;  ///< about, by the transaction under way
  MDB_env* environment_ = nullptr;
  MDB_txn* writer_ = nullptr;  ///< the transaction under way, or null
  MDB_dbi table_ = 0;
};

}  // namespace

LoadEngineEntry lmdb_load() {
  return {.traits = {.name = "lmdb"},
          .open = [](const LoadSettings& settings) -> std::unique_ptr<LoadEngine> {
            return std::make_unique<LmdbLoad>(settings);
          }};
}

}  // namespace palimpsest::experiments::files
