#include "tests/isolation/real_time.h"

#include <algorithm>
#include <span>
#include <utility>

namespace palimpsest::isolation {
namespace {

auto place_of(const Version& version) {
  return std::pair(version.key, version.current);
}

auto order_of(const Version* held) {
  return std::pair(held->there, held->by);
}

/// Versions of one key that are *held*: they are there before they are current for the last time. A
/// version that comes and goes while another is held contradicts that one, and so do two that are
/// held at the same time.
class Held {
 public:
  explicit Held(std::span<const Version> of_key) {
    for (const Version& version : of_key) {
      if (version.is_before(version)) {
        held_.push_back(&version);
      }
    }
    std::ranges::sort(held_, {}, order_of);
    for (const Version* version : held_) {
      longest_.push_back(longest_.empty() || longest_.back()->current < version->current
                             ? version
                             : longest_.back());
    }
  }

  /// The longest of those that are there before it is; nothing if none contradicts it.
  [[nodiscard]] const Version* contradicts(const Version& version) const {
    const auto end = version.is_before(version)
                         ? std::ranges::lower_bound(held_, order_of(&version), {}, order_of)
                         : std::ranges::lower_bound(held_, version.current, {},
                                                    [](const Version* one) { return one->there; });
    if (end == held_.begin()) {
      return nullptr;
    }
    const Version* longest = longest_[static_cast<std::size_t>(end - held_.begin()) - 1];
    return version.is_before(*longest) ? longest : nullptr;
  }

 private:
  std::vector<const Version*> held_;     ///< by `there`
  std::vector<const Version*> longest_;  ///< current for longest, of those up to that one
};

}  // namespace

RealTime::RealTime(const History& history, Writes& writes)
    : history_(history), there_(history.size(), kNever) {
  for (TransactionNumber by = 0; by < history.size(); ++by) {
    if (history.at(by).commit_status != CommitStatus::committed) {
      continue;
    }
    const Moment ended = history.at(by).ended + 1;
    there_[by] = std::min(there_[by], ended);
    for (const Access& access : history.accesses(by)) {
      for (const std::int64_t value : history.values(access)) {
        const Write* write = writes.find(access.key, value);
        if (write != nullptr && history.at(write->by).commit_status != CommitStatus::aborted) {
          there_[write->by] = std::clamp(ended, begun(write->by), there_[write->by]);
        }
      }
    }
  }
}

VersionOrder::VersionOrder(std::vector<Version> versions) : versions_(std::move(versions)) {
  std::ranges::sort(versions_, {}, place_of);
}

void VersionOrder::each_next(const Version& version, FunctionRef<void(const Version&)> use) const {
  Moment nearest = kNever;
  for (auto next =
           std::ranges::upper_bound(versions_, std::pair(version.key, version.there), {}, place_of);
       next != versions_.end() && next->key == version.key && next->current <= nearest; ++next) {
    if (next->by != version.by && !next->is_before(version)) {
      nearest = std::min(nearest, next->there);
      use(*next);
    }
  }
}

std::vector<Contradiction> VersionOrder::contradictions() const {
  std::vector<Contradiction> found;
  for (std::size_t begin = 0; begin < versions_.size();) {
    std::size_t end = begin + 1;
    while (end < versions_.size() && versions_[end].key == versions_[begin].key) {
      ++end;
    }
    const std::span of_key = std::span(versions_).subspan(begin, end - begin);
    const Held held(of_key);
    for (const Version& version : of_key) {
      if (const Version* longest = held.contradicts(version)) {
        found.push_back({.read = *longest, .missed = version});
      }
    }
    begin = end;
  }
  return found;
}

}  // namespace palimpsest::isolation
