#include "tests/crash/image_checker.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "base/aligned_memory.h"
#include "btree/node/node_validate.h"
#include "buffer/file_header.h"
#include "buffer/page_header.h"
#include "buffer/swip.h"

namespace palimpsest::crash {

using buffer::PageHeader;
using buffer::PageType;

ImageChecker::ImageChecker(test::SimDisk& disk, std::uint32_t page_size_bytes)
    : disk_(disk), page_size_bytes_(page_size_bytes) {
  disk_.set_write_checker([this](std::string_view file, std::uint64_t offset, ConstBytes bytes) {
    if (file == buffer::kPageFileName) {
      look_at(offset, bytes);
    }
  });
}

ImageChecker::~ImageChecker() {
  disk_.set_write_checker({});
}

void ImageChecker::look_at(std::uint64_t offset_bytes, ConstBytes bytes) {
  for (std::size_t at = 0; at + page_size_bytes_ <= bytes.size(); at += page_size_bytes_) {
    if (offset_bytes + at >= buffer::kHeaderAreaBytes) {
      look_at_page(bytes.subspan(at, page_size_bytes_));
    }
  }
}

void ImageChecker::look_at_page(ConstBytes page) {
  const PageHeader header = buffer::header_of(page);
  if (header.checksum != buffer::page_checksum(page)) {
    return;  // the header of a batch of copies, or zeros
  }
  pages_.fetch_add(1, std::memory_order_relaxed);
  if (engine::Engine* database = database_.load(); database != nullptr) {
    if (const Gsn durable = database->log().durable_gsn(); header.gsn > durable) {
      note(fmt::format("page {} is written with GSN {}, and the log is durable up to {}",
                       raw(header.page_id), raw(header.gsn), raw(durable)));
    }
  }
  if (header.type != PageType::tree_leaf && header.type != PageType::tree_inner) {
    return;
  }
  const AlignedMemory image(page_size_bytes_, 64);
  std::memcpy(image.data(), page.data(), page_size_bytes_);
  const auto page_id = [](const void*, std::uint64_t word) noexcept {
    return !buffer::Swip::of_word(word).swizzled();
  };
  if (const auto fault =
          btree::audit_node({image.data(), page_size_bytes_}, {.plausible = page_id})) {
    note(fmt::format("page {} is written as no node: {}", raw(header.page_id), *fault));
  }
}

void ImageChecker::note(std::string fault) {
  const std::lock_guard lock(mutex_);
  if (fault_.empty()) {
    fault_ = std::move(fault);
  }
}

std::string ImageChecker::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

}  // namespace palimpsest::crash
