#include "versioning/ghost_hints.h"

#include <new>
#include <utility>

namespace palimpsest::versioning {

void GhostHints::add(const Entry& entry) noexcept {
  std::vector<Hint>& hints = hints_[place_of(entry.tree())];
  if (entry.key().size() > kKeyBytesMax) {
    return;
  }
  try {
    Hint hint{entry.tree(), std::string(entry.key())};
    if (hints.size() == kHintsMax) {
      hints[turn_++ % kHintsMax] = std::move(hint);  // the old one may be of a tree long gone
      return;
    }
    hints.push_back(std::move(hint));
  } catch (const std::bad_alloc&) {
    return;
  }
  counts_[place_of(entry.tree())].store(static_cast<std::uint16_t>(hints.size()),
                                        std::memory_order_relaxed);
}

// Trees may share a place. Each call looks at another hint, so that none stays hidden for long.
std::optional<std::string> GhostHints::take(TreeId tree) noexcept {
  std::vector<Hint>& hints = hints_[place_of(tree)];
  if (hints.empty()) {
    return std::nullopt;
  }
  Hint& hint = hints[turn_++ % hints.size()];
  if (hint.tree != tree) {
    return std::nullopt;
  }
  std::string key = std::move(hint.key);
  if (&hint != &hints.back()) {
    hint = std::move(hints.back());
  }
  hints.pop_back();
  counts_[place_of(tree)].store(static_cast<std::uint16_t>(hints.size()),
                                std::memory_order_relaxed);
  return key;
}

}  // namespace palimpsest::versioning
