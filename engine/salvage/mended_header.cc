#include "engine/salvage/mended_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "buffer/file_header.h"
#include "buffer/page_file.h"
#include "buffer/page_header.h"

namespace palimpsest::engine {
namespace {

using buffer::FileHeader;
using buffer::kHeaderAreaBytes;
using buffer::kHeaderBlockBytes;
using buffer::kHeaderCopies;

constexpr std::size_t kHeadBytes = kHeaderCopies * kHeaderBlockBytes;
/// So many pages that are whole show that the page size is right.
constexpr std::uint64_t kPagesEnough = 16;
constexpr std::uint64_t kReadBytes = std::uint64_t{1} << 20U;

/// What the pages say, read by one page size.
struct Sound {
  std::uint64_t pages = 0;                 ///< whole, each at its own place
  std::optional<std::uint64_t> first_map;  ///< the first page of the space map that is whole
};

void look_at(ConstBytes page, std::uint64_t number, Sound& sound) {
  if (buffer::verify_page(page, PageId{number}) != buffer::PageFault::none) {
    return;
  }
  ++sound.pages;
  if (buffer::header_of(page).type == buffer::PageType::space_map && !sound.first_map) {
    sound.first_map = number;
  }
}

/// Pages from one page of the space map to the next.
std::uint64_t stretch_pages(std::uint32_t page_size) {
  return (page_size - sizeof(buffer::PageHeader)) * 8;
}

/// Reads the file until the page size is known to be right, and where the space map is.
Sound read_as(io::File& file, std::uint32_t page_size) {
  Sound sound;
  const std::uint64_t pages = file.size_bytes() / page_size;
  const std::uint64_t at_once = kReadBytes / page_size;
  const AlignedMemory memory(kReadBytes, buffer::kPageSizeMax);
  for (std::uint64_t first = kHeaderAreaBytes / page_size; first < pages; first += at_once) {
    const std::uint64_t count = std::min(at_once, pages - first);
    file.read(first * page_size, memory.bytes().first(count * page_size));
    for (std::uint64_t at = 0; at < count; ++at) {
      look_at(memory.bytes().subspan(at * page_size, page_size), first + at, sound);
    }
    const bool has_map = sound.first_map || first > 2 * stretch_pages(page_size);
    if (sound.pages >= kPagesEnough && has_map) {
      break;
    }
  }
  return sound;
}

/// A ring that ends where the pages begin.
void fit_ring(FileHeader& header, const Sound& sound) {
  header.ring_offset_bytes = kHeaderAreaBytes;
  header.ring_batches = buffer::PageFileOptions{}.ring_batches;
  header.batch_pages = buffer::PageFileOptions{}.batch_pages;
  if (!sound.first_map) {
    return;
  }
  const std::uint64_t first = *sound.first_map % stretch_pages(header.page_size_bytes);
  const std::uint64_t area = kHeaderAreaBytes / header.page_size_bytes;
  for (std::uint32_t batches = buffer::kRingBatchesMin;
       first > area && batches <= buffer::kRingBatchesMax; ++batches) {
    const std::uint64_t pages = (first - area) / batches;
    if ((first - area) % batches == 0 && pages >= buffer::kBatchPagesMin &&
        pages <= buffer::kBatchPagesMax) {
      header.ring_batches = batches;
      header.batch_pages = static_cast<std::uint32_t>(pages);
      return;
    }
  }
}

/// The newest copy that is whole.
std::optional<FileHeader> left_of(ConstBytes head) {
  std::optional<FileHeader> newest;
  for (std::uint32_t copy = 0; copy < kHeaderCopies; ++copy) {
    FileHeader header{};
    const ConstBytes block = head.subspan(copy * kHeaderBlockBytes, kHeaderBlockBytes);
    if (buffer::decode_file_header(block, header) == buffer::HeaderBlock::valid &&
        (!newest || header.sequence > newest->sequence)) {
      newest = header;
    }
  }
  return newest;
}

FileHeader guess(io::File& file, const std::optional<Uuid>& uuid) {
  FileHeader header = buffer::make_file_header();
  Sound best;
  for (std::uint32_t size = buffer::kPageSizeMin;
       size <= buffer::kPageSizeMax && best.pages < kPagesEnough; size *= 2) {
    const Sound sound = read_as(file, size);
    if (sound.pages > best.pages) {
      best = sound;
      header.page_size_bytes = size;
    }
  }
  if (best.pages == 0) {
    throw Error(ErrorCode::not_a_database,
                fmt::format("page file \"{}\" has neither a readable header nor any whole page",
                            file.name()));
  }
  header.uuid = uuid.value_or(Uuid{});
  header.open_count = 1;
  header.batch_floor = 1;
  fit_ring(header, best);
  return header;
}

}  // namespace

void mend_header(io::Device& pages, const std::optional<Uuid>& uuid) {
  const auto file = pages.open(buffer::kPageFileName, io::OpenMode::read_write, true);
  const std::uint64_t size = file->size_bytes();
  const AlignedMemory head(kHeadBytes, kHeaderBlockBytes);
  if (size >= kHeadBytes) {
    file->read(0, head.bytes());
  }
  const std::optional<FileHeader> left = left_of(head.bytes());
  FileHeader header = left ? *left : guess(*file, uuid);
  const std::uint64_t there = std::max(size / header.page_size_bytes, header.first_page());
  header.page_count = left ? std::min(left->page_count, there) : there;
  if (raw(header.catalog_root) >= header.page_count) {
    header.catalog_root = kNoPage;
  }
  if (size < header.page_count * header.page_size_bytes) {
    file->truncate(header.page_count * header.page_size_bytes);
  }
  for (std::uint32_t copy = 0; copy < kHeaderCopies; ++copy) {
    header.sequence = header.sequence + 1;
    buffer::encode_file_header(header,
                               head.bytes().subspan(copy * kHeaderBlockBytes, kHeaderBlockBytes));
  }
  file->write(0, head.bytes());
}

}  // namespace palimpsest::engine
