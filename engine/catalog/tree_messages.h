// Names the table or index of a tree, for messages about pages that cannot be read.
//
// Latching: mutex_, across the table catalog's (docs/latch-order.md); no page is latched.
// Thread-safety: all functions, from any thread.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "buffer/tree_names.h"
#include "engine/catalog/table_catalog.h"

namespace palimpsest::engine {

class TreeMessages final : public buffer::TreeNames {
 public:
  TreeMessages() = default;

  /// Sets the catalog to ask from now on; null: none.
  void know(const TableCatalog* tables) noexcept;

  // TreeNames
  [[nodiscard]] std::string message_of(TreeId tree, std::string_view what) const override;

 private:
  mutable std::mutex mutex_;
  const TableCatalog* tables_ = nullptr;  ///< protected by mutex_
};

}  // namespace palimpsest::engine
