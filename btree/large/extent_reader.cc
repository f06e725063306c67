#include "btree/large/extent_reader.h"

namespace palimpsest::btree {

using buffer::PageRead;

ExtentReader::ExtentReader(buffer::PageFile& file, buffer::BufferPool* pool,
                           const LargeValueDescriptor& value, std::uint32_t first,
                           std::uint32_t end)
    : file_(file),
      pool_(pool),
      value_(value),
      page_size_(file.page_size_bytes()),
      is_alone_(end - first == 1),
      next_(first),
      end_(end) {
  reads_.reserve(extent_buffer_pages(end - first, page_size_));
}

bool ExtentReader::next_batch() {
  first_ = next_;
  next_ = first_ + extent_buffer_pages(end_ - first_, page_size_);
  reads_.clear();
  for (std::uint32_t block = first_; block < next_; ++block) {
    const PageId page = value_.page_of(block);
    reads_.push_back({.id = page, .into = memory_for(page, block - first_)});
  }
  file_.read_pages(reads_);
  return first_ < next_;
}

bool ExtentReader::holds(std::uint32_t block) const {
  const PageRead& read = page(block);
  if (read.io_error != 0 && read.io_error != io::kEndOfFile) {
    file_.throw_read_error(read);
  }
  return read.ok() && judge_block(read.into, value_, block) == BlockFault::none;
}

void ExtentReader::keep(std::uint32_t block) {
  if (frame_ && frame_->has_memory()) {
    frame_->keep();
  } else if (pool_ != nullptr) {
    pool_->begin_block(page(block).id).keep_copy(page(block).into);
  }
}

MutableBytes ExtentReader::memory_for(PageId page, std::uint32_t index) {
  if (pool_ != nullptr && is_alone_) {
    frame_.emplace(pool_->begin_block(page));
    if (frame_->has_memory()) {
      return frame_->memory();
    }
  }
  if (memory_.data() == nullptr) {
    memory_ = AlignedMemory::for_overwrite(reads_.capacity() * page_size_, page_size_);
  }
  return memory_.bytes().subspan(std::size_t{index} * page_size_, page_size_);
}

bool BlocksAhead::add(const LargeValueDescriptor& value) {
  for (std::uint32_t block = 0; block < value.block_count(); ++block) {
    const PageId page = value.page_of(block);
    const bool is_there = pool_.blocks().read(page, [&](const std::byte* bytes) {
      return judge_block({bytes, pool_.page_size_bytes()}, value, block) == BlockFault::none;
    });
    if (!is_there && blocks_.size() == room_) {
      return false;
    }
    if (!is_there) {
      blocks_.push_back({.value = &value, .number = block, .page = page});
    }
  }
  return true;
}

// A value that was added twice is read once.
void BlocksAhead::read() {
  if (blocks_.empty()) {
    return;
  }
  std::ranges::sort(blocks_, {}, &Block::page);
  const auto repeated = std::ranges::unique(blocks_, {}, &Block::page);
  blocks_.erase(repeated.begin(), repeated.end());
  const std::uint32_t page_size = pool_.page_size_bytes();
  const auto memory = AlignedMemory::for_overwrite(blocks_.size() * page_size, page_size);
  std::vector<PageRead> reads;
  reads.reserve(blocks_.size());
  for (const Block& block : blocks_) {
    reads.push_back(
        {.id = block.page, .into = memory.bytes().subspan(reads.size() * page_size, page_size)});
  }
  pool_.file().read_pages(reads);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (reads[i].ok() &&
        judge_block(reads[i].into, *blocks_[i].value, blocks_[i].number) == BlockFault::none) {
      pool_.begin_block(reads[i].id).keep_copy(reads[i].into);
    }
  }
}

}  // namespace palimpsest::btree
