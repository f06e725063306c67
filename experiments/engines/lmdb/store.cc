#include "experiments/engines/lmdb/store.h"

#include <fmt/format.h>

#include <utility>

namespace palimpsest::experiments {
namespace {

using lmdb::ensure;
using lmdb::value_of;
using lmdb::view_of;

constexpr unsigned kReadersOfOthers = 8;

unsigned flags_of(const StoreSettings& settings) {
  const bool fits = settings.fits_in_memory();
  const bool async = settings.durability == Durability::async;
  switch (settings.purpose) {
    case Purpose::key_values:
      return MDB_NOSYNC | (fits ? unsigned{MDB_WRITEMAP} : unsigned{MDB_NORDAHEAD});
    case Purpose::commits: return async ? unsigned{MDB_NOMETASYNC} : 0U;
    case Purpose::churn: return MDB_NOSYNC | MDB_NOTLS;
    case Purpose::transactions: break;
  }
  return unsigned{MDB_NOTLS} | (async ? unsigned{MDB_NOSYNC} : 0U) |
         (fits ? 0U : unsigned{MDB_NORDAHEAD});
}

std::uint64_t map_bytes_of(const StoreSettings& settings) {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;
  switch (settings.purpose) {
    // A writable map is a sparse file of its size: twice the records at half-full pages, so that
    // copies on write always find room.
    case Purpose::key_values: return settings.data_bytes * 4 + kGib;
    case Purpose::commits: return kGib;
    case Purpose::churn: return 64 * kGib;
    case Purpose::transactions: break;
  }
  return lmdb::kMapBytes;
}

}  // namespace

LmdbSession::~LmdbSession() {
  rollback();
  mdb_txn_abort(reader_);  // accepts null
}

void LmdbSession::begin(Intent intent) {
  if (intent == Intent::read_write) {
    ensure(mdb_txn_begin(environment_.get(), nullptr, 0, &transaction_), "begin");
    return;
  }
  if (reader_ == nullptr) {
    ensure(mdb_txn_begin(environment_.get(), nullptr, MDB_RDONLY, &reader_), "begin to read");
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
  int code = MDB_KEYEXIST;
  if (appends_) {
    code = mdb_put(transaction_, at(table), &key_value, &data, MDB_APPEND);
    appends_ = code != MDB_KEYEXIST || purpose_ != Purpose::key_values;  // loads in random order
  }
  if (code == MDB_KEYEXIST) {  // not a load, or not the largest key yet
    data = value_of(value);
    code = mdb_put(transaction_, at(table), &key_value, &data, MDB_NOOVERWRITE);
  }
  if (code == MDB_KEYEXIST) {
    return Access::exists;
  }
  ensure(code, "put");
  return Access::done;
}

Access LmdbSession::erase(TableId table, ByteView key) {
  MDB_val key_value = value_of(key);
  return lmdb::is_there(mdb_del(transaction_, at(table), &key_value, nullptr), "delete")
             ? Access::done
             : Access::missing;
}

Access LmdbSession::find(TableId table, ByteView key, MDB_val& value) const {
  MDB_val key_value = value_of(key);
  return lmdb::is_there(mdb_get(transaction_, at(table), &key_value, &value), "get")
             ? Access::done
             : Access::missing;
}

void LmdbSession::replace(TableId table, ByteView key, ByteView old, ByteView value) {
  if (lies_within(value, old)) {  // in a page that mdb_put may rearrange
    copy_.assign(value);
    value = copy_;
  }
  MDB_val key_value = value_of(key);
  MDB_val data = value_of(value);
  ensure(mdb_put(transaction_, at(table), &key_value, &data, 0), "put");
}

bool LmdbSession::seek(lmdb::Cursor& cursor, ByteView at, Direction direction) {
  const bool above = cursor.seek(at);
  if (direction == Direction::forward || (above && cursor.key() == at)) {
    return above;
  }
  return cursor.move(above ? MDB_PREV : MDB_LAST);
}

LmdbStore::LmdbStore(const StoreSettings& settings)
    : settings_(settings),
      flags_(flags_of(settings)),
      environment_(
          {.directory = settings.directory,
           .flags = flags_,
           .map_bytes = map_bytes_of(settings),
           .readers_max = settings.sessions_max == 0 ? 0 : settings.sessions_max + kReadersOfOthers,
           .tables = settings.tables,
           .create = !settings.loaded}) {
  if (settings_.purpose == Purpose::transactions && settings_.durability == Durability::async) {
    syncer_ = std::make_unique<PeriodicTask>(settings_.asynchronous_interval,
                                             [this] { environment_.sync(); });
  }
}

std::unique_ptr<LmdbSession> LmdbStore::open_session(SessionUse use) {
  if (use == SessionUse::load) {
    ensure(mdb_env_set_flags(environment_.get(), MDB_NOSYNC, 1), "let a load's commits not sync");
  }
  return std::make_unique<LmdbSession>(environment_, settings_.purpose, use);
}

void LmdbStore::finish_load() {
  if (settings_.purpose == Purpose::key_values) {
    return;
  }
  environment_.sync();
  if ((flags_ & MDB_NOSYNC) == 0) {
    ensure(mdb_env_set_flags(environment_.get(), MDB_NOSYNC, 0), "let commits sync");
  }
}

std::string LmdbStore::description() const {
  const bool sync = settings_.durability == Durability::sync;
  switch (settings_.purpose) {
    case Purpose::key_values:
      return (flags_ & MDB_WRITEMAP) != 0 ? "page cache, writable map"
                                          : "page cache, map without read-ahead, pwrite";
    case Purpose::commits:
      return sync ? "pages and meta page synced by each commit"
                  : "MDB_NOMETASYNC: pages synced by each commit, the last may be undone";
    case Purpose::churn: return "MDB_NOSYNC; mdb_drop and MDB_APPEND replace";
    case Purpose::transactions: break;
  }
  return fmt::format(
      "one writer at a time; page cache, map{}, pwrite; {}",
      settings_.fits_in_memory() ? "" : " without read-ahead",
      sync ? std::string("pages and meta page synced by each commit")
           : fmt::format(
                 "MDB_NOSYNC, mdb_env_sync every {} ms: a crash of the system may corrupt it",
                 settings_.asynchronous_interval.count()));
}

EngineOptions LmdbStore::effective_options() const {
  unsigned flags = 0;
  MDB_envinfo info = {};
  ensure(mdb_env_get_flags(environment_.get(), &flags), "ask for the flags");
  ensure(mdb_env_info(environment_.get(), &info), "ask about the map");
  return {{.name = "mdb_env_open", .value = fmt::format("{:#x}", flags)},
          {.name = "mapsize", .value = fmt::format("{}", info.me_mapsize)},
          {.name = "maxreaders", .value = fmt::format("{}", info.me_maxreaders)}};
}

void LmdbStore::close() {
  if (syncer_) {
    syncer_->stop();
  }
  environment_.sync();
  environment_.close();
}

StoreEntry<LmdbStore> lmdb_store() {
  return {
      .traits = {.name = "lmdb",
                 .isolations = {Isolation::serializable},
                 .durabilities = {Durability::async, Durability::sync},
                 .load_threads_max = 1,
                 .load_batch = 10'000,
                 .page_kib_fixed = 4},
      .open = [](const StoreSettings& settings) { return std::make_unique<LmdbStore>(settings); }};
}

}  // namespace palimpsest::experiments
