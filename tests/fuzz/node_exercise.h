// The operations of the fuzz targets on a node page that validation has accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace palimpsest::btree::fuzz {

/// Bytes that decide what happens next; endless, as zeros follow the given ones.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool exhausted() const { return next_ >= bytes_.size(); }
  std::uint8_t byte() { return exhausted() ? std::uint8_t{0} : bytes_[next_++]; }
  /// In [0, bound), from two bytes.
  std::uint32_t below(std::uint32_t bound) {
    const std::uint32_t low = byte();
    return bound == 0 ? 0 : (low | std::uint32_t{byte()} << 8) % bound;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t next_ = 0;
};

/// Validates the page. If it is accepted, reads everything on it and changes it according to the
/// choices, validating after each change. Aborts if a function breaks an accepted page, or does not
/// find an existing entry. The page is 64-byte aligned.
void exercise_node(std::byte* page, std::uint32_t page_size, Choices& choices);

}  // namespace palimpsest::btree::fuzz
