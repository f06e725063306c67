#include "experiments/tatp/bench.h"

#include <string>

namespace palimpsest::experiments::tatp {
namespace {

/// 229 GB. Number counts no more than twice as many.
constexpr std::int64_t kSubscribersMax = 1'000'000'000;
/// Of four subscribers, on average (README.md).
constexpr std::uint64_t kRowsOfFour = 43;
constexpr std::uint64_t kBytesOfFour = 914;

oltp::Workload make_workload() {
  oltp::Workload workload;
  workload.traits = {.name = "tatp",
                     .label = "TATP-like, in process",
                     .scale_flag = "subscribers",
                     .scale_max = kSubscribersMax,
                     .flags = {{.name = kKeysFlag,
                                .values = {std::string(name_of(Choice::uniform)),
                                           std::string(name_of(Choice::non_uniform))}}}};
  for (std::size_t type = 0; type < kTransactionTypes; ++type) {
    workload.types.emplace_back(name_of(static_cast<TransactionType>(type)));
  }
  for (std::uint32_t table = 1; table <= kTables; ++table) {
    workload.tables.emplace_back(name_of(static_cast<Table>(table)));
  }
  workload.scale_of = [](std::uint64_t subscribers) {
    const std::uint64_t groups = (subscribers + (kSubscribersOfPart - 1)) / kSubscribersOfPart;
    return oltp::Scale{.rows = subscribers * kRowsOfFour / 4,
                       .data_bytes = subscribers * kBytesOfFour / 4,
                       .load_parts = static_cast<std::uint32_t>(groups) * kTables};
  };
  return workload;
}

Choice choice_of(const oltp::Options& options) {
  const std::string& keys = options.of_workload.at(kKeysFlag);
  return keys == name_of(Choice::uniform) ? Choice::uniform : Choice::non_uniform;
}

}  // namespace

const oltp::Workload& workload() {
  static const oltp::Workload made = make_workload();
  return made;
}

void ForwardingCounter::add(TransactionType committed) noexcept {
  if (committed == TransactionType::insert_call_forwarding) {
    inserted_.fetch_add(1, std::memory_order_relaxed);
  } else if (committed == TransactionType::delete_call_forwarding) {
    deleted_.fetch_add(1, std::memory_order_relaxed);
  }
}

Tatp::Transactions::Transactions(const oltp::Options& options, std::uint64_t seed,
                                 ForwardingCounter& counter)
    : source_(seed, static_cast<Number>(options.scale), choice_of(options)), counter_(counter) {}

std::size_t Tatp::Transactions::choose() {
  input_ = source_.next();
  return input_.index();
}

}  // namespace palimpsest::experiments::tatp
