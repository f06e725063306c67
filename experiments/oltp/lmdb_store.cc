#include "experiments/oltp/lmdb_store.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace palimpsest::experiments::oltp {
namespace {

using lmdb::ensure;
using lmdb::value_of;
using lmdb::view_of;

/// The map is address space, and the file grows with its pages: larger than any benchmark's disk.
constexpr std::uint64_t kMapBytes = std::uint64_t{1} << 40U;
constexpr unsigned kReadersOfOthers = 8;

}  // namespace

LmdbSession::~LmdbSession() {
  rollback();
  mdb_txn_abort(reader_);  // accepts null
}

void LmdbSession::begin(Intent intent) {
  if (intent == Intent::read_write) {
    ensure(mdb_txn_begin(environment_, nullptr, 0, &transaction_), "begin");
    return;
  }
  if (reader_ == nullptr) {
    ensure(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &reader_), "begin to read");
  } else {
    ensure(mdb_txn_renew(reader_), "begin to read again");
  }
  transaction_ = reader_;
}

Access LmdbSession::commit() {
  MDB_txn* const ending = std::exchange(transaction_, nullptr);
  if (ending == reader_) {
    mdb_txn_reset(ending);
  } else {
    ensure(mdb_txn_commit(ending), "commit");  // freed even if it fails
  }
  return Access::done;
}

void LmdbSession::rollback() noexcept {
  MDB_txn* const ending = std::exchange(transaction_, nullptr);
  if (ending == nullptr) {
    return;
  }
  if (ending == reader_) {
    mdb_txn_reset(ending);
  } else {
    mdb_txn_abort(ending);
  }
}

Access LmdbSession::insert(TableId table, ByteView key, ByteView value) {
  MDB_val key_value = value_of(key);
  MDB_val data = value_of(value);
  const MDB_dbi into = tables_[index_of(table)];
  int code = MDB_KEYEXIST;
  if (loads_) {
    code = mdb_put(transaction_, into, &key_value, &data, MDB_APPEND);
  }
  if (code == MDB_KEYEXIST) {  // not a load, or not the largest key yet
    data = value_of(value);
    code = mdb_put(transaction_, into, &key_value, &data, MDB_NOOVERWRITE);
  }
  if (code == MDB_KEYEXIST) {
    return Access::exists;
  }
  ensure(code, "put");
  return Access::done;
}

Access LmdbSession::erase(TableId table, ByteView key) {
  MDB_val key_value = value_of(key);
  const int code = mdb_del(transaction_, tables_[index_of(table)], &key_value, nullptr);
  if (code == MDB_NOTFOUND) {
    return Access::missing;
  }
  ensure(code, "delete");
  return Access::done;
}

Access LmdbSession::find(TableId table, ByteView key, MDB_val& value) const {
  MDB_val key_value = value_of(key);
  const int code = mdb_get(transaction_, tables_[index_of(table)], &key_value, &value);
  if (code == MDB_NOTFOUND) {
    return Access::missing;
  }
  ensure(code, "get");
  return Access::done;
}

void LmdbSession::replace(TableId table, ByteView key, ByteView old, ByteView value) {
  if (lies_within(value, old)) {  // in a page that mdb_put may rearrange
    copy_.assign(value);
    value = copy_;
  }
  MDB_val key_value = value_of(key);
  MDB_val data = value_of(value);
  ensure(mdb_put(transaction_, tables_[index_of(table)], &key_value, &data, 0), "put");
}

LmdbSession::Cursor::Cursor(MDB_txn* transaction, MDB_dbi table) {
  ensure(mdb_cursor_open(transaction, table, &cursor_), "open a cursor");
}

bool LmdbSession::Cursor::seek(ByteView at, Direction direction, MDB_val& key,
                               MDB_val& value) const {
  key = value_of(at);
  const bool above = move(MDB_SET_RANGE, key, value);
  if (direction == Direction::forward || (above && view_of(key) == at)) {
    return above;
  }
  return move(above ? MDB_PREV : MDB_LAST, key, value);
}

bool LmdbSession::Cursor::step(Direction direction, MDB_val& key, MDB_val& value) const {
  return move(direction == Direction::forward ? MDB_NEXT : MDB_PREV, key, value);
}

bool LmdbSession::Cursor::move(MDB_cursor_op operation, MDB_val& key, MDB_val& value) const {
  const int code = mdb_cursor_get(cursor_, &key, &value, operation);
  if (code != MDB_NOTFOUND) {
    ensure(code, "walk a cursor");
  }
  return code == MDB_SUCCESS;
}

