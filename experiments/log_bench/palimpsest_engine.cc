// Palimpsest: transactions over a B+-tree, logged per worker slot, made durable in groups.
//
// Settings: the defaults, except the memory, the bound of the log and the interval of asynchronous
// commits. A transaction changes the bytes in place (Transaction::modify), and the log carries the
// changed bytes. Checkpoints are continuous, by the engine's own thread, in step with the log: one
// begins whenever the log has grown by a sixth of its bound. It ignores --checkpoint_ms.
// Log bytes: wal::LogStatistics, of everything the engine logs (checkpoints, space map).
#include "experiments/log_bench/palimpsest_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/io/open_device.h"
#include "engine/engine.h"
#include "txn/read_scope.h"

namespace palimpsest::experiments {
namespace {

constexpr std::string_view kTree = "records";
constexpr std::uint64_t kLoadBatch = 1000;

/// Throws DamagedRecord, saying what is wrong with the record, unless `holds`.
void ensure(bool holds, std::uint64_t record, const char* what) {
  if (!holds) {
    throw DamagedRecord(fmt::format("palimpsest: record {}: {}", record, what));
  }
}

class PalimpsestSession final : public CommitSession {
 public:
  PalimpsestSession(engine::Engine& database, btree::BTree& tree, txn::Durability durability)
      : database_(database), tree_(tree), durability_(durability) {}

  void update(std::uint64_t record, std::size_t offset, const Field& bytes) override {
    const RecordKey key(record);
    const auto change = [&](MutableBytes value) {
      if (offset + bytes.size() <= value.size()) {
        std::memcpy(value.data() + offset, bytes.data(), bytes.size());
      }
    };
    while (!try_update(record, key.view(), change)) {
      std::this_thread::yield();  // another transaction's uncommitted change: it is about to end
    }
  }

  std::optional<Value> read(std::uint64_t record) override {
    const RecordKey key(record);
    const txn::TransactionPtr transaction = database_.begin(txn::Durability::asynchronous);
    const bool found = txn::lookup(*transaction, tree_, key.view(), copy_);
    transaction->commit();
    if (!found || copy_.size() != kValueBytes) {
      return std::nullopt;
    }
    Value value;
    std::memcpy(value.data(), copy_.data(), kValueBytes);
    return value;
  }

 private:
  /// False if another transaction has claimed the record.
  template <class Change>
  bool try_update(std::uint64_t record, ByteView key, const Change& change) {
    const txn::TransactionPtr transaction = database_.begin(durability_);
    const btree::WriteOutcome outcome = transaction->modify(tree_, key, change);
    if (outcome.conflict) {
      transaction->rollback();
      return false;
    }
    ensure(outcome.existed, record, "is missing");
    transaction->commit();
    return true;
  }

  engine::Engine& database_;
  btree::BTree& tree_;
  txn::Durability durability_;
  std::string copy_;
};

class PalimpsestEngine final : public CommitEngine {
 public:
  explicit PalimpsestEngine(const CommitSettings& settings)
      : settings_(settings),
        device_(io::open_device(settings.directory.string(), {})),
        database_(engine::Engine::open(*device_, *device_, options_of(settings))),
        tree_(database_->find_tree(kTree)) {
    if (tree_ == nullptr) {
      tree_ = database_->make_tree(kTree);
    }
  }

  void load(std::uint64_t records) override {
    for (std::uint64_t first = 0; first < records; first += kLoadBatch) {
      const std::uint64_t end = std::min(first + kLoadBatch, records);
      const txn::TransactionPtr transaction = database_->begin(
          end == records ? txn::Durability::synchronous : txn::Durability::asynchronous);
      for (std::uint64_t record = first; record < end; ++record) {
        const RecordKey key(record);
        const Value value = fresh_value(record);
        const btree::WriteOutcome outcome = transaction->insert(*tree_, key.view(), view_of(value));
        ensure(!outcome.existed && !outcome.conflict, record, "exists before the load");
      }
      transaction->commit();
    }
  }

  std::unique_ptr<CommitSession> open_session() override {
    return std::make_unique<PalimpsestSession>(*database_, *tree_,
                                               settings_.durability == Durability::synchronous
                                                   ? txn::Durability::synchronous
                                                   : txn::Durability::asynchronous);
  }

  LogCounts log_counts() const override {
    const wal::LogStatistics statistics = database_->log().statistics();
    return {.record_bytes = statistics.record_bytes,
            .log_bytes = statistics.stream_bytes,
            .checkpoints = database_->checkpointer().statistics().cycles};
  }

  std::string durability_description() const override {
    if (settings_.durability == Durability::synchronous) {
      return fmt::format("group commit, {}", device_->description());
    }
    return fmt::format("log written and synced every {} ms, {}", settings_.flush_every.count(),
                       device_->description());
  }

  void close() override { database_->close(); }

 private:
  static engine::EngineOptions options_of(const CommitSettings& settings) {
    engine::EngineOptions options;
    options.memory_bytes = settings.memory_bytes;
    options.log_bytes_max = settings.log_bytes_max.value_or(options.log_bytes_max);
    options.transactions.asynchronous_interval = settings.flush_every;
    return options;
  }

  CommitSettings settings_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<engine::Engine> database_;
  btree::BTree* tree_;
};

}  // namespace

CommitEngineEntry palimpsest_engine() {
  return {.traits = {.name = "palimpsest", .bounds_log = true},
          .open = [](const CommitSettings& settings) -> std::unique_ptr<CommitEngine> {
            return std::make_unique<PalimpsestEngine>(settings);
          }};
}

}  // namespace palimpsest::experiments
