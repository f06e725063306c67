// Which table or index owns a tree, for the sweep after bulks; implemented by the catalog, which
// lies above.
//
// Thread-safety: all functions, from any thread. No latch is held.
#pragma once

#include <string>

#include "base/ids.h"

namespace palimpsest::bulk {

class TreeOwners {
 public:
  TreeOwners() = default;
  TreeOwners(const TreeOwners&) = delete;
  TreeOwners& operator=(const TreeOwners&) = delete;
  virtual ~TreeOwners() = default;

  /// False: the tree was returned to the pool when its table or index was dropped; its content is
  /// not shown any more.
  [[nodiscard]] virtual bool is_owned(TreeId tree) const = 0;
  /// For messages: `table "person"`, `table "person", index "by_name"`, or the tree's number.
  [[nodiscard]] virtual std::string owner_of(TreeId tree) const = 0;
};

}  // namespace palimpsest::bulk
