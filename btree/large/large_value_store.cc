#include "btree/large/large_value_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/sync_point.h"
#include "base/thread_number.h"

namespace palimpsest::btree {
namespace {

using buffer::PageRead;
using buffer::PageRun;

/// Limits of deferred values: in the smallest pool, in any pool, and as a share of all frames.
constexpr std::uint64_t kUnwrittenPagesMin = 16;
constexpr std::uint64_t kUnwrittenBytesMax = std::uint64_t{4} << 20;
constexpr std::uint64_t kShareUnwritten = 128;

void check_size(std::uint64_t size_bytes) {
  if (size_bytes == 0 || size_bytes > kLargeValueBytesMax) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a large value of {} bytes: it must have 1 to {} bytes", size_bytes,
                            kLargeValueBytesMax));
  }
}

/// A single page is allocated like tree pages, without the global mutex.
std::vector<PageRun> take_pages(buffer::SpaceMap& space, std::uint32_t blocks) {
  if (blocks == 1) {
    std::vector<PageRun> run(1);  // nothing fails once the page is taken
    run.front() = {space.allocate(static_cast<std::uint32_t>(thread_number())), 1};
    return run;
  }
  return space.allocate_extent(blocks, kLargeValueRunsMax);
}

/// Writes the headers of a block before its payload, and zeros behind it.
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

/// The part of a value that is still to be read.
struct LargeValueStore::Piece {
  const LargeValueDescriptor& value;
  const std::uint64_t payload_bytes;  ///< of a full block
  std::uint64_t position;             ///< in the value
  MutableBytes rest;                  ///< where its bytes go

  [[nodiscard]] std::uint32_t first_block() const noexcept {
    return static_cast<std::uint32_t>(position / payload_bytes);
  }
  [[nodiscard]] std::uint32_t end_block() const noexcept {
    return static_cast<std::uint32_t>((position + rest.size() - 1) / payload_bytes + 1);
  }
  /// Bytes wanted from its first block.
  [[nodiscard]] std::size_t wanted_bytes() const noexcept {
    return std::min<std::size_t>(rest.size(), payload_bytes - position % payload_bytes);
  }
  /// Copies what is wanted from its first block; the page may be torn.
  void copy(const std::byte* page) const noexcept {
    std::memcpy(rest.data(), page + kExtentPayloadOffset + position % payload_bytes,
                wanted_bytes());
  }
  void go_on() noexcept {
    const std::size_t taken = wanted_bytes();
    rest = rest.subspan(taken);
    position += taken;
  }
};

LargeValueStore::LargeValueStore(buffer::PageFile& file, buffer::PageWriter& writer,
                                 buffer::SpaceMap& space, buffer::BufferPool* pool, wal::Log* log)
    : file_(file),
      writer_(writer),
      space_(space),
      pool_(pool),
      open_count_(file.header().open_count),
      log_(log),
      unwritten_(pool == nullptr || log == nullptr
                     ? nullptr
                     : std::make_unique<DeferredValues>(writer, file.page_size_bytes(),
                                                        unwritten_bytes_max())) {}

std::size_t LargeValueStore::unwritten_bytes_max() const noexcept {
  const std::uint64_t pool_bytes = std::uint64_t{pool_->frame_count()} * file_.page_size_bytes();
  return std::clamp(pool_bytes / kShareUnwritten, kUnwrittenPagesMin * file_.page_size_bytes(),
                    kUnwrittenBytesMax);
}

/// Whether the value's blocks are cached in frames; if so, they also fit one buffer.
bool LargeValueStore::is_kept(const LargeValueDescriptor& value) const noexcept {
  const std::uint32_t blocks = value.block_count();
  return pool_ != nullptr && blocks <= kept_blocks_max(*pool_) &&
         blocks == extent_buffer_pages(blocks, file_.page_size_bytes());
}

LargeValueStore::Writer LargeValueStore::begin(std::uint64_t size_bytes) {
  check_size(size_bytes);
  file_.require_writable();
  return {*this, size_bytes, new_stamp(),
          [this](std::uint32_t blocks) { return take_pages(space_, blocks); }};
}

ValueStamp LargeValueStore::new_stamp() noexcept {
  return {.open_count = open_count_,
          .number = last_number_.fetch_add(1, std::memory_order_relaxed) + 1};
}

