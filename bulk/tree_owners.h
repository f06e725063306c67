// Whose trees the sweep after bulks goes through: asked of the definitions, which lie above.
//
// Thread-safety: all functions, from any thread. No latch is held.
#pragma once

#include <string>

#include "base/ids.h"

namespace palimpsest::engine {

class TreeOwners {
 public:
  TreeOwners() = default;
  TreeOwners(const TreeOwners&) = delete;
  TreeOwners& operator=(const TreeOwners&) = delete;
  virtual ~TreeOwners() = default;

  /// False: the tree was given back, with the table or index that it was of. Nobody shows what it
  /// reads there any more.
  [[nodiscard]] virtual bool is_owned(TreeId tree) const = 0;
  /// For people: `table "person"`, `table "person", index "by_name"`, or the tree's number.
  [[nodiscard]] virtual std::string owner_of(TreeId tree) const = 0;
};

}  // namespace palimpsest::engine
