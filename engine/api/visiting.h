// Marks that a thread is within a function that reads or edits rows in their pages: visit(),
// visit_many(), modify(), modify_many(), rewrite(). A page is latched meanwhile, so a call of the
// same database could wait for ever for that latch, or for work of its holder.
//
// The marks form a list on the thread's stack; most threads have none. Other databases may be used,
// since no thread there waits for this page.
// Thread-safety: belongs to one thread.
#pragma once

#include <string_view>

#include "palimpsest/error.h"

namespace palimpsest::detail {

class DatabaseState;

class Visiting {
 public:
  explicit Visiting(const DatabaseState& database) noexcept
      : database_(&database), outer_(innermost()) {
    innermost() = this;
  }
  Visiting(const Visiting&) = delete;
  Visiting& operator=(const Visiting&) = delete;
  ~Visiting() { innermost() = outer_; }

  /// Called at the start of a call: throws invalid_argument within such a function of this
  /// database.
  static void refuse_within(const DatabaseState& database) {
    for (const Visiting* at = innermost(); at != nullptr; at = at->outer_) [[unlikely]] {
      if (at->database_ == &database) {
        throw Error(
            ErrorCode::invalid_argument,
            "the engine was called from within a function that reads rows in their pages (visit, "
            "visit_many) or edits them there (modify, modify_many, rewrite), while their page is "
            "latched: copy what is needed, and call the engine after the visit");
      }
    }
  }

 private:
  [[nodiscard]] static const Visiting*& innermost() noexcept {
    thread_local const Visiting* innermost = nullptr;
    return innermost;
  }

  const DatabaseState* database_;
  const Visiting* outer_;
};

}  // namespace palimpsest::detail
