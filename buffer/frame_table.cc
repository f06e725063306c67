#include "buffer/frame_table.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <new>
#include <system_error>

#include "palimpsest/error.h"

#include "base/round_up.h"

namespace palimpsest::buffer {

namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

ReservedMemory reserve(std::size_t size_bytes) {
  ReservedMemory reserved(size_bytes);
  if (reserved.data() == nullptr) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("cannot reserve {} bytes of address space for the buffer pool: {}",
                            size_bytes, std::generic_category().message(errno)));
  }
  return reserved;
}

}  // namespace

FrameTable::FrameTable(std::uint32_t frame_count, std::uint32_t page_size_bytes)
    : count_(frame_count),
      page_shift_(static_cast<unsigned>(std::countr_zero(page_size_bytes))),
      reserved_(reserve(round_up(std::size_t{frame_count} * page_size_bytes, kHugePageBytes) +
                        sizeof(Frame) * frame_count + kHugePageBytes)) {
  check(std::has_single_bit(page_size_bytes), "page size is a power of two");
  const std::size_t page_bytes = std::size_t{count_} << page_shift_;
  const std::size_t header_bytes = sizeof(Frame) * count_;
  const auto address = reinterpret_cast<std::uintptr_t>(reserved_.data());
  pages_ = reserved_.data() + (round_up(address, kHugePageBytes) - address);
  auto* headers = pages_ + round_up(page_bytes, kHugePageBytes);
  // Advice only: refusal costs speed, nothing else.
  ::madvise(pages_, static_cast<std::size_t>(headers - pages_) + header_bytes, MADV_HUGEPAGE);
  frames_ = reinterpret_cast<Frame*>(headers);
  for (std::uint32_t i = 0; i < count_; ++i) {
    new (frames_ + i) Frame(age_);
  }
}

}  // namespace palimpsest::buffer
