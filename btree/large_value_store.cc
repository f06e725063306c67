#include "btree/large_value_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/sync_point.h"

namespace palimpsest::btree {
namespace {

using buffer::PageRead;
using buffer::PageRun;

/// Pages of a buffer for a value or piece of `blocks` blocks.
std::uint32_t buffer_pages(std::uint32_t blocks, std::uint32_t page_size) noexcept {
  return std::min(blocks, static_cast<std::uint32_t>(kExtentBufferBytes / page_size));
}

void check_size(std::uint64_t size_bytes) {
  if (size_bytes == 0 || size_bytes > kLargeValueBytesMax) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a large value of {} bytes: it must have 1 to {} bytes", size_bytes,
                            kLargeValueBytesMax));
  }
}

/// Puts the headers of a block around its payload, and zeros behind it.
void frame_block(MutableBytes page, PageId id, const ValueStamp& stamp, std::uint32_t block,
                 std::uint32_t payload_bytes) noexcept {
  buffer::PageHeader header{};
  header.page_id = id;
  header.type = buffer::PageType::extent_block;
  const ExtentBlockHeader block_header{
      .stamp = stamp, .block_number = block, .payload_bytes = payload_bytes, .reserved = 0};
  std::memcpy(page.data(), &header, sizeof(header));
  std::memcpy(page.data() + sizeof(header), &block_header, sizeof(block_header));
  std::ranges::fill(page.subspan(kExtentPayloadOffset + payload_bytes), std::byte{0});
}

}  // namespace

/// Reads consecutive blocks of one value in batches.
class LargeValueStore::BlockReader {
 public:
  /// For blocks [first, end).
  BlockReader(buffer::PageFile& file, const LargeValueDescriptor& value, std::uint32_t first,
              std::uint32_t end)
      : file_(file),
        value_(value),
        page_size_(file.page_size_bytes()),
        next_(first),
        end_(end),
        memory_(std::size_t{buffer_pages(end - first, page_size_)} * page_size_, page_size_) {
    reads_.reserve(memory_.size_bytes() / page_size_);
  }

  /// Reads the next blocks; false when there are none left. Their faults are in fault_of().
  [[nodiscard]] bool next_batch() {
    first_ = next_;
    next_ = first_ + buffer_pages(end_ - first_, page_size_);
    reads_.clear();
    for (std::uint32_t block = first_; block < next_; ++block) {
      reads_.push_back({.id = value_.page_of(block), .into = image(block - first_)});
    }
    file_.read_pages(reads_);
    return first_ < next_;
  }

  [[nodiscard]] std::uint32_t first() const noexcept { return first_; }
  [[nodiscard]] std::uint32_t end() const noexcept { return next_; }
  [[nodiscard]] const PageRead& page(std::uint32_t block) const noexcept {
    return reads_[block - first_];
  }

  /// Whether the block is the value's; throws when the device failed to read it.
  [[nodiscard]] bool holds(std::uint32_t block) const {
    const PageRead& read = page(block);
    if (read.io_error != 0 && read.io_error != io::kEndOfFile) {
      file_.throw_read_error(read);
    }
    return read.ok() && judge_block(read.into, value_, block) == BlockFault::none;
  }

  /// The block's part of the value.
  [[nodiscard]] ConstBytes payload(std::uint32_t block) const noexcept {
    return page(block).into.subspan(kExtentPayloadOffset,
                                    payload_bytes_of(value_, block, page_size_));
  }

 private:
  [[nodiscard]] MutableBytes image(std::uint32_t index) const noexcept {
    return memory_.bytes().subspan(std::size_t{index} * page_size_, page_size_);
  }

  buffer::PageFile& file_;
  const LargeValueDescriptor& value_;
  const std::uint32_t page_size_;
  std::uint32_t first_ = 0;  ///< of the batch
  std::uint32_t next_;       ///< behind the batch
  const std::uint32_t end_;
  AlignedMemory memory_;
  std::vector<PageRead> reads_;
};

