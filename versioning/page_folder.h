// Folding the versions of a leaf's records into its spans (spans.h). The code that looks at
// attachments calls it; the owner of the record format implements it.
//
// Thread-safety: all functions, from any thread.
#pragma once

#include <span>

#include "palimpsest/function_ref.h"

#include "buffer/page_attachment.h"

namespace palimpsest::versioning {

class Pruner;

class PageFolder {
 public:
  virtual ~PageFolder() = default;
  PageFolder(const PageFolder&) = delete;
  PageFolder& operator=(const PageFolder&) = delete;

  /// Folds what can be folded of these pages, which have mapping tables. Entries that become empty
  /// stay for a prune. Caller holds the exclusive latches of the pages.
  virtual void fold(std::span<buffer::Hanging> hanging) noexcept = 0;

  /// Called when the page leaves memory: its spans remember which records are marked. False: it has
  /// to stay. Caller holds the page's exclusive latch.
  [[nodiscard]] virtual bool remember_marks(const buffer::Hanging& hanging) noexcept = 0;

  /// Calls work() with a pruner that looks at the snapshots in use now.
  virtual void with_pruner(FunctionRef<void(Pruner&)> work) noexcept = 0;

 protected:
  PageFolder() = default;
};

}  // namespace palimpsest::versioning
