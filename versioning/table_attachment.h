// Mapping tables as attachments of pages: what the buffer pool asks about them.
//
// Thread-safety: all functions, from any thread.
#pragma once

#include <shared_mutex>
#include <span>

#include "buffer/page_attachment.h"
#include "versioning/entry_memory.h"
#include "versioning/mapping_table.h"
#include "versioning/page_folder.h"
#include "versioning/span_blocks.h"

namespace palimpsest::versioning {

class TableAttachment final : public buffer::PageAttachment {
 public:
  /// `memory`: of all tables; outlives it.
  explicit TableAttachment(EntryMemory& memory) : memory_(memory), blocks_(memory) {}

  /// From now on `folder` (null: none) folds versions; waits until the last one is not in use.
  /// Without a folder each record keeps its own versions.
  void fold_with(PageFolder* folder) noexcept;

  [[nodiscard]] bool prepare_detach(buffer::Hanging& hanging) noexcept override;
  [[nodiscard]] buffer::Attached* detach(buffer::Attached& attached, PageId page) noexcept override;
  [[nodiscard]] bool has_absorbed() const noexcept override { return blocks_.pages() != 0; }
  void restore(PageId page, FunctionRef<void(buffer::Attached&)> enter) override;
  void prune_some_absorbed() noexcept override;
  void prune_all_absorbed(FunctionRef<bool()> is_enough) noexcept override;
  [[nodiscard]] buffer::Attached* attach(buffer::Attached& attached) noexcept override;
  [[nodiscard]] bool prune(buffer::Attached& attached) noexcept override;
  void prune_all(std::span<buffer::Hanging> hanging) noexcept override;
  void destroy(buffer::Attached& attached) noexcept override;

 private:
  void fold(std::span<buffer::Hanging> hanging) noexcept;
  [[nodiscard]] bool absorb(const MappingTable& table, PageId page) noexcept;

  EntryMemory& memory_;
  SpanBlocks blocks_;
  std::shared_mutex folding_;
  PageFolder* folder_ = nullptr;  ///< protected by folding_
};

}  // namespace palimpsest::versioning
