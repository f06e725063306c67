// Images of nodes in log records: the bytes of a page without its free space and page header.
//
// Written under the page's latch, without allocation; read from hostile bytes. Format:
// tree_record_format.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "btree/node/node_edit.h"
#include "btree/node/node_validate.h"
#include "btree/node/node_view.h"

namespace palimpsest::btree {

/// How swips become page ids: `page_of` is called for swizzled ones, with the latch of the page
/// that holds them held, so that the child stays in its frame.
struct SwipNames {
  PageId (*page_of)(const void* context, std::uint64_t swip) noexcept = nullptr;
  const void* context = nullptr;  ///< passed to `page_of`; must outlive the call
};

/// Length of the node's image; at most node_image_bytes_max().
[[nodiscard]] std::size_t node_image_bytes(const NodeView& node) noexcept;

/// Writes the image to `into`, node_image_bytes() long. Without names, no swip may be swizzled.
void write_node_image(const NodeView& node, const SwipNames& names, std::byte* into) noexcept;

/// Makes the page the node in the image, with a new page header. Returns the reason if the image is
/// not a node that could stand in this tree (audit_node(): also unused bytes must be zero); the
/// page then holds anything. `page` is aligned to 8 bytes.
[[nodiscard]] std::optional<std::string> read_node_image(ConstBytes image, PageId page_id,
                                                         TreeId tree_id, const SwipRule& swips,
                                                         MutableBytes page);

/// Whether the image has the length that its own node header implies; only then may the two below
/// be called.
[[nodiscard]] bool is_node_image(ConstBytes image, std::uint32_t page_size) noexcept;
[[nodiscard]] std::uint32_t image_level(ConstBytes image) noexcept;
[[nodiscard]] ByteView image_lower_fence(ConstBytes image) noexcept;

/// Whether a swip names a page on disk.
[[nodiscard]] constexpr bool is_page_id(std::uint64_t swip) noexcept {
  return swip != 0 && swip >> 63 == 0;
}

}  // namespace palimpsest::btree
