#include "engine/salvage/page_use.h"

#include <algorithm>

#include "base/aligned_memory.h"
#include "buffer/page_header.h"
#include "buffer/space_map_page.h"

namespace palimpsest::engine {
namespace {

constexpr std::uint64_t kWordBits = 64;

}  // namespace

PageUses::PageUses(buffer::PageFile& file)
    : first_(raw(file.first_page())),
      stretch_((file.page_size_bytes() - sizeof(buffer::PageHeader)) * 8),
      uses_(file.page_count() - std::min(file.page_count(), first_), PageUse::unknown) {
  const AlignedMemory memory(file.page_size_bytes(), file.page_size_bytes());
  for (std::uint64_t stretch = 0; stretch * stretch_ < uses_.size(); ++stretch) {
    read_map(file, stretch, memory.bytes());
  }
}

void PageUses::read_map(buffer::PageFile& file, std::uint64_t stretch, MutableBytes memory) {
  const std::uint64_t base = stretch * stretch_;
  buffer::PageRead read{.id = PageId{first_ + base}, .into = memory};
  file.read_pages({&read, 1});
  told_.push_back(Gsn{0});
  uses_[base] = PageUse::map;
  const bool is_blank =
      !file.was_clean() && read.io_error == 0 && buffer::is_blank_map_page(memory);
  const bool is_map = read.ok() && buffer::header_of(memory).type == buffer::PageType::space_map;
  if (!is_map) {
    if (!is_blank) {
      damaged_maps_.push_back(read.id);
    }
    return;
  }
  told_.back() = buffer::header_of(memory).gsn;
  const std::uint64_t pages = std::min(stretch_, uses_.size() - base);
  for (std::uint64_t at = 1; at < pages; ++at) {
    const bool is_used = (buffer::map_word(memory, at / kWordBits) >> at % kWordBits & 1U) != 0;
    uses_[base + at] = is_used ? PageUse::used : PageUse::free;
  }
}

void PageUses::say(const PageRange& range) {
  for (std::uint64_t page = raw(range.begin); page < raw(range.end); ++page) {
    if (contains(PageId{page}) && uses_[page - first_] != PageUse::map) {
      uses_[page - first_] = range.in_use ? PageUse::used : PageUse::free;
    }
  }
}

bool PageUses::name(PageId page) {
  if (of(page) != PageUse::unknown) {
    return false;
  }
  uses_[raw(page) - first_] = PageUse::used;
  return true;
}

}  // namespace palimpsest::engine
