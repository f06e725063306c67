// The peers: any BulkStore (engines/bulk_store.h) as an engine of ranges.
#include <chrono>
#include <limits>
#include <utility>

#include "experiments/bulk/found_row.h"
#include "experiments/bulk/range_engine.h"
#include "experiments/bulk/rows.h"
#include "experiments/common/record_key.h"
#include "experiments/engines/bulk_store.h"

namespace palimpsest::experiments::bulk {
namespace {

class PeerRange final : public RangeEngine {
 public:
  explicit PeerRange(std::unique_ptr<BulkStore> store) : store_(std::move(store)) {}

  void ingest(std::uint64_t rows) override {
    Row row;
    for (std::uint64_t number = 0; number < rows; ++number) {
      make_row(number, row);
      store_->put(RecordKey(number).view(), RowValue(row).view());
    }
    store_->make_durable();
  }

  void erase_below(std::uint64_t end) override {
    if (end != 0) {
      store_->erase_through(RecordKey(end - 1).view());
    }
  }

  double reclaim() override {
    const auto begin = std::chrono::steady_clock::now();
    store_->settle();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  FoundRows find_rows(std::uint64_t rows_max) override {
    FoundRows found;
    store_->visit([&](ByteView key, ByteView value) {
      see_row(found, record_of(key), value);
      return found.rows < rows_max;
    });
    return found;
  }

  std::optional<std::uint64_t> last_row() override {
    const std::optional<std::string> key = store_->last_key();
    return key ? std::optional(record_of(*key)) : std::nullopt;
  }

  Space space() override { return store_->space(); }
  std::optional<std::uint64_t> version_bytes() const override { return std::nullopt; }
  std::string description() const override { return store_->description(); }
  void close() override { store_->close(); }

 private:
  std::unique_ptr<BulkStore> store_;
};

RangeEngineEntry range_on(const BulkEntry& entry) {
  return {.traits = {.name = entry.traits.name},
          .open = [open = entry.open](const RangeSettings& settings) {
            return std::make_unique<PeerRange>(
                open({.directory = settings.directory, .memory_bytes = settings.memory_bytes}));
          }};
}

}  // namespace

std::vector<RangeEngineEntry> known_range_engines() {
  return {range_on(lmdb_bulk()), range_on(rocksdb_bulk()), range_on(wiredtiger_bulk())};
}

}  // namespace palimpsest::experiments::bulk
