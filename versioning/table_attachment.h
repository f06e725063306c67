// Mapping tables as what hangs off pages: what the buffer pool asks about them.
//
// Thread-safety: stateless.
#pragma once

#include <span>

#include "buffer/page_attachment.h"

namespace palimpsest::versioning {

class TableAttachment final : public buffer::PageAttachment {
 public:
  TableAttachment() = default;

  [[nodiscard]] buffer::Attached* detach(buffer::Attached& attached) noexcept override;
  [[nodiscard]] buffer::Attached* attach(buffer::Attached& attached) noexcept override;
  [[nodiscard]] bool prune(buffer::Attached& attached) noexcept override;
  void prune_all(std::span<buffer::Attached*> attached) noexcept override;
  void destroy(buffer::Attached& attached) noexcept override;
};

}  // namespace palimpsest::versioning
