// Error messages for a page that cannot be brought in: which table or index it belongs to, and what
// to do.
//
// The pool knows pages and trees by their numbers; the engine knows which table or index a tree is.
// Thread-safety: all functions, from any thread, in the middle of any call; no page is latched.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"

namespace palimpsest::buffer {

class TreeNames {
 public:
  virtual ~TreeNames() = default;
  TreeNames(const TreeNames&) = delete;
  TreeNames& operator=(const TreeNames&) = delete;

  /// The whole message of an error `what` about a page of this tree.
  [[nodiscard]] virtual std::string message_of(TreeId tree, std::string_view what) const = 0;

 protected:
  TreeNames() = default;
};

}  // namespace palimpsest::buffer
