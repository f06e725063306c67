// Memory of exactly one page, aligned as frames are, so that AddressSanitizer detects an access
// beyond it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace palimpsest::btree::fuzz {

class FuzzPage {
 public:
  explicit FuzzPage(std::uint32_t size)
      : bytes_(static_cast<std::byte*>(operator new(size, kAlignment))) {}
  [[nodiscard]] std::byte* data() const { return bytes_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* bytes) const { operator delete(bytes, kAlignment); }
  };

  std::unique_ptr<std::byte, Free> bytes_;
};

}  // namespace palimpsest::btree::fuzz
