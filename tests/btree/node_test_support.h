// Pages, keys and checks for the tests of btree's nodes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "base/random.h"
#include "btree/node/inner_node.h"
#include "btree/node/leaf_node.h"
#include "btree/node/node_print.h"
#include "btree/node/node_validate.h"

namespace palimpsest::btree::test {

inline constexpr std::uint32_t kPageSizes[] = {4096, 8192, 16384, 32768, 65536};
/// Page sizes for models, mostly with every shape of keys; fewer where debug checks make each of
/// them slow.
#ifdef PALIMPSEST_DEBUG_CHECKS
inline constexpr std::uint32_t kPageSizesOfModels[] = {4096, 16384, 65536};
#else
inline constexpr auto& kPageSizesOfModels = kPageSizes;
#endif

/// Memory of exactly one page, so that AddressSanitizer detects a read beyond it.
class PageMemory {
 public:
  explicit PageMemory(std::uint32_t size)
      : size_(size), bytes_(static_cast<std::byte*>(operator new(size, kAlignment))) {
    std::memset(bytes_.get(), 0xAA, size);  // no function may rely on zeroed memory
  }
  PageMemory(const PageMemory& other) : PageMemory(other.size_) {
    std::memcpy(bytes_.get(), other.bytes_.get(), size_);
  }
  PageMemory(PageMemory&&) noexcept = default;
  PageMemory& operator=(PageMemory&&) noexcept = default;
  PageMemory& operator=(const PageMemory&) = delete;
  ~PageMemory() = default;

  [[nodiscard]] std::byte* data() const { return bytes_.get(); }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] ConstBytes bytes() const { return {bytes_.get(), size_}; }
  [[nodiscard]] LeafNode leaf() const { return {data(), size_}; }
  [[nodiscard]] InnerNode inner() const { return {data(), size_}; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* bytes) const { operator delete(bytes, kAlignment); }
  };

  std::uint32_t size_;
  std::unique_ptr<std::byte, Free> bytes_;
};

/// The shape of a test's keys.
enum class KeyShape : std::uint8_t {
  integer,         ///< 8 bytes big-endian, from a small range
  random_integer,  ///< 8 random bytes
  short_bytes,     ///< 1 to 3 bytes, so that many keys are equal
  nested,          ///< zero bytes and 0xff bytes, prefixes of each other
  shared_prefix,   ///< a long common prefix, a short end
  outlier,         ///< integers that share most bytes, and now and then another key
  longest,         ///< up to the limit, differing late
};
inline constexpr KeyShape kKeyShapes[] = {
    KeyShape::integer,       KeyShape::random_integer, KeyShape::short_bytes, KeyShape::nested,
    KeyShape::shared_prefix, KeyShape::outlier,        KeyShape::longest};

[[nodiscard]] inline std::string big_endian(std::uint64_t number) {
  std::string key(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    key[i] = static_cast<char>(number >> (56 - 8 * i));
  }
  return key;
}

[[nodiscard]] inline std::string random_bytes(Random& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, size - at));
  }
  return bytes;
}

[[nodiscard]] inline std::string random_key(Random& random, KeyShape shape,
                                            std::uint32_t page_size) {
  const std::size_t limit = key_bytes_max(page_size);
  switch (shape) {
    case KeyShape::integer: return big_endian(0x0102030400000000U + random.below(4000));
    case KeyShape::random_integer: return big_endian(random());
    case KeyShape::short_bytes: return random_bytes(random, random.between(1, 3));
    case KeyShape::nested: {
      const std::string alphabet(
          "\0\0\xff\xff"
          "a",
          5);
      std::string key;
      do {
        key.push_back(alphabet[random.below(alphabet.size())]);
      } while (key.size() < limit && !random.one_in(9));
      return key;
    }
    case KeyShape::shared_prefix: {
      std::string key(limit / 2, 'p');
      key += random.one_in(3) ? "x" : "y";
      return key + random_bytes(random, random.below(4));
    }
    case KeyShape::outlier:
      return random.one_in(40) ? random_bytes(random, random.between(1, 12))
                               : big_endian(7000 + random.below(3000));
    case KeyShape::longest: {
      std::string key(limit - random.below(3), '\xff');
      key[key.size() - 1 - random.below(20)] = static_cast<char>(random());
      key[key.size() - 1 - random.below(200)] = static_cast<char>(random());
      return key;
    }
  }
  return {};
}

/// A value that fits beside a key: mostly short, sometimes up to the limit.
[[nodiscard]] inline std::string random_value(Random& random, std::size_t key_len,
                                              std::uint32_t page_size) {
  const std::size_t limit = record_bytes_max(page_size) - key_len;
  const std::size_t size =
      random.one_in(12) ? random.between(0, limit) : random.below(std::min<std::size_t>(limit, 40));
  return random_bytes(random, size);
}

[[nodiscard]] inline std::string key_at(const LeafView& leaf, SlotIndex slot) {
  KeyBuffer key;
  leaf.copy_key(slot, key);
  return std::string(key.view());
}

[[nodiscard]] inline std::string separator_at(const InnerView& node, SlotIndex slot) {
  KeyBuffer key;
  node.copy_separator(slot, key);
  return std::string(key.view());
}

/// Success if the node passes the audit.
[[nodiscard]] inline ::testing::AssertionResult sound(const NodeView& node) {
  if (const auto fault = audit_node(node.bytes())) {
    return ::testing::AssertionFailure() << *fault << "\n" << print_node(node.bytes());
  }
  return ::testing::AssertionSuccess();
}

}  // namespace palimpsest::btree::test
