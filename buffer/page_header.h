// The first 64 bytes of every page of the page file, whatever the page holds.
//
// On disk (little-endian; offsets in bytes):
//   0  8  checksum        XXH3-64 of the rest of the page, bytes [8, page size), as written
//   8  8  page_id         the page's own number: a misdirected write or read is noticed
//  16  8  gsn             global sequence number of the last logged change
//  24  8  bulk_epoch      epoch of the bulk operation whose flags the page carries, 0 none
//  32  8  write_batch     number of the write batch that wrote this image (see page_writer.h)
//  40  4  tree_id         owning tree, 0 none
//  44  2  format_version  format of this page (kPageFormatVersion)
//  46  1  kind            PageType
//  47  1  reserved        zero
//  48  2  ghost_count     deleted records still on the page
//  50  2  shadow_count    records that also hold their state from before the bulk
//  52 12  reserved        zero
// In memory the same bytes are the frame's page; checksum and write_batch are stale there and are
// set in the copy that is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"

namespace palimpsest::buffer {

inline constexpr std::uint16_t kPageFormatVersion = 1;
inline constexpr std::uint32_t kPageSizeMin = 4096;
inline constexpr std::uint32_t kPageSizeMax = 65536;

/// What a page holds. 0 is reserved, so that a page that was never written is noticed.
enum class PageType : std::uint8_t {
  tree_leaf = 1,
  tree_inner = 2,
  space_map = 3,
  extent_block = 4,
  tree_roots = 255,  ///< in memory only (root_places.h): on disk an unknown type
};

struct PageHeader {
  std::uint64_t checksum;
  PageId page_id;
  Gsn gsn;
  BulkEpoch bulk_epoch;
  std::uint64_t write_batch;
  TreeId tree_id;
  std::uint16_t format_version;
  PageType type;
  std::uint8_t reserved_byte;
  std::uint16_t ghost_count;
  std::uint16_t shadow_count;
  std::uint32_t reserved_word;
  std::uint64_t reserved_tail;
};

static_assert(sizeof(PageHeader) == 64);
static_assert(offsetof(PageHeader, page_id) == 8);
static_assert(offsetof(PageHeader, gsn) == 16);
static_assert(offsetof(PageHeader, bulk_epoch) == 24);
static_assert(offsetof(PageHeader, write_batch) == 32);
static_assert(offsetof(PageHeader, tree_id) == 40);
static_assert(offsetof(PageHeader, format_version) == 44);
static_assert(offsetof(PageHeader, type) == 46);
static_assert(offsetof(PageHeader, ghost_count) == 48);
static_assert(offsetof(PageHeader, reserved_tail) == 56);

/// What is wrong with a page image; faults are checked for in this order.
enum class PageFault : std::uint8_t {
  none = 0,
  checksum,  ///< the bytes are not the ones that were sealed: torn, rotten or never written
  identity,  ///< a whole page, but another one: a misdirected write or read
  version,   ///< a page format this build does not know
  type,      ///< no PageType this build knows
};

[[nodiscard]] std::string_view name_of(PageType type) noexcept;
[[nodiscard]] std::string_view name_of(PageFault fault) noexcept;

/// The checksum that belongs into the header of this page image.
[[nodiscard]] std::uint64_t page_checksum(ConstBytes page) noexcept;

/// The page's header, copied out (an image need not be aligned for PageHeader).
[[nodiscard]] PageHeader header_of(ConstBytes page) noexcept;

/// Makes the image ready for the disk: write batch, format version and checksum. The image must
/// carry its own id and type already.
void seal_page(MutableBytes page, std::uint64_t write_batch) noexcept;

/// Verifies an image read from disk. Safe on any bytes.
[[nodiscard]] PageFault verify_page(ConstBytes page, PageId expected) noexcept;

/// The header as text, for debuggers and error reports: one line, any bytes allowed.
[[nodiscard]] std::string print_page_header(ConstBytes page);

}  // namespace palimpsest::buffer