LargeValueStore::LargeValueStore(buffer::PageFile& file, buffer::PageWriter& writer,
                                 buffer::SpaceMap& space)
    : file_(file), writer_(writer), space_(space), open_count_(file.header().open_count) {}

LargeValueStore::Writer LargeValueStore::begin(std::uint64_t size_bytes) {
  check_size(size_bytes);
  file_.require_writable();
  const std::uint64_t number = last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  return {*this, size_bytes, ValueStamp{.open_count = open_count_, .number = number}};
}

LargeValueDescriptor LargeValueStore::write(ByteView value) {
  Writer writer = begin(value.size());
  writer.append(value);
  return writer.finish();
}

LargeValueDescriptor LargeValueStore::decode(ByteView bytes) const {
  return LargeValueDescriptor::decode(bytes, file_.page_size_bytes());
}

ReadOutcome LargeValueStore::read(const LargeValueDescriptor& value, std::uint64_t offset_bytes,
                                  MutableBytes out) const {
  if (offset_bytes > value.size_bytes() || out.size() > value.size_bytes() - offset_bytes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} bytes at offset {} of a large value of {} bytes", out.size(),
                            offset_bytes, value.size_bytes()));
  }
  if (out.empty()) {
    return ReadOutcome::complete;
  }
  const std::uint64_t payload_bytes = extent_payload_bytes(file_.page_size_bytes());
  const std::uint64_t end_bytes = offset_bytes + out.size();
  BlockReader blocks(file_, value, static_cast<std::uint32_t>(offset_bytes / payload_bytes),
                     static_cast<std::uint32_t>((end_bytes - 1) / payload_bytes + 1));
  MutableBytes rest = out;
  std::uint64_t position = offset_bytes;
  while (blocks.next_batch()) {
    PALIMPSEST_SYNC_POINT("btree.large_value.read");
    for (std::uint32_t block = blocks.first(); block < blocks.end(); ++block) {
      if (!blocks.holds(block)) {
        return ReadOutcome::replaced;
      }
      const ConstBytes payload = blocks.payload(block).subspan(position - block * payload_bytes);
      const std::size_t taken = std::min(payload.size(), rest.size());
      std::memcpy(rest.data(), payload.data(), taken);
      rest = rest.subspan(taken);
      position += taken;
    }
  }
  return ReadOutcome::complete;
}

ReadOutcome LargeValueStore::read_all(const LargeValueDescriptor& value, std::string& out) const {
  out.clear();
  if (!file_has(value)) {
    return ReadOutcome::replaced;
  }
  out.resize(value.size_bytes());
  const ReadOutcome outcome = read(value, 0, std::as_writable_bytes(std::span(out)));
  if (outcome == ReadOutcome::replaced) {
    out.clear();
  }
  return outcome;
}

void LargeValueStore::verify(const LargeValueDescriptor& value) const {
  BlockReader blocks(file_, value, 0, value.block_count());
  while (blocks.next_batch()) {
    for (std::uint32_t block = blocks.first(); block < blocks.end(); ++block) {
      const PageRead& read = blocks.page(block);
      if (!read.ok()) {
        file_.throw_read_error(read);
      }
      const BlockFault fault = judge_block(read.into, value, block);
      if (fault != BlockFault::none) {
        throw Error(ErrorCode::corruption,
                    fmt::format("page file \"{}\": page {} is not block {} of {} ({}); found: {}",
                                file_.name(), raw(read.id), block, print_descriptor(value),
                                name_of(fault), print_extent_block(read.into)));
      }
    }
  }
}

void LargeValueStore::free(const LargeValueDescriptor& value) {
  const std::uint32_t blocks = value.block_count();
  bool ours = true;
  for (std::uint32_t block = 0; ours && block < blocks; ++block) {
    const PageId page = value.page_of(block);
    ours = space_.is_allocated(page) && !space_.is_map_page(page);
  }
  if (!ours) {
    throw Error(ErrorCode::corruption,
                fmt::format("page file \"{}\": {} has pages that are not in use, or not of values",
                            file_.name(), print_descriptor(value)));
  }
  for (const PageRun& run : value.runs()) {
    space_.free(run);
  }
}