LargeValueDescriptor LargeValueStore::write(ByteView value) {
  Writer writer = begin(value.size());
  writer.append(value);
  return writer.finish();
}

std::optional<LargeValueDescriptor> LargeValueStore::copy_before(
    PageId end, const LargeValueDescriptor& value) {
  const std::vector<PageRun> pages =
      space_.claim_extent_before(end, value.block_count(), kLargeValueRunsMax);
  if (pages.empty()) {
    return std::nullopt;
  }
  std::optional<Writer> copy;
  try {
    copy.emplace(Writer(*this, value.size_bytes(), new_stamp(),
                        [&](std::uint32_t) { return std::vector<PageRun>(pages); }));
  } catch (...) {
    std::ranges::for_each(pages, [&](const PageRun& run) { space_.free(run); });
    throw;
  }
  std::string piece;
  for (std::uint64_t done = 0; done < value.size_bytes(); done += piece.size()) {
    piece.resize(std::min<std::uint64_t>(kExtentBufferBytes, value.size_bytes() - done));
    if (read(value, done, std::as_writable_bytes(std::span(piece))) != ReadOutcome::complete) {
      return std::nullopt;
    }
    copy->append(piece);
  }
  return copy->finish();
}

void LargeValueStore::take_back(const LargeValueDescriptor& value) noexcept {
  forget_blocks(value);
  for (const PageRun& run : value.runs()) {
    space_.free(run);
  }
}

/// Frames keep them no longer.
void LargeValueStore::forget_blocks(const LargeValueDescriptor& value) noexcept {
  if (is_kept(value)) {
    for (std::uint32_t block = 0; block < value.block_count(); ++block) {
      pool_->blocks().forget(value.page_of(block));
    }
  }
}

LargeValueDescriptor LargeValueStore::write_for_commit(ByteView value) {
  if (unwritten_ == nullptr ||
      !unwritten_->takes(extent_blocks(value.size(), file_.page_size_bytes()))) {
    return write(value);
  }
  Writer writer = begin(value.size());
  writer.append(value);
  return writer.finish_for_commit();
}

void LargeValueStore::write_deferred() {
  if (unwritten_ != nullptr) {
    unwritten_->write_all();
  }
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
  Piece piece{.value = value,
              .payload_bytes = extent_payload_bytes(file_.page_size_bytes()),
              .position = offset_bytes,
              .rest = out};
  const bool keeps = is_kept(value);
  take_from_memory(piece, keeps);
  if (piece.rest.empty()) {
    return ReadOutcome::complete;
  }
  ExtentReader blocks(file_, keeps ? pool_ : nullptr, value, piece.first_block(),
                      piece.end_block());
  while (blocks.next_batch()) {
    PALIMPSEST_SYNC_POINT("btree.large_value.read");
    for (std::uint32_t block = blocks.first(); block < blocks.end(); ++block) {
      if (!blocks.holds(block)) {
        return ReadOutcome::replaced;
      }
      piece.copy(blocks.page(block).into.data());
      piece.go_on();
      blocks.keep(block);
    }
  }
  return ReadOutcome::complete;
}

/// Copies the first blocks from frames or deferred values, up to the first that is in neither: that
/// one is in the file.
void LargeValueStore::take_from_memory(Piece& piece, bool is_kept) const {
  while (!piece.rest.empty()) {
    const std::uint32_t block = piece.first_block();
    const auto take_if_meant = [&](const std::byte* page) {
      const bool is_meant =
          judge_block({page, file_.page_size_bytes()}, piece.value, block) == BlockFault::none;
      if (is_meant) {
        piece.copy(page);
      }
      return is_meant;
    };
    const auto take = [&](const std::byte* page) { piece.copy(page); };
    const bool is_taken =
        (is_kept && pool_->blocks().read(piece.value.page_of(block), take_if_meant)) ||
        (unwritten_ != nullptr && unwritten_->read(piece.value, block, take));
    if (!is_taken) {
      return;
    }
    piece.go_on();
  }
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

void LargeValueStore::prefetch(std::span<const LargeValueDescriptor> values) const {
  if (pool_ == nullptr) {
    return;
  }
  BlocksAhead ahead(*pool_);
  for (const LargeValueDescriptor& value : values) {
    const bool is_in_file = unwritten_ == nullptr || !unwritten_->has(value);
    if (is_in_file && is_kept(value) && file_has(value) && !ahead.add(value)) {
      break;
    }
  }
  ahead.read();
}

void LargeValueStore::verify(const LargeValueDescriptor& value) const {
  if (unwritten_ != nullptr && unwritten_->has(value)) {
    return;  // it has no block in the file yet
  }
  ExtentReader blocks(file_, nullptr, value, 0, value.block_count());
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
    throw Error(
        ErrorCode::corruption,
        fmt::format("page file \"{}\": {} names pages that are free, or not of large values",
                    file_.name(), print_descriptor(value)));
  }
  if (unwritten_ != nullptr) {
    unwritten_->drop(value);
  }
  take_back(value);
}

