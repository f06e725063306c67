// What is told of a page of a tree that cannot be brought in: whose page it is, and the way out.
//
// The pool knows pages and trees by their numbers; the engine knows which table or index a tree is.
// Thread-safety: all functions, from any thread, in the middle of any call: no page is latched.
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

  /// The whole message of an error about a page of this tree, which says `what`.
  [[nodiscard]] virtual std::string message_of(TreeId tree, std::string_view what) const = 0;

 protected:
  TreeNames() = default;
};

}  // namespace palimpsest::buffer
