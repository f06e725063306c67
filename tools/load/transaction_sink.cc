#include "tools/load/transaction_sink.h"

#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/error.h"

namespace palimpsest::load {
namespace {

std::string text_of(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace

TransactionSink::TransactionSink(Database& database, const TableText& table, bool to_make,
                                 OnDuplicate on_duplicate)
    : definition_(table),
      on_duplicate_(on_duplicate),
      transaction_(database.begin(
          {.durability = Durability::synchronous, .isolation = Isolation::none, .bulk = true})) {
  if (to_make) {
    transaction_.create_table(table.table).require();
    for (const IndexSchema& index : table.indexes) {
      transaction_.create_index(table.table.name, index).require();
    }
  }
  table_ = transaction_.table(table.table.name);
}

Put TransactionSink::put(std::span<const Value> row) {
  try {
    const Outcome outcome = table_->insert(transaction_, Values(row));
    switch (outcome.kind()) {
      case OutcomeKind::done: return {.result = PutResult::added};
      case OutcomeKind::exists: return put_duplicate(outcome, row);
      case OutcomeKind::absent:
      case OutcomeKind::conflict: break;
    }
    outcome.require();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) {
      throw;
    }
    // A key or a row that is too long: the call has changed nothing.
    return {.result = PutResult::refused,
            .fault = {.kind = FaultKind::range, .reason = error.what()}};
  }
  return {};
}

Put TransactionSink::put_duplicate(const Outcome& outcome, std::span<const Value> row) {
  switch (on_duplicate_) {
    case OnDuplicate::skip: return {.result = PutResult::skipped};
    case OnDuplicate::error: return refuse_duplicate(outcome);
    case OnDuplicate::replace: break;
  }
  const Outcome replaced = table_->upsert(transaction_, Values(row));
  if (replaced.kind() == OutcomeKind::exists) {
    return refuse_duplicate(replaced);
  }
  replaced.require();
  return {.result = PutResult::replaced};
}

Put TransactionSink::refuse_duplicate(const Outcome& outcome) const {
  const Outcome::Place& place = outcome.place();
  Fault fault;
  fault.kind = FaultKind::duplicate;
  fault.shown = place.key;
  if (place.index.empty()) {
    fault.column = text_of(definition_.table.key);
    fault.reason = "a row with this key is there";
  } else {
    const auto index = std::ranges::find(definition_.indexes, place.index, &IndexSchema::name);
    fault.column = index == definition_.indexes.end() ? "" : text_of(index->columns);
    fault.reason =
        fmt::format("a row with these values is in the unique index {}", in_quotes(place.index));
  }
  return {.result = PutResult::refused, .fault = std::move(fault)};
}

void TransactionSink::finish() {
  transaction_.commit();
}

}  // namespace palimpsest::load
