// LMDB: a copy-on-write B+-tree in a memory map, one writer, readers without latches.
//
// Settings, from the comments of lmdb.h (mdb_env_open, mdb_put, "Caveats"):
// - MDB_NOSYNC: commits do not flush; no engine here syncs. It includes MDB_NOMETASYNC.
// - MDB_WRITEMAP when the data fits memory: "may be slightly faster for DBs that fit entirely in
//   RAM, but is slower for DBs larger than RAM".
// - MDB_NORDAHEAD when it does not: "may help random read performance when the DB is larger than
//   RAM and system RAM is full".
// - Reads: one read transaction per thread. Read-only sessions keep theirs for the whole phase, the
//   fastest way. Beside writers that would keep LMDB from reusing pages ("Avoid long-lived
//   transactions"), so read-write sessions renew theirs for each lookup.
// - Loads: MDB_APPEND in one thread ("allows fast bulk loading when keys are already known to be in
//   the correct order"), plain puts for a random load order. Transactions of kLoadBatch records.
// Memory: LMDB has no cache of its own; it uses the page cache, capped from outside (cgroup).
#include <lmdb.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "experiments/kv_bench/peer_engines.h"
#include "experiments/peers/lmdb.h"

namespace palimpsest::experiments {
namespace {

using lmdb::ensure;
using lmdb::value_of;
using lmdb::view_of;

constexpr std::uint64_t kLoadBatch = 10'000;
constexpr std::uint32_t kPageKib = 4;

class LmdbSession final : public KvSession {
 public:
  LmdbSession(MDB_env* environment, MDB_dbi table, SessionUse use)
      : environment_(environment), table_(table), use_(use) {
    if (use != SessionUse::load) {
      ensure(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &reader_),
             "begin a read transaction");
      if (use == SessionUse::read_write) {
        mdb_txn_reset(reader_);
      }
    }
  }

  ~LmdbSession() override {
    mdb_txn_abort(writer_);  // accepts null
    mdb_txn_abort(reader_);
  }

  void insert(ByteView key, ByteView value) override {
    if (writer_ == nullptr) {
      ensure(mdb_txn_begin(environment_, nullptr, 0, &writer_), "begin a write transaction");
    }
    MDB_val key_value = value_of(key);
    MDB_val data = value_of(value);
    int code = mdb_put(writer_, table_, &key_value, &data, appending_ ? MDB_APPEND : 0);
    if (code == MDB_KEYEXIST && appending_) {  // not in ascending order
      appending_ = false;
      code = mdb_put(writer_, table_, &key_value, &data, 0);
    }
    ensure(code, "put");
    if (++batched_ == kLoadBatch) {
      finish_load();
    }
  }

  void finish_load() override {
    if (writer_ != nullptr) {
      commit();
    }
    batched_ = 0;
  }

  std::optional<std::size_t> lookup(ByteView key, std::span<char> out) override {
    const bool renew = use_ == SessionUse::read_write;
    if (renew) {
      ensure(mdb_txn_renew(reader_), "renew a read transaction");
    }
    MDB_val key_value = value_of(key);
    MDB_val data = {};
    const int code = mdb_get(reader_, table_, &key_value, &data);
    std::optional<std::size_t> size;
    if (code == MDB_SUCCESS) {
      std::memcpy(out.data(), data.mv_data, std::min(out.size(), data.mv_size));
      size = data.mv_size;
    }
    if (renew) {
      mdb_txn_reset(reader_);
    }
    if (code != MDB_NOTFOUND) {
      ensure(code, "get");
    }
    return size;
  }

  bool update(ByteView key, RecordChange& change) override {
    ensure(mdb_txn_begin(environment_, nullptr, 0, &writer_), "begin a write transaction");
    MDB_val key_value = value_of(key);
    MDB_val data = {};
    const int code = mdb_get(writer_, table_, &key_value, &data);
    if (code == MDB_NOTFOUND) {
      mdb_txn_abort(writer_);
      writer_ = nullptr;
      return false;
    }
    ensure(code, "get");
    copy_.assign(view_of(data).begin(), view_of(data).end());
    change(copy_);
    data = value_of({copy_.data(), copy_.size()});
    ensure(mdb_put(writer_, table_, &key_value, &data, 0), "put");
    commit();
    return true;
  }

