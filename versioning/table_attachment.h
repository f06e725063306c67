// Mapping tables as attachments of pages: what the buffer pool asks about them.
//
// Thread-safety: all functions, from any thread.
#pragma once

#include <shared_mutex>
#include <span>

#include "buffer/page_attachment.h"
#include "versioning/page_folder.h"

namespace palimpsest::versioning {

class TableAttachment final : public buffer::PageAttachment {
 public:
  TableAttachment() = default;

  /// From now on `folder` (null: none) folds versions; waits until the last one is not in use.
  /// Without a folder each record keeps its own versions.
  void fold_with(PageFolder* folder) noexcept;

  [[nodiscard]] bool prepare_detach(buffer::Hanging& hanging) noexcept override;
  [[nodiscard]] buffer::Attached* detach(buffer::Attached& attached) noexcept override;
  [[nodiscard]] buffer::Attached* attach(buffer::Attached& attached) noexcept override;
  [[nodiscard]] bool prune(buffer::Attached& attached) noexcept override;
  void prune_all(std::span<buffer::Hanging> hanging) noexcept override;
  void destroy(buffer::Attached& attached) noexcept override;

 private:
  void fold(std::span<buffer::Hanging> hanging) noexcept;

  std::shared_mutex folding_;
  PageFolder* folder_ = nullptr;  ///< protected by folding_
};

}  // namespace palimpsest::versioning
