#include "buffer/page_header.h"

#include <fmt/format.h>

#include <cstring>

#include "base/check.h"
#include "base/checksum.h"

namespace palimpsest::buffer {

std::string_view name_of(PageType type) noexcept {
  switch (type) {
    case PageType::tree_leaf: return "tree_leaf";
    case PageType::tree_inner: return "tree_inner";
    case PageType::space_map: return "space_map";
    case PageType::extent_block: return "extent_block";
    case PageType::tree_roots: break;
  }
  return "unknown";
}

std::string_view name_of(PageFault fault) noexcept {
  switch (fault) {
    case PageFault::none: return "none";
    case PageFault::checksum: return "checksum";
    case PageFault::identity: return "identity";
    case PageFault::version: return "version";
    case PageFault::type: return "type";
  }
  return "unknown";
}

std::uint64_t page_checksum(ConstBytes page) noexcept {
  return checksum(page.subspan(sizeof(PageHeader::checksum)));
}

PageHeader header_of(ConstBytes page) noexcept {
  PageHeader header{};
  std::memcpy(&header, page.data(), sizeof(header));
  return header;
}

void seal_page(MutableBytes page, std::uint64_t write_batch) noexcept {
  check(page.size() >= kPageSizeMin, "a page image has a whole page");
  PageHeader header = header_of(page);
  header.write_batch = write_batch;
  header.format_version = kPageFormatVersion;
  std::memcpy(page.data(), &header, sizeof(header));
  header.checksum = page_checksum(page);
  std::memcpy(page.data(), &header, sizeof(header));
}

PageFault verify_page(ConstBytes page, PageId expected) noexcept {
  const PageHeader header = header_of(page);
  if (header.checksum != page_checksum(page)) {
    return PageFault::checksum;
  }
  if (header.page_id != expected) {
    return PageFault::identity;
  }
  if (header.format_version != kPageFormatVersion) {
    return PageFault::version;
  }
  if (name_of(header.type) == "unknown") {
    return PageFault::type;
  }
  return PageFault::none;
}

std::string print_page_header(ConstBytes page) {
  const PageHeader header = header_of(page);
  return fmt::format(
      "page {} {} tree {} gsn {} bulk epoch {} ghosts {} shadows {} batch {} format {} "
      "checksum {:#018x} (computed {:#018x})",
      raw(header.page_id), name_of(header.type), raw(header.tree_id), raw(header.gsn),
      raw(header.bulk_epoch), header.ghost_count, header.shadow_count, header.write_batch,
      header.format_version, header.checksum, page_checksum(page));
}

}  // namespace palimpsest::buffer