  void scan(ByteView from, ScanSink& sink) override {
    const bool renew = use_ == SessionUse::read_write;
    if (renew) {
      ensure(mdb_txn_renew(reader_), "renew a read transaction");
    }
    MDB_cursor* cursor = nullptr;
    ensure(mdb_cursor_open(reader_, table_, &cursor), "open a cursor");
    MDB_val key = value_of(from);
    MDB_val data = {};
    int code = mdb_cursor_get(cursor, &key, &data, MDB_SET_RANGE);
    while (code == MDB_SUCCESS && sink.record(view_of(key), view_of(data))) {
      code = mdb_cursor_get(cursor, &key, &data, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    if (renew) {
      mdb_txn_reset(reader_);
    }
    if (code != MDB_NOTFOUND) {
      ensure(code, "walk a cursor");
    }
  }

 private:
  void commit() {
    MDB_txn* const committing = std::exchange(writer_, nullptr);  // freed even if the commit fails
    ensure(mdb_txn_commit(committing), "commit");
  }

  MDB_env* environment_;
  MDB_dbi table_;
  SessionUse use_;
  MDB_txn* reader_ = nullptr;
  MDB_txn* writer_ = nullptr;
  std::uint64_t batched_ = 0;
  bool appending_ = true;
  std::vector<char> copy_;
};

class LmdbEngine final : public KvEngine {
 public:
  explicit LmdbEngine(const EngineSettings& settings) {
    ensure(mdb_env_create(&environment_), "create an environment");
    try {
      open(settings);
    } catch (...) {
      mdb_env_close(environment_);
      throw;
    }
  }

  ~LmdbEngine() override { mdb_env_close(environment_); }

  std::unique_ptr<KvSession> open_session(SessionUse use) override {
    return std::make_unique<LmdbSession>(environment_, table_, use);
  }

  void finish_load() override {}
  EngineStats stats() const override { return {}; }
  std::string io_description() const override {
    return writable_map_ ? "page cache, writable map"
                         : "page cache, map without read-ahead, pwrite";
  }

  void close() override { ensure(mdb_env_sync(environment_, 1), "write back"); }

 private:
  void open(const EngineSettings& settings) {
    // The map is address space and a sparse file: twice the records at half-full pages, so that
    // copies on write always find room.
    const std::uint64_t payload = settings.records * (kKeyBytes + settings.value_bytes);
    ensure(mdb_env_set_mapsize(environment_, payload * 4 + (std::uint64_t{1} << 30U)),
           "set the map size");
    ensure(mdb_env_set_maxreaders(environment_, settings.sessions_max + 8), "set the readers");
    writable_map_ = settings.fits_in_memory;
    const unsigned flags =
        MDB_NOSYNC | (settings.fits_in_memory ? unsigned{MDB_WRITEMAP} : unsigned{MDB_NORDAHEAD});
    ensure(mdb_env_open(environment_, settings.directory.c_str(), flags, 0600), "open");
    MDB_txn* writer = nullptr;
    ensure(mdb_txn_begin(environment_, nullptr, 0, &writer), "begin a write transaction");
    const int code = mdb_dbi_open(writer, nullptr, MDB_CREATE, &table_);
    if (code != MDB_SUCCESS) {
      mdb_txn_abort(writer);
      ensure(code, "open the table");
    }
    ensure(mdb_txn_commit(writer), "commit");
  }

  MDB_env* environment_ = nullptr;
  MDB_dbi table_ = 0;
  bool writable_map_ = false;
};

}  // namespace

EngineEntry lmdb_engine() {
  return {.traits = {.name = "lmdb", .page_kib_fixed = kPageKib, .load_threads_max = 1},
          .open = [](const EngineSettings& settings) -> std::unique_ptr<KvEngine> {
            return std::make_unique<LmdbEngine>(settings);
          }};
}

}  // namespace palimpsest::experiments
