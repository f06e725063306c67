#include "tests/isolation/history.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace palimpsest::isolation {

using experiments::history::Event;
using experiments::history::EventType;
using experiments::history::Operation;
using experiments::history::OperationKind;

void History::add(const Event& event) {
  check_order(event);
  const auto open = open_.find(event.process);
  if (event.type == EventType::invoke) {
    if (open != open_.end()) {
      throw std::runtime_error(fmt::format("event {}: process {} has not ended its transaction",
                                           event.index, event.process));
    }
    open_.emplace(event.process, Open{.transaction = size(), .operations = event.operations});
    transactions_.push_back({.begun = event.index, .process = event.process});
    return;
  }
  if (open == open_.end()) {
    throw std::runtime_error(
        fmt::format("event {}: process {} has begun none", event.index, event.process));
  }
  const bool committed = event.type == EventType::ok;
  if (event.type != EventType::info) {
    transactions_[open->second.transaction].ended = event.index;
  }
  end(open->second,
      committed                       ? CommitStatus::committed
      : event.type == EventType::fail ? CommitStatus::aborted
                                      : CommitStatus::unknown,
      committed ? event.operations : open->second.operations);
  open_.erase(open);
}

void History::check_order(const Event& event) {
  if (last_index_ && event.index <= *last_index_) {
    throw std::runtime_error(fmt::format(
        "index {} does not come after {}, that of the event before", event.index, *last_index_));
  }
  last_index_ = event.index;
  for (const Operation& operation : event.operations) {
    has_registers_ = has_registers_ || operation.kind == OperationKind::write;
    has_lists_ = has_lists_ || operation.kind == OperationKind::append;
  }
  if (has_registers_ && has_lists_) {
    throw std::runtime_error("lists and registers are in one history");
  }
}

void History::finish() {
  for (const auto& [process, open] : open_) {
    end(open, CommitStatus::unknown, open.operations);
  }
  open_.clear();
}

void History::end(const Open& open, CommitStatus commit_status,
                  const std::vector<Operation>& operations) {
  TransactionRecord& record = transactions_[open.transaction];
  record.commit_status = commit_status;
  has_committed_ = has_committed_ || commit_status == CommitStatus::committed;
  record.first_access = accesses_.size();
  for (const Operation& operation : operations) {
    const bool reads = is_read(operation.kind);
    if (reads && !operation.known) {
      continue;
    }
    accesses_.push_back({.is_read = reads,
                         .key = number_of(operation.key),
                         .count = static_cast<std::uint32_t>(operation.values.size()),
                         .first = values_.size()});
    values_.insert(values_.end(), operation.values.begin(), operation.values.end());
    ++record.accesses;
  }
}

KeyNumber History::number_of(std::int64_t key) {
  const auto [place, is_new] = key_numbers_.try_emplace(key, keys());
  if (is_new) {
    keys_.push_back(key);
  }
  return place->second;
}

std::string History::text(TransactionNumber transaction) const {
  const TransactionRecord& record = transactions_[transaction];
  std::vector<Operation> operations;
  for (const Access& access : accesses(transaction)) {
    const auto found = values(access);
    operations.push_back(
        {.kind = access.is_read
                     ? (has_registers_ ? OperationKind::read_register : OperationKind::read_list)
                     : (has_registers_ ? OperationKind::write : OperationKind::append),
         .known = true,
         .key = keys_[access.key],
         .values = {found.begin(), found.end()}});
  }
  constexpr const char* kOutcomes[] = {"", "ok", "fail", "info"};
  std::string text = fmt::format(
      "T{} (process {}, events {} to {}, {}): ", transaction, record.process, record.begun,
      record.ended == ~std::uint64_t{0} ? "?" : fmt::format("{}", record.ended),
      kOutcomes[static_cast<int>(record.commit_status)]);
  append_json(text, operations);
  return text;
}

History load_history(const std::string& file) {
  if (std::filesystem::is_directory(file)) {
    throw std::runtime_error(fmt::format("{}: is a directory", file));
  }
  std::ifstream lines(file, std::ios::binary);
  if (!lines) {
    throw std::runtime_error(fmt::format("{}: cannot be read", file));
  }
  History history;
  std::uint64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      history.add(experiments::history::parse_json(line));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format("{}:{}: {}", file, number, error.what()));
    }
  }
  if (lines.bad()) {
    throw std::runtime_error(fmt::format("{}: cannot be read to its end", file));
  }
  history.finish();
  if (!history.has_committed()) {
    throw std::runtime_error(
        fmt::format("{}: no transaction has committed, so there is nothing to judge", file));
  }
  return history;
}

}  // namespace palimpsest::isolation
