#include "experiments/history/items.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace palimpsest::experiments::history {
namespace {

constexpr const char* kTable = "item";
constexpr const char* kIndex = "by_rank";
constexpr std::int64_t kRanks = 7;

Table open_table(Database& database) {
  if (const auto table = database.find_table(kTable)) {
    return *table;
  }
  using namespace types;
  return database.run([](Transaction& transaction) {
    transaction
        .create_table({.name = kTable,
                       .columns = {{"bucket", int32()},
                                   {"key", int64()},
                                   {"group", int64()},
                                   {"rank", int32()},
                                   {"values", bytes(1U << 20U)},
                                   {"padding", bytes(1U << 20U)}},
                       .key = {"bucket", "key"}})
        .require();
    transaction.create_index(kTable, {.name = kIndex, .columns = {"group", "rank"}}).require();
    return transaction.table(kTable);
  });
}

std::int32_t bucket_of(std::int64_t key) noexcept {
  return static_cast<std::int32_t>(key % kBuckets);
}

std::string padding_of(std::int64_t value) {
  constexpr std::int64_t kLarge = 149;
  const std::int64_t size = value % kLarge == 0 ? 6000 : value * 31 % 500;
  return std::string(static_cast<std::size_t>(size), static_cast<char>('a' + value % 26));
}

std::vector<std::int64_t> values_of(const Item& item) {
  std::vector<std::int64_t> values(item.values.size() / sizeof(std::int64_t));
  std::memcpy(values.data(), item.values.data(), values.size() * sizeof(std::int64_t));
  return values;
}

bool is_whole(const Item& item, const std::vector<std::int64_t>& values) {
  return !values.empty() && item.values.size() == values.size() * sizeof(std::int64_t) &&
         item.bucket == bucket_of(item.key) && item.group == item.key / kGroup &&
         item.rank == values.back() % kRanks && item.padding == padding_of(values.back());
}

}  // namespace

/// The rows that a step has found.
class Items::Found {
 public:
  void add(const Item& item) {
    const auto [place, is_new] = values_.try_emplace(item.key, values_of(item));
    if (!is_new) {
      wrong_ = fmt::format("key {} is found twice in one scan", item.key);
    } else if (!is_whole(item, place->second)) {
      wrong_ = fmt::format(
          "key {}: a row that no transaction has written, rank {}, values {}, padding {}", item.key,
          item.rank, fmt::join(place->second, " "), item.padding.size());
    }
  }
  void take(const Step& step, std::vector<Operation>& operations, Mode mode) {
    if (!wrong_.empty()) {
      throw WrongRow(wrong_);
    }
    for (const std::int64_t key : step.keys) {
      Operation& operation = operations.emplace_back(
          Operation{.kind = mode == Mode::list_append ? OperationKind::read_list
                                                      : OperationKind::read_register,
                    .known = true,
                    .key = key});
      if (const auto found = values_.find(key); found != values_.end()) {
        operation.values = std::move(found->second);
        values_.erase(found);
      }
    }
    if (!values_.empty()) {
      throw WrongRow(fmt::format("key {} is found outside the range", values_.begin()->first));
    }
  }

 private:
  std::map<std::int64_t, std::vector<std::int64_t>> values_;
  std::string wrong_;
};

Items::Items(Database& database, Mode mode)
    : mode_(mode),
      table_(open_table(database), {{"bucket", &Item::bucket},
                                    {"key", &Item::key},
                                    {"group", &Item::group},
                                    {"rank", &Item::rank},
                                    {"values", &Item::values},
                                    {"padding", &Item::padding}}),
      by_rank_(table_.table().index(kIndex)) {}

void Items::change(Item& item, std::int64_t value) const {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  if (item.values.ends_with(bytes)) {
    return;  // an edit may be called again on its own result
  }
  item.values = mode_ == Mode::list_append ? item.values + bytes : bytes;
  item.rank = static_cast<std::int32_t>(value % kRanks);
  item.padding = padding_of(value);
}

Outcome Items::write(Transaction& transaction, const Step& step) const {
  const std::int64_t key = step.keys.front();
  Outcome outcome = insert_or_change(transaction, key, step.value);
  if (outcome && step.kind == StepKind::rewrite_whole) {
    return reinsert(transaction, key);
  }
  return outcome;
}

Outcome Items::insert_or_change(Transaction& transaction, std::int64_t key,
                                std::int64_t value) const {
  constexpr int kAttempts = 5;
  Outcome outcome;
  for (int i = 0; i < kAttempts; ++i) {
    outcome =
        table_.modify(transaction, {bucket_of(key), key}, [&](Item& item) { change(item, value); });
    if (outcome.kind() != OutcomeKind::absent) {
      return outcome;
    }
    Item item{.bucket = bucket_of(key), .key = key, .group = key / kGroup};
    change(item, value);
    outcome = table_.insert(transaction, item);
    if (outcome.kind() != OutcomeKind::exists) {
      return outcome;  // else another transaction has inserted it meanwhile
    }
  }
  return outcome;
}

Outcome Items::reinsert(Transaction& transaction, std::int64_t key) const {
  const std::optional<Item> item = table_.get(transaction, {bucket_of(key), key});
  if (!item) {
    throw WrongRow(fmt::format("key {} was written, but is missing", key));
  }
  Outcome outcome = table_.table().erase(transaction, {bucket_of(key), key});
  if (outcome) {
    outcome = table_.insert(transaction, *item);
  }
  return outcome;
}

void Items::read(const Transaction& transaction, const Step& step,
                 std::vector<Operation>& operations) const {
  Found found;
  const Table& table = table_.table();
  const auto add = [&](const RowView& row) { found.add(table_.of(row)); };
  const std::int32_t bucket = bucket_of(step.keys.front());
  const std::array<Value, 2> first{bucket, step.keys.front()};
  const std::array<Value, 2> last{bucket, step.keys.back()};
  const Range range = Range::between(Key(first), Key(last));
  switch (step.kind) {
    case StepKind::get: table.read(transaction, {bucket, step.keys.front()}, add); break;
    case StepKind::many: {
      std::vector<std::vector<Value>> values;
      values.reserve(step.keys.size());
      for (const std::int64_t key : step.keys) {
        values.push_back({bucket_of(key), key});
      }
      const std::vector<Key> keys(values.begin(), values.end());
      table.read_many(transaction, keys, [&](std::size_t, const RowView& row) { add(row); });
      break;
    }
    case StepKind::visit:
      table.visit(transaction, range, [&](const RowView& row) {
        add(row);
        return true;
      });
      break;
    case StepKind::cursor:
      for (Cursor cursor = table.cursor(transaction, range); cursor.valid(); cursor.next()) {
        add(cursor.row());
      }
      break;
    case StepKind::backward_cursor: {
      Cursor cursor = table.cursor(transaction, range, 2);
      for (cursor.seek_last(); cursor.valid(); cursor.previous()) {
        add(cursor.row());
      }
      break;
    }
    default: {
      const std::int64_t group = step.keys.front() / kGroup;
      for (Cursor cursor = by_rank_.cursor(transaction, Range::prefix({group})); cursor.valid();
           cursor.next()) {
        add(cursor.row());
      }
      break;
    }
  }
  found.take(step, operations, mode_);
}

}  // namespace palimpsest::experiments::history
