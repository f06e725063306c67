// LMDB: one write transaction, synced by its commit.
//
// Settings, from the comments of lmdb.h:
// - ingest: MDB_APPEND, "allows fast bulk loading when keys are already known to be in the correct
//   order".
// - erase: a cursor, mdb_cursor_del of each row; LMDB has no call for ranges.
// - The default durability: a commit writes the changed pages, syncs, and writes the meta page
//   through.
// Space: the file never shrinks. Data bytes go up to the last page that was ever in use; free pages
// are listed in the environment's table 0, whose values begin with how many pages they name (as
// mdb_stat -f counts them). They are free to be used once a later transaction has committed.
#include <lmdb.h>

#include <cstring>
#include <utility>

#include "experiments/bulk/found_row.h"
#include "experiments/bulk/peer_ranges.h"
#include "experiments/common/record_key.h"
#include "experiments/peers/lmdb.h"

namespace palimpsest::experiments::bulk {
namespace {

using lmdb::ensure;
using lmdb::value_of;
using lmdb::view_of;

/// Address space, and a file that grows with its pages.
constexpr std::uint64_t kMapBytes = std::uint64_t{1} << 40U;

/// A transaction that is aborted unless committed.
class LmdbTransaction {
 public:
  LmdbTransaction(MDB_env* environment, unsigned flags) {
    ensure(mdb_txn_begin(environment, nullptr, flags, &transaction_), "begin");
  }
  ~LmdbTransaction() { mdb_txn_abort(transaction_); }  // accepts null
  LmdbTransaction(const LmdbTransaction&) = delete;
  LmdbTransaction& operator=(const LmdbTransaction&) = delete;

  [[nodiscard]] MDB_txn* get() const noexcept { return transaction_; }
  void commit() {
    MDB_txn* const committing = std::exchange(transaction_, nullptr);  // freed even if it fails
    ensure(mdb_txn_commit(committing), "commit");
  }

 private:
  MDB_txn* transaction_ = nullptr;
};

/// Ends before its transaction.
class LmdbCursor {
 public:
  LmdbCursor(const LmdbTransaction& in, MDB_dbi table) {
    ensure(mdb_cursor_open(in.get(), table, &cursor_), "open a cursor");
  }
  ~LmdbCursor() { mdb_cursor_close(cursor_); }
  LmdbCursor(const LmdbCursor&) = delete;
  LmdbCursor& operator=(const LmdbCursor&) = delete;

  /// Moves to the first record, then to the next; from a deleted one, to the one after it. False if
  /// there is none.
  [[nodiscard]] bool next() {
    const int code =
        mdb_cursor_get(cursor_, &key_, &value_, std::exchange(begun_, true) ? MDB_NEXT : MDB_FIRST);
    if (code != MDB_NOTFOUND) {
      ensure(code, "walk a cursor");
    }
    return code == MDB_SUCCESS;
  }
  /// Moves to the last record.
  [[nodiscard]] bool last() {
    const int code = mdb_cursor_get(cursor_, &key_, &value_, MDB_LAST);
    if (code != MDB_NOTFOUND) {
      ensure(code, "go to the last record");
    }
    return code == MDB_SUCCESS;
  }
  [[nodiscard]] ByteView key() const { return view_of(key_); }
  [[nodiscard]] ByteView value() const { return view_of(value_); }
  void erase() { ensure(mdb_cursor_del(cursor_, 0), "delete"); }

 private:
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_ = {};
  MDB_val value_ = {};
  bool begun_ = false;
};

class LmdbRange final : public RangeEngine {
 public:
  explicit LmdbRange(const RangeSettings& settings) {
    ensure(mdb_env_create(&environment_), "create an environment");
    try {
      ensure(mdb_env_set_mapsize(environment_, kMapBytes), "set the map size");
      ensure(mdb_env_open(environment_, settings.directory.c_str(), 0, 0600), "open");
      LmdbTransaction writer(environment_, 0);
      ensure(mdb_dbi_open(writer.get(), nullptr, MDB_CREATE, &table_), "open the table");
      writer.commit();
    } catch (...) {
      mdb_env_close(environment_);
      throw;
    }
  }

  ~LmdbRange() override { mdb_env_close(environment_); }  // accepts null

  void ingest(std::uint64_t rows) override {
    LmdbTransaction writer(environment_, 0);
    Row row;
    for (std::uint64_t number = 0; number < rows; ++number) {
      make_row(number, row);
      const RecordKey key(number);
      const RowValue value(row);
      MDB_val key_value = value_of(key.view());
      MDB_val data = value_of(value.view());
      ensure(mdb_put(writer.get(), table_, &key_value, &data, MDB_APPEND), "put");
    }
    writer.commit();
  }

  void erase_below(std::uint64_t end) override {
    LmdbTransaction writer(environment_, 0);
    {
      LmdbCursor cursor(writer, table_);
      while (cursor.next() && record_of(cursor.key()) < end) {
        cursor.erase();
      }
    }
    writer.commit();
  }

  double reclaim() override { return 0; }

  FoundRows find_rows(std::uint64_t rows_max) override {
    const LmdbTransaction reader(environment_, MDB_RDONLY);
    FoundRows found;
    LmdbCursor cursor(reader, table_);
    while (found.rows < rows_max && cursor.next()) {
      see_row(found, record_of(cursor.key()), cursor.value());
    }
    return found;
  }

  std::optional<std::uint64_t> last_row() override {
    const LmdbTransaction reader(environment_, MDB_RDONLY);
    LmdbCursor cursor(reader, table_);
    return cursor.last() ? std::optional(record_of(cursor.key())) : std::nullopt;
  }

  Space space() override {
    constexpr MDB_dbi kFreePages = 0;
    MDB_envinfo info = {};
    MDB_stat stat = {};
    ensure(mdb_env_info(environment_, &info), "ask for the last page");
    ensure(mdb_env_stat(environment_, &stat), "ask for the page size");
    const LmdbTransaction reader(environment_, MDB_RDONLY);
    LmdbCursor cursor(reader, kFreePages);
    std::uint64_t pages = 0;
    while (cursor.next()) {
      std::size_t named = 0;
      std::memcpy(&named, cursor.value().data(), sizeof named);
      pages += named;
    }
    return {.data_bytes = (info.me_last_pgno + 1) * stat.ms_psize,
            .reusable_bytes = pages * stat.ms_psize};
  }

  std::optional<std::uint64_t> version_bytes() const override { return std::nullopt; }
  std::string description() const override {
    return "one transaction; MDB_APPEND; a cursor deletes each row";
  }

  void close() override { mdb_env_close(std::exchange(environment_, nullptr)); }

 private:
  MDB_env* environment_ = nullptr;
  MDB_dbi table_ = 0;
};

}  // namespace

RangeEngineEntry lmdb_range() {
  return {.traits = {.name = "lmdb"},
          .open = [](const RangeSettings& settings) -> std::unique_ptr<RangeEngine> {
            return std::make_unique<LmdbRange>(settings);
          }};
}

}  // namespace palimpsest::experiments::bulk
