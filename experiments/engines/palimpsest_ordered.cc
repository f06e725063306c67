// Palimpsest by its public API: a table of keys and values. A bulk replaces all records.
#include "palimpsest/database.h"

#include "experiments/common/record_key.h"
#include "experiments/engines/ordered_engine.h"

namespace palimpsest::experiments::engines {
namespace {

constexpr const char* kTable = "records";

class Session final : public OrderedSession {
 public:
  Session(Database& database, const Table& table) : database_(database), table_(table) {}

  void begin() override { transaction_.emplace(database_.begin()); }
  void commit() override {
    transaction_->commit();
    transaction_.reset();
  }

  void insert(std::uint64_t key, ByteView value) override {
    table_.insert(*transaction_, {RecordKey(key).view(), value}).require();
  }

  std::optional<std::uint64_t> take_first() override {
    const Cursor first = table_.cursor(*transaction_, Range::all(), 1);
    if (!first.valid()) {
      return std::nullopt;
    }
    const std::uint64_t key = record_of(first.row()["key"].as_bytes());
    table_.erase(*transaction_, {RecordKey(key).view()}).require();
    return key;
  }

  void replace_all(std::uint64_t records, ByteView value) override {
    Transaction bulk = database_.begin({.bulk = true});
    table_.erase_range(bulk, Range::all()).require();
    for (std::uint64_t key = 0; key < records; ++key) {
      table_.insert(bulk, {RecordKey(key).view(), value}).require();
    }
    bulk.commit();
  }

 private:
  Database& database_;
  const Table& table_;
  std::optional<Transaction> transaction_;
};

class Reader final : public OrderedReader {
 public:
  Reader(Database& database, const Table& table)
      : transaction_(database.begin({.read_only = true})), table_(table) {
    table_.visit(transaction_, Range::all(), [](const RowView&) { return false; });
  }

  std::uint64_t count() override {
    std::uint64_t count = 0;
    table_.visit(transaction_, Range::all(), [&](const RowView&) {
      ++count;
      return true;
    });
    return count;
  }

 private:
  Transaction transaction_;
  const Table& table_;
};

class Engine final : public OrderedEngine {
 public:
  explicit Engine(const OrderedSettings& settings)
      : database_(Database::open(settings.directory, {.memory_bytes = settings.memory_bytes,
                                                      .durability = Durability::asynchronous})),
        table_(database_.create_table(key_value_table(kTable))) {}

  std::unique_ptr<OrderedSession> open_session() override {
    return std::make_unique<Session>(database_, table_);
  }
  std::unique_ptr<OrderedReader> open_reader() override {
    return std::make_unique<Reader>(database_, table_);
  }
  std::string description() const override {
    return "asynchronous commits; a cursor takes; a bulk replaces";
  }
  void close() override { database_.close(); }

 private:
  Database database_;
  const Table table_;
};

}  // namespace

OrderedEngineEntry palimpsest_ordered() {
  return {.traits = {.name = "palimpsest"}, .open = [](const OrderedSettings& settings) {
            return std::make_unique<Engine>(settings);
          }};
}

}  // namespace palimpsest::experiments::engines
