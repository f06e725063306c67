// Records to be sorted, and the expected result.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bulk/sort/external_sort.h"
#include "tests/support/sim_disk.h"
#include "tests/support/sim_random.h"

namespace palimpsest::bulk::test {

using Record = std::pair<std::string, std::string>;
using Records = std::vector<Record>;

/// In the order of keys, equal ones in their given order: a stable sort.
inline Records sorted(const Records& records) {
  std::multimap<std::string_view, const Record*> ordered;
  for (const Record& record : records) {
    ordered.emplace(record.first, &record);
  }
  Records all;
  for (const auto& [key, record] : ordered) {
    all.push_back(*record);
  }
  return all;
}

/// All remaining records of the sort.
inline Records rest_of(ExternalSort& sort) {
  Records records;
  while (sort.next()) {
    records.emplace_back(sort.key(), sort.value());
  }
  return records;
}

inline Records sort_by(ExternalSort& sort, const Records& records) {
  for (const auto& [key, value] : records) {
    sort.add(key, value);
  }
  sort.finish();
  return rest_of(sort);
}

/// `count` records with keys of up to `key_bytes` bytes, few of which differ early, and values of
/// up to `value_bytes`.
inline Records random_records(palimpsest::test::SimRandom& random, std::size_t count,
                              std::size_t key_bytes, std::size_t value_bytes) {
  Records records;
  const std::uint64_t letters = 1 + random.below(3);
  for (std::size_t i = 0; i < count; ++i) {
    std::string key(random.below(key_bytes + 1), 'k');
    for (char& letter : key) {
      letter = random.chance(20) ? static_cast<char>(random.below(256))
                                 : static_cast<char>(0x7f + random.below(letters));
    }
    records.emplace_back(std::move(key),
                         std::to_string(i) + std::string(random.below(value_bytes + 1), 'v'));
  }
  return records;
}

/// A simulated disk and its device.
struct Disk {
  palimpsest::test::SimDisk disk{palimpsest::test::SimOptions{.reorder_completions = false}};
  std::unique_ptr<io::Device> device = disk.device();
};

}  // namespace palimpsest::bulk::test
