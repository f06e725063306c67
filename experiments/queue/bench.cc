#include "experiments/queue/bench.h"

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "base/random.h"
#include "experiments/common/mix.h"
#include "experiments/tables/random.h"

namespace palimpsest::experiments::queue {
namespace {

constexpr std::int64_t kJobsMax = 1'000'000'000;

oltp::Workload make_workload() {
  oltp::Workload workload;
  workload.traits = {
      .name = "queue", .label = "a queue of jobs", .scale_flag = "jobs", .scale_max = kJobsMax};
  workload.types = {"put", "take"};
  workload.figure = oltp::Figure{.type = static_cast<std::size_t>(TransactionType::take),
                                 .key = "jobs_per_minute",
                                 .name = "jobs a minute"};
  workload.tables = {std::string(name_of(Table::job))};
  workload.scale_of = [](std::uint64_t jobs) {
    return oltp::Scale{
        .rows = jobs,
        .data_bytes = jobs * kJobBytes,
        .load_parts = static_cast<std::uint32_t>((jobs + (kJobsOfPart - 1)) / kJobsOfPart)};
  };
  return workload;
}

std::int64_t nanoseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

JobRow job_of(const JobKey& key) noexcept {
  const auto producer = static_cast<std::uint64_t>(key.producer);
  Random random(mix64(static_cast<std::uint64_t>(key.put_at_ns) ^ mix64(producer)));
  return {.payload = random_capitals<kPayloadBytes>(random)};
}

const oltp::Workload& workload() {
  static const oltp::Workload made = make_workload();
  return made;
}

std::size_t Queue::Transactions::choose() {
  if (type_ == TransactionType::put) {
    type_ = TransactionType::take;
  } else {
    type_ = TransactionType::put;
    key_.put_at_ns = std::max(key_.put_at_ns + 1, nanoseconds_now());
  }
  return static_cast<std::size_t>(type_);
}

oltp::CheckResult judge(std::uint64_t found, std::uint64_t damaged, std::uint64_t expected) {
  oltp::CheckResult result;
  if (damaged != 0) {
    result.first.push_back(fmt::format("{} jobs differ from those that were put", damaged));
  }
  if (found != expected) {
    result.first.push_back(fmt::format("{} jobs wait, not {}", found, expected));
  }
  result.violations = result.first.size();
  return result;
}

}  // namespace palimpsest::experiments::queue
