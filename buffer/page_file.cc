#include "buffer/page_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>
#include <utility>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/io/require_alignment.h"

namespace palimpsest::buffer {
namespace {

/// The batch numbers of a session that ended badly may be unknown (atomic writes leave none in the
/// ring), so the next session skips this many.
constexpr std::uint64_t kBatchLeap = std::uint64_t{1} << 32;

constexpr std::size_t kReadChunk = 32;

Uuid random_uuid() {
  std::random_device random;
  Uuid uuid{};
  for (std::uint8_t& byte : uuid) {
    byte = static_cast<std::uint8_t>(random());
  }
  // RFC 4122: version 4, variant 1.
  uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0f) | 0x40);
  uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

void check_range(std::uint32_t value, std::uint32_t min, std::uint32_t max, std::string_view what) {
  if (value < min || value > max) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} {} is outside {} to {}", what, value, min, max));
  }
}

FileHeader new_header(const PageFileOptions& options) {
  check_range(options.page_size_bytes, kPageSizeMin, kPageSizeMax, "page size");
  if (!std::has_single_bit(options.page_size_bytes)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("page size {} is not a power of two", options.page_size_bytes));
  }
  check_range(options.ring_batches, kRingBatchesMin, kRingBatchesMax, "ring batches");
  check_range(options.batch_pages, kBatchPagesMin, kBatchPagesMax, "batch pages");
  FileHeader header = make_file_header();
  header.page_size_bytes = options.page_size_bytes;
  header.uuid = options.uuid ? *options.uuid : random_uuid();
  header.open_count = 1;
  header.batch_floor = 1;
  header.ring_offset_bytes = kHeaderAreaBytes;
  header.ring_batches = options.ring_batches;
  header.batch_pages = options.batch_pages;
  header.page_count = header.first_page();
  header.clean = 1;
  return header;
}

/// Writes the header area of a new file, all copies valid, the last one the newest. The ring is a
/// hole.
void write_new_file(io::File& file, FileHeader& header) {
  file.allocate(0, kHeaderAreaBytes);
  file.truncate(header.page_count * header.page_size_bytes);
  const AlignedMemory area(kHeaderAreaBytes, kHeaderBlockBytes);
  for (std::uint32_t copy = 0; copy < kHeaderCopies; ++copy) {
    header.sequence = copy + 1;
    encode_file_header(header, area.bytes().subspan(copy * kHeaderBlockBytes, kHeaderBlockBytes));
  }
  file.write(0, area.bytes());
  file.sync();
}

}  // namespace

PageFile::PageFile(io::Device& device, std::unique_ptr<io::File> file, const FoundHeader& found,
                   const OpenOptions& options, std::uint64_t page_count)
    : device_(device),
      file_(std::move(file)),
      read_only_(options.read_only),
      page_size_bytes_(found.header.page_size_bytes),
      ring_batches_(found.header.ring_batches),
      batch_pages_(found.header.batch_pages),
      first_page_{found.header.first_page()},
      was_clean_(found.header.clean == 1),
      log_(options.log),
      marked_open_(found.header.clean == 0),
      page_count_(page_count),
      next_batch_(std::max<std::uint64_t>(found.header.batch_floor, 1)),
      header_(found.header),
      next_copy_(found.next_copy),
      block_(kHeaderBlockBytes, kHeaderBlockBytes) {}

std::unique_ptr<PageFile> PageFile::create(io::Device& device, std::string_view name,
                                           const PageFileOptions& options) {
  FileHeader header = new_header(options);
  std::unique_ptr<io::File> file = device.open(name, io::OpenMode::create_new, true);
  try {
    io::require_alignment(*file, kHeaderBlockBytes);
    write_new_file(*file, header);
    device.sync_directory();
  } catch (const Error&) {
    file.reset();
    try {
      device.remove(name);
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the first error tells more
    }
    throw;
  }
  return std::unique_ptr<PageFile>(
      new PageFile(device, std::move(file), FoundHeader{header, 0}, {}, header.page_count));
}

std::unique_ptr<PageFile> PageFile::open(io::Device& device, std::string_view name,
                                         const OpenOptions& options) {
  const io::OpenMode mode = options.read_only ? io::OpenMode::read_only : io::OpenMode::read_write;
  std::unique_ptr<io::File> file = device.open(name, mode, true);
  io::require_alignment(*file, kHeaderBlockBytes);
  const std::uint64_t size_bytes = file->size_bytes();
  constexpr std::size_t kBlocksBytes = kHeaderCopies * kHeaderBlockBytes;
  if (size_bytes < kBlocksBytes) {
    throw Error(ErrorCode::not_a_database,
                fmt::format("page file \"{}\" is not a page file: it has {} bytes, less than the "
                            "{} bytes of a header",
                            name, size_bytes, kBlocksBytes));
  }
  const AlignedMemory area(kBlocksBytes, kHeaderBlockBytes);
  file->read(0, area.bytes());
  const FoundHeader found = find_file_header(area.bytes(), name);
  validate_file_header(found.header, size_bytes, options.page_size_bytes, name);

  const bool clean = found.header.clean == 1;
  const std::uint64_t page_count =
      clean ? found.header.page_count : size_bytes / found.header.page_size_bytes;
  std::unique_ptr<PageFile> opened(
      new PageFile(device, std::move(file), found, options, page_count));
  if (!clean && !options.read_only) {
    opened->restore_torn_pages();
  }
  if (!clean && !options.allow_unclean) {
    throw Error(ErrorCode::not_closed_cleanly,
                fmt::format("page file \"{}\" was not closed cleanly (open number {}); its pages "
                            "may be of different ages",
                            name, found.header.open_count));
  }
  if (!options.read_only) {
    opened->begin_writable();
  }
  return opened;
}

