#include "experiments/history/plan.h"

#include <algorithm>
#include <array>

namespace palimpsest::experiments::history {
namespace {

/// Maximum of a transaction.
constexpr std::uint64_t kStepsMax = 8;
constexpr std::uint64_t kBulkStepsMax = 24;
constexpr std::int64_t kNeighboursMax = 4;
/// One in so many steps pauses for thousands of other transactions: a snapshot grows old.
constexpr std::uint64_t kLongPause = 10'000;
/// One of so many keys is hot.
constexpr std::uint64_t kHotShare = 8;

std::vector<std::int64_t> neighbours(std::int64_t key, std::int64_t count) {
  std::vector<std::int64_t> keys;
  for (std::int64_t i = count - 1; i >= 0; --i) {
    if (const std::int64_t neighbour = key - i * kBuckets; neighbour >= 0) {
      keys.push_back(neighbour);
    }
  }
  return keys;
}

std::vector<std::int64_t> group_of(std::int64_t key) {
  std::vector<std::int64_t> keys;
  keys.reserve(kGroup);
  for (std::int64_t i = 0; i < kGroup; ++i) {
    keys.push_back(key / kGroup * kGroup + i);
  }
  return keys;
}

}  // namespace

std::vector<Operation> operations_of(const Plan& plan, Mode mode) {
  const bool lists = mode == Mode::list_append;
  std::vector<Operation> operations;
  for (const Step& step : plan.steps) {
    for (const std::int64_t key : step.keys) {
      if (is_write(step.kind)) {
        operations.push_back({.kind = lists ? OperationKind::append : OperationKind::write,
                              .known = false,
                              .key = key,
                              .values = {step.value}});
      } else {
        operations.push_back(
            {.kind = lists ? OperationKind::read_list : OperationKind::read_register, .key = key});
      }
    }
  }
  return operations;
}

ActiveKeys::ActiveKeys(std::uint64_t count, std::int64_t next_key, std::int64_t next_value,
                       std::uint32_t writes_max)
    : slots_(count),
      writes_max_(writes_max),
      next_key_(std::max(next_key, static_cast<std::int64_t>(count))),
      next_value_(next_value) {
  std::int64_t key = next_key_.load() - static_cast<std::int64_t>(count);
  for (Slot& slot : slots_) {
    slot.key = key++;
  }
}

std::size_t ActiveKeys::draw(Random& random) const noexcept {
  const std::uint64_t hot = std::max<std::uint64_t>(1, slots_.size() / kHotShare);
  return random.below(random.one_in(2) ? hot : slots_.size());
}

std::int64_t ActiveKeys::to_read(Random& random) const noexcept {
  const std::int64_t key = slots_[draw(random)].key.load();
  // Now and then a resting key.
  return random.one_in(20)
             ? static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(next_key_.load())))
             : key;
}

std::int64_t ActiveKeys::to_write(Random& random) noexcept {
  Slot& slot = slots_[draw(random)];
  std::int64_t key = slot.key.load();
  if (slot.writes.fetch_add(1) >= writes_max_ &&
      slot.key.compare_exchange_strong(key, next_key_.load())) {
    key = next_key_.fetch_add(1);
    slot.key = key;
    slot.writes = 1;
  }
  return key;
}

Plan Planner::next() {
  if (random_.below(100) < bulk_percent_) {
    return bulk();
  }
  Plan plan;
  const bool reads_only = random_.one_in(4);
  plan.read_only = reads_only && random_.one_in(2);
  plan.rolls_back = random_.one_in(30);
  const std::uint64_t steps = 1 + std::min(random_.below(kStepsMax), random_.below(kStepsMax));
  for (std::uint64_t i = 0; i < steps; ++i) {
    plan.steps.push_back(step(!reads_only && random_.one_in(2)));
  }
  return plan;
}

Plan Planner::bulk() {
  Plan plan{
      .rolls_back = random_.one_in(5), .is_bulk = true, .is_bulk_at_level = random_.one_in(4)};
  for (std::uint64_t i = 1 + random_.below(kBulkStepsMax); i > 0; --i) {
    plan.steps.push_back(step(plan.steps.empty() || !random_.one_in(3)));
  }
  return plan;
}

Step Planner::step(bool writes) {
  Step step;
  step.pause_us = pause();
  if (writes) {
    step.kind = random_.one_in(12) ? StepKind::rewrite_whole : StepKind::write;
    step.keys = {keys_.to_write(random_)};
    step.value = keys_.new_value();
    return step;
  }
  const std::int64_t key = keys_.to_read(random_);
  const auto count = static_cast<std::int64_t>(1 + random_.below(kNeighboursMax));
  constexpr std::array kKinds{StepKind::many, StepKind::visit, StepKind::cursor,
                              StepKind::backward_cursor, StepKind::index};
  step.kind = random_.one_in(2) ? StepKind::get : kKinds[random_.below(kKinds.size())];
  switch (step.kind) {
    case StepKind::get: step.keys = {key}; break;
    case StepKind::index: step.keys = group_of(key); break;
    default: step.keys = neighbours(key, count); break;
  }
  return step;
}

std::uint32_t Planner::pause() {
  if (random_.one_in(6)) {
    return 1;
  }
  if (random_.one_in(kLongPause)) {
    return static_cast<std::uint32_t>(20'000 + random_.below(200'000));
  }
  return random_.one_in(200) ? static_cast<std::uint32_t>(50 + random_.below(1000)) : 0;
}

}  // namespace palimpsest::experiments::history
