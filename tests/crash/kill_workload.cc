#include "tests/crash/kill_workload.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <utility>

#include "palimpsest/error.h"

#include "txn/read_scope.h"

namespace palimpsest::engine::test {

using palimpsest::test::SimRandom;

namespace {

constexpr std::uint64_t kKeysPerThread = 300;
/// Keys below this have large values.
constexpr std::uint64_t kLargeKeys = 6;
constexpr std::uint64_t kChangesMax = 8;

std::string filled(SimRandom& random, std::uint64_t number, std::size_t bytes) {
  std::string value = fmt::format("{:012}:", number);
  std::uint64_t block = random.next();
  while (value.size() < bytes) {
    value += fmt::format("{:016x}", block);
    block += 0x9e3779b97f4a7c15U;
  }
  return value;
}

void touch(Account& account, std::uint32_t thread, std::uint64_t number,
           std::int64_t amount) noexcept {
  account.balance += amount;
  account.last[thread] = number;
}

/// Returns whether it was done; false for a conflict.
bool move(txn::Transaction& transaction, btree::BTree& tree, std::uint32_t account,
          std::uint32_t thread, std::uint64_t number, std::int64_t amount) {
  const auto outcome = transaction.modify(tree, account_key(account), [&](MutableBytes bytes) {
    Account changed;
    std::memcpy(&changed, bytes.data(), sizeof changed);
    touch(changed, thread, number, amount);
    std::memcpy(bytes.data(), &changed, sizeof changed);
  });
  return !outcome.conflict;
}

}  // namespace

std::string account_key(std::uint32_t account) {
  return fmt::format("key{:05}/account", account * (kKeysPerThread / kKillAccounts));
}

std::string value_of(const Account& account) {
  return {static_cast<const char*>(static_cast<const void*>(&account)), sizeof account};
}

std::string KillThread::marker_key() const {
  return fmt::format("marker{}", thread_);
}

KillPlan::Change KillThread::draw(SimRandom& random, std::uint64_t number) const {
  const std::uint64_t which = random.below(kKeysPerThread);
  KillPlan::Change change{.key = fmt::format("key{:05}/{}", which, thread_), .value = {}};
  if (random.chance(25)) {
    return change;
  }
  const std::size_t bytes = which < kLargeKeys ? 5'000 + random.below(30'000)
                                               : 20 + random.below(random.chance(5) ? 1'000 : 200);
  change.value.emplace(filled(random, number, bytes));
  return change;
}

KillPlan KillThread::plan(std::uint64_t round) const {
  KillPlan plan{.number = counted_ + 1, .rolled_back = {}, .changes = {}, .transfer = {}};
  SimRandom random(seed_ ^ (round << 40U) ^ (std::uint64_t{thread_} << 32U) ^ plan.number);
  if (random.chance(20)) {
    for (std::uint64_t i = 1 + random.below(2 * kChangesMax); i != 0; --i) {
      plan.rolled_back.push_back(draw(random, plan.number));
    }
  }
  for (std::uint64_t i = 1 + random.below(kChangesMax); i != 0; --i) {
    plan.changes.push_back(draw(random, plan.number));
  }
  if (random.chance(30)) {
    const auto from = static_cast<std::uint32_t>(random.below(kKillAccounts));
    const auto step = static_cast<std::uint32_t>(1 + random.below(kKillAccounts - 1));
    plan.transfer = {.from = from,
                     .to = (from + step) % kKillAccounts,
                     .amount = static_cast<std::int64_t>(random.below(1000))};
  }
  plan.changes.push_back({.key = marker_key(), .value = fmt::format("{}", plan.number)});
  plan.synchronous = !random.chance(30);
  return plan;
}

void KillThread::count(const KillPlan& plan) {
  counted_ = plan.number;
  for (const KillPlan::Change& change : plan.changes) {
    if (change.value) {
      records_[change.key] = *change.value;
    } else {
      records_.erase(change.key);
    }
  }
  if (plan.transfer) {
    touch(accounts_[plan.transfer->from], thread_, plan.number, -plan.transfer->amount);
    touch(accounts_[plan.transfer->to], thread_, plan.number, plan.transfer->amount);
  }
}

bool KillThread::attempt(Engine& database, btree::BTree& tree, const KillPlan& plan,
                         std::string& wrong) const {
  if (!plan.rolled_back.empty()) {
    auto transaction = database.begin();
    for (const KillPlan::Change& change : plan.rolled_back) {
      const auto outcome = change.value ? transaction->upsert(tree, change.key, *change.value)
                                        : transaction->remove(tree, change.key);
      if (outcome.conflict) {
        wrong = fmt::format("{} belongs to this thread, and is in conflict", change.key);
      }
    }
    transaction->rollback();
  }
  auto transaction = database.begin(plan.synchronous ? txn::Durability::synchronous
                                                     : txn::Durability::asynchronous);
  std::map<std::string, bool> there;
  for (const KillPlan::Change& change : plan.changes) {
    const auto [place, first] = there.try_emplace(change.key, records_.contains(change.key));
    if (std::string value;
        first && (txn::lookup(*transaction, tree, change.key, value) != place->second ||
                  (place->second && value != records_.at(change.key)))) {
      wrong = fmt::format("{} is not as this thread left it", change.key);
    }
    const bool existed = place->second;
    place->second = change.value.has_value();
    const auto outcome = !change.value ? transaction->remove(tree, change.key)
                         : existed     ? transaction->update(tree, change.key, *change.value)
                                       : transaction->insert(tree, change.key, *change.value);
    if (outcome.conflict || outcome.existed != existed) {
      wrong = fmt::format("{} was {}, and is not", change.key, existed ? "there" : "absent");
    }
  }
  if (plan.transfer &&
      (!move(*transaction, tree, plan.transfer->from, thread_, plan.number,
             -plan.transfer->amount) ||
       !move(*transaction, tree, plan.transfer->to, thread_, plan.number, plan.transfer->amount))) {
    return false;  // and the handle rolls back
  }
  transaction->commit();
  return true;
}

std::string KillThread::run(Engine& database, btree::BTree& tree, const KillPlan& plan) const {
  std::string wrong;
  for (bool done = false; !done && wrong.empty();) {
    try {
      done = attempt(database, tree, plan, wrong);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::transaction_too_old &&
          error.code() != ErrorCode::snapshot_too_old) {
        throw;
      }
    }
  }
  return wrong;
}

