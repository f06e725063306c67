#include "btree/unreadable_leaf.h"

#include "palimpsest/error.h"

#include "btree/node/inner_node.h"
#include "btree/node/key_bytes.h"

namespace palimpsest::btree {
namespace {

/// The upper fence of the child that covers the key, below a node of this level. Restart: the tree
/// has changed.
Attempt<std::optional<std::string>> child_end(const Descent& descent, ByteView key,
                                              std::uint32_t level) {
  const auto node = descent.try_node<buffer::OptimisticPage>({.key = key}, level);
  if (!node) {
    return restart;
  }
  KeyBuffer end;
  const auto is_finite = node->read([&](const std::byte* page) {
    const InnerView inner(page, descent.page_size());
    return inner.copy_child_upper(inner.route_within(key), end);
  });
  if (!is_finite) {
    return restart;
  }
  return *is_finite ? std::optional(std::string(end.view())) : std::nullopt;
}

bool is_unreadable(const Error& error) noexcept {
  return error.code() == ErrorCode::corruption || error.code() == ErrorCode::io_error;
}

}  // namespace

std::optional<std::string> key_behind_leaf(const Descent& descent, ByteView key) {
  for (std::uint32_t level = 1; level <= descent.root_level();) {
    try {
      const auto end = child_end(descent, key, level);
      if (end) {
        return *end;
      }
    } catch (const Error& error) {
      if (!is_unreadable(error) || level >= descent.root_level()) {
        throw;
      }
      ++level;
    }
  }
  return std::nullopt;
}

}  // namespace palimpsest::btree
