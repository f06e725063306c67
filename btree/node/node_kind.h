// The buffer pool's callbacks for B+-tree pages (buffer/page_kind.h).
#pragma once

#include "buffer/page_file.h"
#include "buffer/page_kind.h"
#include "buffer/page_kinds.h"

namespace palimpsest::btree {

/// Serves both node types, of all trees of one page file. Thread-safe; immutable.
class NodeKind final : public buffer::PageKind {
 public:
  /// `file` outlives it.
  explicit NodeKind(const buffer::PageFile& file) : file_(file) {}

  /// Registers this object for both node types.
  void register_in(buffer::PageKinds& kinds) const noexcept;

  [[nodiscard]] bool has_swips(buffer::PageType type) const noexcept override {
    return type == buffer::PageType::tree_inner;
  }
  void visit_swips(ConstBytes page, FunctionRef<void(std::uint32_t)> visit) const override;
  [[nodiscard]] std::optional<std::string> validate_root(ConstBytes page,
                                                         TreeId tree) const override;
  [[nodiscard]] std::optional<std::string> validate(ConstBytes page) const override;
  [[nodiscard]] std::optional<std::string> validate_child(ConstBytes parent,
                                                          std::uint32_t swip_offset,
                                                          ConstBytes child) const override;
  void clean_image(MutableBytes copy) const noexcept override;
  void mark_attached(MutableBytes page, const buffer::Attached& attached) const noexcept override;

 private:
  const buffer::PageFile& file_;
};

}  // namespace palimpsest::btree
