#include "versioning/ghost_hints.h"

#include <new>
#include <utility>

namespace palimpsest::versioning {

void GhostHints::add(const Entry& entry) noexcept {
  std::vector<Hint>& graves = hints_[place_of(entry.tree())];
  if (entry.key().size() > kKeyBytesMax) {
    return;
  }
  try {
    Hint grave{entry.tree(), std::string(entry.key())};
    if (graves.size() == kHintsMax) {
      graves[turn_++ % kHintsMax] = std::move(grave);  // the old one may be of a tree long gone
      return;
    }
    graves.push_back(std::move(grave));
  } catch (const std::bad_alloc&) {
    return;
  }
  counts_[place_of(entry.tree())].store(static_cast<std::uint16_t>(graves.size()),
                                        std::memory_order_relaxed);
}

// Trees may share a place. Each call looks at another hint, so that none stays hidden for long.
std::optional<std::string> GhostHints::take(TreeId tree) noexcept {
  std::vector<Hint>& graves = hints_[place_of(tree)];
  if (graves.empty()) {
    return std::nullopt;
  }
  Hint& grave = graves[turn_++ % graves.size()];
  if (grave.tree != tree) {
    return std::nullopt;
  }
  std::string key = std::move(grave.key);
  if (&grave != &graves.back()) {
    grave = std::move(graves.back());
  }
  graves.pop_back();
  counts_[place_of(tree)].store(static_cast<std::uint16_t>(graves.size()),
                                std::memory_order_relaxed);
  return key;
}

}  // namespace palimpsest::versioning