bool LargeValueStore::file_has(const LargeValueDescriptor& value) const noexcept {
  return std::ranges::all_of(value.runs(), [this](const PageRun& run) {
    return file_.contains(run.first) && file_.contains(PageId{raw(run.first) + run.pages - 1});
  });
}

LargeValueStore::Writer::Writer(LargeValueStore& store, std::uint64_t size_bytes, ValueStamp stamp,
                                FunctionRef<std::vector<PageRun>(std::uint32_t)> take)
    : store_(&store),
      page_size_(store.file_.page_size_bytes()),
      buffer_(std::size_t{extent_buffer_pages(extent_blocks(size_bytes, page_size_), page_size_)} *
                  page_size_,
              page_size_),
      value_(LargeValueDescriptor::make(size_bytes, stamp,
                                        take(extent_blocks(size_bytes, page_size_)), page_size_)) {}

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
                fmt::format("a large value grows beyond the {} bytes announced for it",
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
  require_complete();
  write_buffer(value_.block_count() - first_block_);
  if (store_->is_kept(value_)) {
    keep_blocks();
  }
  store_ = nullptr;
  return value_;
}

/// The whole value is in the buffer. The log is told once a round can find the value, and before
/// any record names it.
LargeValueDescriptor LargeValueStore::Writer::finish_for_commit() {
  require_complete();
  frame_blocks(value_.block_count());
  if (store_->is_kept(value_)) {
    keep_blocks();
  }
  try {
    store_->unwritten_->add(value_, std::move(buffer_));
  } catch (...) {
    abandon();
    throw;
  }
  store_->log_->need_pages();
  store_ = nullptr;
  return value_;
}

/// Writes the headers of the first `blocks` blocks in the buffer.
void LargeValueStore::Writer::frame_blocks(std::uint32_t blocks) const noexcept {
  for (std::uint32_t index = 0; index < blocks; ++index) {
    const std::uint32_t block = first_block_ + index;
    frame_block(image(index), value_.page_of(block), value_.stamp(), block,
                payload_bytes_of(value_, block, page_size_));
  }
}

/// Writes the first `blocks` images of the buffer.
void LargeValueStore::Writer::write_buffer(std::uint32_t blocks) {
  try {
    frame_blocks(blocks);
    std::vector<buffer::PageImage> pages;
    pages.reserve(blocks);
    for (std::uint32_t index = 0; index < blocks; ++index) {
      pages.push_back({.id = value_.page_of(first_block_ + index), .bytes = image(index)});
    }
    store_->writer_.write_fresh(pages);
  } catch (...) {
    abandon();
    throw;
  }
  first_block_ += blocks;
}

/// The whole value is in the buffer; readers that begin from now on find its blocks in frames.
void LargeValueStore::Writer::keep_blocks() const {
  for (std::uint32_t block = 0; block < value_.block_count(); ++block) {
    store_->pool_->begin_block(value_.page_of(block)).keep_copy(image(block));
  }
}

void LargeValueStore::Writer::require_complete() {
  require_usable();
  if (missing_bytes() != 0) {
    abandon();
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a large value ends {} bytes short of the {} announced for it",
                            missing_bytes(), value_.size_bytes()));
  }
}

void LargeValueStore::Writer::require_usable() const {
  if (store_ == nullptr) {
    throw Error(ErrorCode::failed,
                "a large value cannot be continued: it is finished or has failed");
  }
}

/// Frees the pages unless they belong to a finished value. No write of them is in flight.
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