bool LargeValueStore::file_has(const LargeValueDescriptor& value) const noexcept {
  return std::ranges::all_of(value.runs(), [this](const PageRun& run) {
    return file_.contains(run.first) && file_.contains(PageId{raw(run.first) + run.pages - 1});
  });
}

LargeValueStore::Writer::Writer(LargeValueStore& store, std::uint64_t size_bytes, ValueStamp stamp)
    : store_(&store),
      page_size_(store.file_.page_size_bytes()),
      buffer_(
          std::size_t{buffer_pages(extent_blocks(size_bytes, page_size_), page_size_)} * page_size_,
          page_size_),
      value_(LargeValueDescriptor::make(
          size_bytes, stamp,
          store.space_.allocate_extent(extent_blocks(size_bytes, page_size_), kLargeValueRunsMax),
          page_size_)) {}

LargeValueStore::Writer::Writer(Writer&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)),
      page_size_(other.page_size_),
      buffer_(std::move(other.buffer_)),
      value_(other.value_),
      appended_bytes_(other.appended_bytes_),
      first_block_(other.first_block_) {}

LargeValueStore::Writer::~Writer() {
  abandon();
}

void LargeValueStore::Writer::append(ByteView bytes) {
  require_usable();
  if (bytes.size() > missing_bytes()) {
    abandon();
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a large value becomes longer than the {} bytes it was begun with",
                            value_.size_bytes()));
  }
  const std::uint64_t payload_bytes = extent_payload_bytes(page_size_);
  const std::uint32_t images = static_cast<std::uint32_t>(buffer_.size_bytes() / page_size_);
  while (!bytes.empty()) {
    const std::uint32_t index =
        static_cast<std::uint32_t>(appended_bytes_ / payload_bytes) - first_block_;
    if (index == images) {
      write_buffer(images);
      continue;
    }
    const std::size_t within = appended_bytes_ % payload_bytes;
    const std::size_t taken = std::min<std::size_t>(bytes.size(), payload_bytes - within);
    std::memcpy(image(index).data() + kExtentPayloadOffset + within, bytes.data(), taken);
    appended_bytes_ += taken;
    bytes.remove_prefix(taken);
  }
}

LargeValueDescriptor LargeValueStore::Writer::finish() {
  require_usable();
  if (missing_bytes() != 0) {
    abandon();
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a large value lacks {} of the {} bytes it was begun with",
                            missing_bytes(), value_.size_bytes()));
  }
  write_buffer(value_.block_count() - first_block_);
  store_ = nullptr;
  return value_;
}

/// Writes the first `blocks` images of the buffer.
void LargeValueStore::Writer::write_buffer(std::uint32_t blocks) {
  try {
    std::vector<buffer::PageImage> pages;
    pages.reserve(blocks);
    for (std::uint32_t index = 0; index < blocks; ++index) {
      const std::uint32_t block = first_block_ + index;
      pages.push_back({.id = value_.page_of(block), .bytes = image(index)});
      frame_block(image(index), pages.back().id, value_.stamp(), block,
                  payload_bytes_of(value_, block, page_size_));
    }
    store_->writer_.write_fresh(pages);
  } catch (...) {
    abandon();
    throw;
  }
  first_block_ += blocks;
}

void LargeValueStore::Writer::require_usable() const {
  if (store_ == nullptr) {
    throw Error(ErrorCode::failed, "a large value cannot be continued: it is finished or failed");
  }
}

/// Gives the pages back unless they belong to a finished value. No write of them is in flight.
void LargeValueStore::Writer::abandon() noexcept {
  if (store_ != nullptr) {
    for (const PageRun& run : value_.runs()) {
      store_->space_.free(run);
    }
    store_ = nullptr;
  }
}

MutableBytes LargeValueStore::Writer::image(std::uint32_t index) const noexcept {
  return buffer_.bytes().subspan(std::size_t{index} * page_size_, page_size_);
}

}  // namespace palimpsest::btree
