// What the buffer pool must know about a page's content, implemented by the owner of the format.
//
// The pool finds the implementation by PageType. No function does I/O or takes a latch; each
// comment states what the caller holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "palimpsest/function_ref.h"

#include "base/bytes.h"
#include "base/ids.h"
#include "buffer/page_attachment.h"
#include "buffer/page_header.h"

namespace palimpsest::buffer {

class PageKind {
 public:
  virtual ~PageKind() = default;
  PageKind(const PageKind&) = delete;
  PageKind& operator=(const PageKind&) = delete;

  /// Whether pages of this type have child swips. No latch is needed.
  [[nodiscard]] virtual bool has_swips(PageType type) const noexcept = 0;

  /// Calls visit(offset) with the byte offset of each child swip of the page, 8-aligned. The caller
  /// holds the page's shared or exclusive latch, or the page is private to it.
  virtual void visit_swips(ConstBytes page, FunctionRef<void(std::uint32_t)> visit) const = 0;

  /// Validates that a page may be the root of a tree. The page has passed validate() and is private
  /// to the caller. Returns as validate().
  [[nodiscard]] virtual std::optional<std::string> validate_root(ConstBytes page,
                                                                 TreeId tree) const = 0;

  /// Validates an image just read from disk, which may be hostile. Nothing: every function is
  /// memory-safe on the page. Otherwise the reason. The page is private to the caller.
  [[nodiscard]] virtual std::optional<std::string> validate(ConstBytes page) const = 0;

  /// Validates that a loaded page may hang below `parent`, at the swip at that offset (level, tree,
  /// range of keys). The caller holds the parent's exclusive latch; the child is private to it.
  [[nodiscard]] virtual std::optional<std::string> validate_child(ConstBytes parent,
                                                                  std::uint32_t swip_offset,
                                                                  ConstBytes child) const = 0;

  /// Removes from a copy that will be written everything that means something only in memory (I-6);
  /// the pool replaces swips. The copy is private to the caller.
  virtual void clean_image(MutableBytes copy) const noexcept = 0;

  /// Called when a page returns to memory and has an attachment: sets the marks in the page that
  /// refer to it. Caller holds the parent exclusively and has the page to itself.
  virtual void mark_attached(MutableBytes page, const Attached& attached) const noexcept = 0;

 protected:
  PageKind() = default;
};

}  // namespace palimpsest::buffer