std::optional<std::uint64_t> KillThread::marked(const Records& found) const {
  const auto marker = found.find(marker_key());
  if (marker == found.end()) {
    return counted_ == 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
  }
  std::uint64_t number = 0;
  const std::string& text = marker->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

Records expected_records(const std::vector<KillThread>& threads) {
  Records expected;
  std::array<Account, kKillAccounts> accounts{};
  for (std::size_t thread = 0; thread < threads.size(); ++thread) {
    expected.insert(threads[thread].records().begin(), threads[thread].records().end());
    for (std::size_t i = 0; i < accounts.size(); ++i) {
      const Account& share = threads[thread].accounts()[i];
      accounts[i].balance += share.balance;
      accounts[i].last[thread] = share.last[thread];
    }
  }
  for (std::uint32_t i = 0; i < kKillAccounts; ++i) {
    expected[account_key(i)] = value_of(accounts[i]);
  }
  return expected;
}

std::string difference(const Records& expected, const Records& found) {
  std::string text;
  for (const auto& [key, value] : expected) {
    const auto other = found.find(key);
    if (other == found.end()) {
      text += fmt::format("{} is missing\n", key);
    } else if (other->second != value) {
      text += fmt::format("{} has another value: of {} bytes \"{}...\", not of {} \"{}...\"\n", key,
                          other->second.size(), other->second.substr(0, 12), value.size(),
                          value.substr(0, 12));
    }
  }
  for (const auto& [key, value] : found) {
    if (!expected.contains(key)) {
      text += fmt::format("{} must not be there: \"{}...\"\n", key, value.substr(0, 12));
    }
  }
  return text;
}

}  // namespace palimpsest::engine::test