// Sets the size first: a growth whose sync failed may be visible.
void PageFile::restore_torn_pages() {
  file_->truncate(page_count() * page_size_bytes_);
  DoubleWriteRing ring(*file_, header_);
  restored_ = ring.restore(raw(first_page_), page_count(), header_.batch_floor);
  next_batch_ = std::max(next_batch_.load(), restored_.newest_batch + 1) + kBatchLeap;
  if (restored_.pages_restored != 0) {
    log_to(log_, LogLevel::info, component::kPages,
           "pages that a crash had torn were restored from the double-write ring",
           {{"file", name()}, {"pages", std::uint64_t{restored_.pages_restored}}});
  }
}

/// Raises open count and batch floor, durably (invariants 2 and 4).
void PageFile::begin_writable() {
  const std::lock_guard guard(header_mutex_);
  FileHeader next = header_;
  next.open_count += 1;
  next.batch_floor = next_batch_.load();
  write_header(next);
}

void PageFile::read_page(PageId id, MutableBytes into) {
  PageRead read{.id = id, .into = into};
  read_pages({&read, 1});
  if (!read.ok()) {
    throw_read_error(read);
  }
}

void PageFile::read_pages(std::span<PageRead> reads) noexcept {
  for (std::size_t begin = 0; begin < reads.size(); begin += kReadChunk) {
    read_chunk(reads.subspan(begin, std::min(kReadChunk, reads.size() - begin)));
  }
}

// Pages that follow each other both in the file and in memory are one transfer, which costs the
// device about as much as one of them. Errors are reported page by page.
void PageFile::read_chunk(std::span<PageRead> reads) noexcept {
  std::array<io::Transfer, kReadChunk> transfers;
  std::array<std::span<PageRead>, kReadChunk> read_by;
  std::size_t count = 0;
  for (PageRead& read : reads) {
    check(read.into.size() == page_size_bytes_, "a page is read into memory of its size");
    read.fault = PageFault::none;
    read.io_error = contains(read.id) ? 0 : io::kEndOfFile;
    if (read.io_error != 0) {
      continue;
    }
    if (count != 0 && &read == &read_by[count - 1].back() + 1 &&
        transfers[count - 1].extend(offset_of(read.id), read.into)) {
      read_by[count - 1] = {read_by[count - 1].data(), read_by[count - 1].size() + 1};
      continue;
    }
    transfers[count].offset_bytes = offset_of(read.id);
    transfers[count].data = read.into;
    read_by[count++] = {&read, 1};
  }
  file_->run({transfers.data(), count});
  pages_read_.fetch_add(reads.size(), std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    end_read(read_by[i], transfers[i].error);
  }
}

/// Ends the reads of pages that were one transfer.
void PageFile::end_read(std::span<PageRead> reads, int error) noexcept {
  for (PageRead& read : reads) {
    read.io_error = error;
    if (error != 0 && reads.size() > 1) {
      io::Transfer alone{.offset_bytes = offset_of(read.id), .data = read.into};
      file_->run({&alone, 1});
      read.io_error = alone.error;
    }
    if (read.io_error == 0) {
      read.fault = verify_page(read.into, read.id);
    }
  }
}

void PageFile::throw_read_error(const PageRead& read) const {
  const std::uint64_t id = raw(read.id);
  if (read.io_error == io::kEndOfFile) {
    throw Error(ErrorCode::corruption,
                fmt::format("page file \"{}\": page {} lies outside of pages {} to {}", name(), id,
                            raw(first_page_), page_count()));
  }
  if (read.io_error != 0) {
    io::throw_io_error(read.io_error, fmt::format("reading page {}", id), name());
  }
  const PageHeader found = header_of(read.into);
  const std::uint64_t computed = page_checksum(read.into);
  throw Error(
      ErrorCode::corruption,
      fmt::format("page file \"{}\": page {} is damaged ({}): checksum stored {:#018x}, computed "
                  "{:#018x}; page id stored {}, type {}, format {}",
                  name(), id, name_of(read.fault), found.checksum, computed, raw(found.page_id),
                  static_cast<unsigned>(found.type), found.format_version));
}

void PageFile::fail(std::string_view reason) noexcept {
  if (failure_.happen(reason)) {
    log_to(log_, LogLevel::error, component::kPages,
           "the page file has failed: it can be read, and must be reopened to be written",
           {{"file", name()}, {"cause", reason}});
  }
}