LmdbStore::LmdbStore(const StoreSettings& settings) : settings_(settings) {
  ensure(mdb_env_create(&environment_), "create an environment");
  try {
    open();
    open_tables();
    if (settings_.durability == Durability::async) {
      syncer_ = std::make_unique<PeriodicTask>(settings_.asynchronous_interval, [this] {
        ensure(mdb_env_sync(environment_, 1), "sync");
      });
    }
  } catch (...) {
    mdb_env_close(environment_);
    throw;
  }
}

LmdbStore::~LmdbStore() {
  syncer_.reset();
  mdb_env_close(environment_);
}

void LmdbStore::open() {
  if (settings_.loaded && !std::filesystem::exists(settings_.directory / "data.mdb")) {
    ensure(MDB_NOTFOUND, "open a database that was loaded");  // mdb_env_open() would make one
  }
  ensure(mdb_env_set_mapsize(environment_, kMapBytes), "set the map size");
  ensure(mdb_env_set_maxreaders(environment_, settings_.sessions_max + kReadersOfOthers),
         "set the readers");
  ensure(mdb_env_set_maxdbs(environment_, static_cast<MDB_dbi>(settings_.tables.size())),
         "set the tables");
  const unsigned flags = unsigned{MDB_NOTLS} |
                         (settings_.durability == Durability::async ? unsigned{MDB_NOSYNC} : 0U) |
                         (settings_.fits_in_memory() ? 0U : unsigned{MDB_NORDAHEAD});
  ensure(mdb_env_open(environment_, settings_.directory.c_str(), flags, 0600), "open");
}

void LmdbStore::open_tables() {
  MDB_txn* writer = nullptr;
  ensure(mdb_txn_begin(environment_, nullptr, 0, &writer), "begin");
  const unsigned flags = settings_.loaded ? 0U : unsigned{MDB_CREATE};
  for (const std::string& table : settings_.tables) {
    const int code = mdb_dbi_open(writer, table.c_str(), flags, &tables_.emplace_back());
    if (code != MDB_SUCCESS) {
      mdb_txn_abort(writer);
      ensure(code, "open a table");
    }
  }
  ensure(mdb_txn_commit(writer), "commit");
}

std::unique_ptr<LmdbSession> LmdbStore::open_session(SessionUse use) {
  if (use == SessionUse::load) {
    ensure(mdb_env_set_flags(environment_, MDB_NOSYNC, 1), "let a load's commits not sync");
  }
  return std::make_unique<LmdbSession>(environment_, tables_, use);
}

void LmdbStore::finish_load() {
  ensure(mdb_env_sync(environment_, 1), "sync");
  if (settings_.durability == Durability::sync) {
    ensure(mdb_env_set_flags(environment_, MDB_NOSYNC, 0), "let commits sync");
  }
}

StoreCounts LmdbStore::counts() const {
  MDB_envinfo info = {};
  MDB_stat pages = {};
  ensure(mdb_env_info(environment_, &info), "ask about the map");
  ensure(mdb_env_stat(environment_, &pages), "ask about pages");
  StoreCounts counts;
  counts.data_bytes = (info.me_last_pgno + std::uint64_t{1}) * pages.ms_psize;
  return counts;
}

std::string LmdbStore::description() const {
  return fmt::format(
      "one writer at a time; page cache, map{}, pwrite; {}",
      settings_.fits_in_memory() ? "" : " without read-ahead",
      settings_.durability == Durability::sync
          ? std::string("pages and meta page synced by each commit")
          : fmt::format(
                "MDB_NOSYNC, mdb_env_sync every {} ms: a crash of the system may corrupt it",
                settings_.asynchronous_interval.count()));
}

EngineOptions LmdbStore::effective_options() const {
  unsigned flags = 0;
  MDB_envinfo info = {};
  ensure(mdb_env_get_flags(environment_, &flags), "ask for the flags");
  ensure(mdb_env_info(environment_, &info), "ask about the map");
  return {{.name = "mdb_env_open", .value = fmt::format("{:#x}", flags)},
          {.name = "mapsize", .value = fmt::format("{}", info.me_mapsize)},
          {.name = "maxreaders", .value = fmt::format("{}", info.me_maxreaders)}};
}

void LmdbStore::close() {
  if (syncer_) {
    syncer_->stop();
  }
  ensure(mdb_env_sync(environment_, 1), "sync");
}

StoreEntry<LmdbStore> lmdb_store() {
  return {
      .traits = {.name = "lmdb",
                 .isolations = {Isolation::serializable},
                 .durabilities = {Durability::async, Durability::sync},
                 .load_threads_max = 1},
      .open = [](const StoreSettings& settings) { return std::make_unique<LmdbStore>(settings); }};
}

}  // namespace palimpsest::experiments::oltp
