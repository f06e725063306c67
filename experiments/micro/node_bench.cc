// Measures searches and insertions in single B+-tree nodes, all in cache: the cost of the code
// alone.
//
// usage: node_bench [page size in bytes, default 4096] [rounds, default 2000000] [measurement]
// Without the name of one measurement, all are made. Instructions of one search, with
// NAME for example 'leaf, prefix':
//   valgrind --tool=callgrind --toggle-collect='*View::search*' node_bench 4096 100000 NAME
// prints the instructions of all its searches, here 100,000 of them.
#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "btree/node/inner_node.h"
#include "btree/node/leaf_node.h"

namespace {

using palimpsest::ByteView;
using palimpsest::PageId;
using palimpsest::Random;
using palimpsest::TreeId;
using palimpsest::btree::InnerNode;
using palimpsest::btree::LeafNode;
using palimpsest::btree::SlotIndex;

constexpr std::uint64_t kStep = 3;  // distance of neighbouring keys

std::string big_endian(std::uint64_t number) {
  std::string key(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    key[i] = static_cast<char>(number >> (56 - 8 * i));
  }
  return key;
}

struct Selection {
  std::uint64_t rounds;
  std::string_view only;  ///< name of the one measurement wanted, empty for all
};

/// Runs `once` for each key in random order and prints the mean time.
template <class Once>
void measure(const char* what, const Selection& selection, std::uint64_t key_count, Once once) {
  if (!selection.only.empty() && selection.only != what) {
    return;
  }
  Random random(42);
  std::vector<std::string> keys;
  keys.reserve(4096);
  for (int i = 0; i < 4096; ++i) {
    keys.push_back(big_endian((1 + random.below(key_count)) * kStep));
  }
  std::uint64_t sum = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < selection.rounds; ++i) {
    sum += once(keys[i % keys.size()]);
  }
  const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
  fmt::print("{:<28} {:7.1f} ns  ({} keys, checksum {})\n", what,
             elapsed.count() / static_cast<double>(selection.rounds), key_count, sum);
}

struct alignas(4096) Page {
  std::byte bytes[65536];
};

/// `finite`: with an upper fence, hence a prefix of 6 bytes; otherwise whole keys are in the node.
SlotIndex fill_leaf(LeafNode& leaf, bool finite) {
  leaf.init(PageId{1}, TreeId{1}, big_endian(1),
            finite ? std::optional<ByteView>(big_endian(0xFFFF)) : std::nullopt);
  const std::string value(120, 'v');
  std::uint64_t number = kStep;
  while (leaf.insert(leaf.count(), big_endian(number), value)) {
    number += kStep;
  }
  return leaf.count();
}

SlotIndex fill_inner(InnerNode& node, bool finite) {
  const std::string upper = big_endian(0xFFFFFF);
  node.init(PageId{1}, TreeId{1}, 1, big_endian(1),
            finite ? std::optional<ByteView>(upper) : std::nullopt, 1);
  std::uint64_t number = kStep;
  while (node.count() < 200 && node.insert(node.count(), big_endian(number), number)) {
    number += kStep;
  }
  return node.count();
}

void measure_searches(std::uint32_t page_size, const Selection& selection, bool finite) {
  static Page page;
  LeafNode leaf(page.bytes, page_size);
  const SlotIndex records = fill_leaf(leaf, finite);
  measure(finite ? "leaf, prefix" : "leaf, no prefix", selection, records,
          [&](ByteView key) { return leaf.find(key).slot; });
  InnerNode inner(page.bytes, page_size);
  const SlotIndex separators = fill_inner(inner, finite);
  measure(finite ? "inner, prefix" : "inner, no prefix", selection, separators,
          [&](ByteView key) { return inner.route(key); });
}

/// Random insertions into an empty leaf until it is full, again and again.
void measure_insertions(std::uint32_t page_size, const Selection& selection) {
  static Page page;
  LeafNode leaf(page.bytes, page_size);
  const std::string upper = big_endian(0xFFFFFF);
  const std::string value(120, 'v');
  const auto start_over = [&] { leaf.init(PageId{1}, TreeId{1}, big_endian(1), upper); };
  start_over();
  measure("leaf insert", selection, 1'000'000, [&](ByteView key) {
    const auto place = leaf.find(key);
    if (!place.found && !leaf.insert(place.slot, key, value)) {
      start_over();
    }
    return place.slot;
  });
}

}  // namespace

int main(int argc, char** argv) {
  const auto page_size =
      static_cast<std::uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 4096);
  const std::uint64_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2'000'000;
  if (!palimpsest::btree::is_node_page_size(page_size) || rounds == 0) {
    fmt::print(stderr, "the page size is a power of two from 4096 to 65536, rounds at least 1\n");
    return 1;
  }
  const Selection selection{rounds, argc > 3 ? argv[3] : ""};
  measure_searches(page_size, selection, true);
  measure_searches(page_size, selection, false);
  measure_insertions(page_size, selection);
  return 0;
}