void PageFile::require_writable() const {
  if (read_only_) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("page file \"{}\" is open read-only", name()));
  }
  if (failed()) {
    throw Error(ErrorCode::failed, fmt::format("page file \"{}\" failed earlier ({}); it can be "
                                               "read, but must be reopened before it is written",
                                               name(), failure_.reason()));
  }
}

void PageFile::mark_open() {
  require_writable();
  if (marked_open_.load(std::memory_order_acquire)) {
    return;
  }
  const std::lock_guard guard(header_mutex_);
  if (!marked_open_.load(std::memory_order_relaxed)) {
    FileHeader next = header_;
    next.clean = 0;
    write_all_headers(next);
    marked_open_.store(true, std::memory_order_release);
  }
}

void PageFile::close_cleanly() {
  require_writable();
  const std::lock_guard guard(header_mutex_);
  if (header_.clean == 1) {
    return;
  }
  sync();
  FileHeader next = header_;
  next.clean = 1;
  next.page_count = page_count();
  next.batch_floor = next_batch_.load();
  marked_open_.store(false, std::memory_order_release);
  write_header(next);
}

PageId PageFile::catalog_root() const {
  const std::lock_guard guard(header_mutex_);
  return header_.catalog_root;
}

void PageFile::set_catalog_root(PageId root) {
  check(root == kNoPage || contains(root), "the catalog root is a page of the file");
  require_writable();
  sync();  // first the root, and the file's size: the header names nothing that may be lost
  const std::lock_guard guard(header_mutex_);
  set_root(header_, root);
}

void PageFile::become_copy_of(PageFile& other) {
  const FileHeader copied = other.header();
  check(contains(copied.catalog_root), "the catalog root is a page of the file");
  sync();
  const std::lock_guard guard(header_mutex_);
  FileHeader next = header_;
  next.open_count = copied.open_count;
  next.batch_floor = other.take_batch_number() + 1;
  set_root(next, copied.catalog_root);
}

void PageFile::set_root(FileHeader next, PageId root) {
  next.catalog_root = root;
  next.clean = 0;
  write_all_headers(next);
  marked_open_.store(true, std::memory_order_release);
}

FileHeader PageFile::header() const {
  const std::lock_guard guard(header_mutex_);
  return header_;
}

void PageFile::grow(std::uint64_t page_count) {
  mark_open();
  const std::uint64_t old_count = this->page_count();
  check(page_count > old_count, "a file grows to a larger size");
  // Pages left behind by a failed truncation or growth must not come back.
  const std::uint64_t old_bytes = old_count * page_size_bytes_;
  if (file_->size_bytes() > old_bytes) {
    file_->truncate(old_bytes);
  }
  reserve_ring(page_count);
  file_->allocate(old_bytes, (page_count - old_count) * page_size_bytes_);
  page_count_.store(page_count, std::memory_order_release);
}

// Invariant (6). A file that once had this many pages has the space already.
void PageFile::reserve_ring(std::uint64_t page_count) {
  const auto slot_pages = [&](std::uint64_t pages_of_file) {
    return std::min<std::uint64_t>(pages_of_file - raw(first_page_), batch_pages_);
  };
  if (slot_pages(page_count) == slot_pages(this->page_count())) {
    return;
  }
  for (std::uint32_t slot = 0; slot < ring_batches_; ++slot) {
    file_->allocate(kHeaderAreaBytes + std::uint64_t{slot} * batch_pages_ * page_size_bytes_,
                    slot_pages(page_count) * page_size_bytes_);
  }
}

void PageFile::shrink(std::uint64_t page_count) {
  check(page_count >= raw(first_page_) && page_count < this->page_count(),
        "a file shrinks to a smaller size");
  require_writable();
  {
    const std::lock_guard guard(header_mutex_);
    if (raw(header_.catalog_root) >= page_count) {
      throw Error(
          ErrorCode::corruption,
          fmt::format("page file \"{}\": the space map marks page {}, the catalog's root, as free",
                      name(), raw(header_.catalog_root)));
    }
    FileHeader next = header_;
    next.page_count = std::min(next.page_count, page_count);
    next.clean = 0;
    write_all_headers(next);
    marked_open_.store(true, std::memory_order_release);
  }
  page_count_.store(page_count, std::memory_order_release);
  file_->truncate(page_count * page_size_bytes_);
}

void PageFile::sync() {
  try {
    file_->sync();
  } catch (const Error& error) {
    fail(error.what());
    throw;
  }
}

/// For changes that must survive even damage to one copy: an older copy would be believed.
void PageFile::write_all_headers(const FileHeader& next) {
  for (std::uint32_t copy = 0; copy < kHeaderCopies; ++copy) {
    write_header(next);
  }
}

/// Writes `next` over the oldest copy and makes it durable.
void PageFile::write_header(FileHeader next) {
  next.sequence = header_.sequence + 1;
  encode_file_header(next, block_.bytes());
  try {
    file_->write(next_copy_ * kHeaderBlockBytes, block_.bytes());
  } catch (const Error& error) {
    fail(error.what());
    throw;
  }
  sync();
  header_ = next;
  next_copy_ = (next_copy_ + 1) % kHeaderCopies;
}

}  // namespace palimpsest::buffer
