// The registry of PageKinds by page type; filled once, before the pool is made.
#pragma once

#include <array>
#include <cstddef>

#include "buffer/page_header.h"
#include "buffer/page_kind.h"

namespace palimpsest::buffer {

class PageKinds {
 public:
  /// `kind` outlives every pool that uses this registry.
  void set(PageType type, const PageKind& kind) noexcept { kinds_[index(type)] = &kind; }

  /// Null for a type that is not registered.
  [[nodiscard]] const PageKind* of(PageType type) const noexcept { return kinds_[index(type)]; }

 private:
  [[nodiscard]] static std::size_t index(PageType type) noexcept {
    return static_cast<std::size_t>(type);
  }

  std::array<const PageKind*, 256> kinds_{};
};

}  // namespace palimpsest::buffer
