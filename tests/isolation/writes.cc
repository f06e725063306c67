#include "tests/isolation/writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace palimpsest::isolation {
namespace {

auto order_of(const Write& write) {
  return std::tuple(write.key, write.value);
}

}  // namespace

Writes::Writes(const History& history) : starts_(history.keys() + 1) {
  for (TransactionNumber by = 0; by < history.size(); ++by) {
    const auto accesses = history.accesses(by);
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      if (accesses[i].is_read) {
        continue;
      }
      const auto later = accesses.subspan(i + 1);
      const bool again = std::ranges::any_of(later, [&](const Access& other) {
        return !other.is_read && other.key == accesses[i].key;
      });
      writes_.push_back({.value = history.values(accesses[i]).front(),
                         .key = accesses[i].key,
                         .by = by,
                         .is_last = !again});
    }
  }
  std::ranges::sort(writes_, {}, order_of);
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    if (i != 0 && order_of(writes_[i - 1]) == order_of(writes_[i])) {
      throw std::runtime_error(fmt::format("key {}: {} is written twice, so nothing can be said",
                                           history.key(writes_[i].key), writes_[i].value));
    }
    ++starts_[writes_[i].key + 1];
  }
  for (std::size_t key = 0; key + 1 < starts_.size(); ++key) {
    starts_[key + 1] += starts_[key];
  }
}

Write* Writes::find(KeyNumber key, std::int64_t value) {
  const std::span of_key =
      std::span(writes_).subspan(starts_[key], starts_[key + 1] - starts_[key]);
  const auto found = std::ranges::lower_bound(of_key, value, {}, &Write::value);
  return found != of_key.end() && found->value == value ? &*found : nullptr;
}

}  // namespace palimpsest::isolation
