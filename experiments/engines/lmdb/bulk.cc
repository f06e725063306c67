// LMDB: a write transaction, or transactions as large as the memory allows.
//
// Settings, from the comments of lmdb.h:
// - sorted: MDB_APPEND, "allows fast bulk loading when keys are already known to be in the correct
//   order". shuffled: mdb_put.
// - erase: a cursor, mdb_cursor_del of each row; LMDB has no call for ranges.
// - The default durability: a commit writes the changed pages, syncs, and writes the meta page
//   through.
// - restartable: MDB_NOSYNC, and mdb_env_sync at the end. A transaction keeps the pages that it has
//   changed in memory: it commits when they may have taken half of the allowed memory. Shuffled
//   rows are counted as a page each.
// Memory: resident memory includes mapped pages of the file.
#include <limits>
#include <optional>

#include "experiments/engines/bulk_store.h"
#include "experiments/engines/lmdb/environment.h"

namespace palimpsest::experiments {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

class LmdbBulk final : public BulkStore {
 public:
  explicit LmdbBulk(const BulkSettings& settings)
      : settings_(settings),
        changed_bytes_max_(settings.restartable ? settings.memory_bytes / 2
                                                : std::numeric_limits<std::uint64_t>::max()),
        environment_({.directory = settings.directory,
                      .flags = settings.restartable ? unsigned{MDB_NOSYNC} : 0U,
                      .tables = {}}) {}

  void put(ByteView key, ByteView value) override {
    if (!writer_) {
      writer_.emplace(environment_);
    }
    writer_->put(environment_.table(), key, value, settings_.sorted ? MDB_APPEND : 0U);
    changed_bytes_ += settings_.sorted ? key.size() + value.size() : kPageBytes;
    if (changed_bytes_ >= changed_bytes_max_) {
      commit();
    }
  }

  void make_durable() override {
    if (writer_) {
      commit();
    }
    if (settings_.restartable) {
      environment_.sync();
    }
  }

  void erase_through(ByteView last) override {
    writer_.emplace(environment_);
    {
      lmdb::Cursor cursor(*writer_, environment_.table());
      for (bool there = cursor.move(MDB_FIRST); there && cursor.key() <= last;
           there = cursor.move(MDB_NEXT)) {
        cursor.erase();
      }
    }
    commit();
  }

  void settle() override {}

  void visit(FunctionRef<bool(ByteView key, ByteView value)> seen) override {
    const lmdb::Transaction reader(environment_, MDB_RDONLY);
    lmdb::Cursor cursor(reader, environment_.table());
    for (bool there = cursor.move(MDB_FIRST); there && seen(cursor.key(), cursor.value());
         there = cursor.move(MDB_NEXT)) {
    }
  }

  std::optional<std::string> last_key() override {
    const lmdb::Transaction reader(environment_, MDB_RDONLY);
    lmdb::Cursor cursor(reader, environment_.table());
    return cursor.move(MDB_LAST) ? std::optional(std::string(cursor.key())) : std::nullopt;
  }

  Space space() override {
    return {.data_bytes = environment_.data_bytes(), .reusable_bytes = environment_.free_bytes()};
  }

  std::string description() const override {
    if (!settings_.restartable) {
      return "one transaction; MDB_APPEND; a cursor deletes each row";
    }
    return settings_.sorted ? "MDB_APPEND, MDB_NOSYNC, one sync at the end"
                            : "mdb_put, MDB_NOSYNC, one sync at the end";
  }

  void close() override { environment_.close(); }

 private:
  void commit() {
    changed_bytes_ = 0;
    writer_->commit();
    writer_.reset();
  }

  const BulkSettings settings_;
  const std::uint64_t changed_bytes_max_;
  std::uint64_t changed_bytes_ = 0;  ///< about, by the transaction under way
  lmdb::Environment environment_;
  std::optional<lmdb::Transaction> writer_;  ///< the transaction under way
};

}  // namespace

BulkEntry lmdb_bulk() {
  return {.traits = {.name = "lmdb"}, .open = [](const BulkSettings& settings) {
            return std::make_unique<LmdbBulk>(settings);
          }};
}

}  // namespace palimpsest::experiments
