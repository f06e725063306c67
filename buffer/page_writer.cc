#include "buffer/page_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/sync_point.h"
#include "buffer/page_header.h"

namespace palimpsest::buffer {
namespace {

/// Adds a write of one page, or extends the last one if file and memory continue there.
void append_page(std::vector<io::Transfer>& transfers, std::uint64_t offset_bytes,
                 MutableBytes page) {
  if (transfers.empty() || !transfers.back().extend(offset_bytes, page)) {
    transfers.push_back(
        {.kind = io::Transfer::Kind::write, .offset_bytes = offset_bytes, .data = page});
  }
}

/// Drops the transfers that succeeded.
void keep_failed(std::vector<io::Transfer>& transfers) {
  std::erase_if(transfers, [](const io::Transfer& transfer) { return transfer.error == 0; });
}

void check_image(ConstBytes image, PageId id) {
  const PageHeader header = header_of(image);
  check(header.page_id == id, "a page image carries its own id");
  check(name_of(header.type) != "unknown", "a page image has a type");
}

}  // namespace

PageWriter::PageWriter(PageFile& file, wal::Log* log)
    : file_(file),
      ring_(file.file(), file.header()),
      atomic_(file.file().atomic_write_bytes_max() >= file.page_size_bytes()),
      log_(log),
      memory_(std::size_t{file.batch_pages()} * file.page_size_bytes(), file.page_size_bytes()),
      registration_(file.register_buffer(memory_.bytes())) {
  transfers_.reserve(file.batch_pages());
}

void PageWriter::log_with(wal::Log& log) {
  const std::lock_guard turn(turn_);
  log_.store(&log, std::memory_order_release);
}

bool PageWriter::failed() const noexcept {
  const wal::Log* log = log_.load(std::memory_order_acquire);
  return file_.failed() || (log != nullptr && log->failed());
}

void PageWriter::require_working() const {
  file_.require_writable();
  if (const wal::Log* log = log_.load(std::memory_order_acquire); log != nullptr) {
    log->require_working();
  }
}

PageWriter::Batch PageWriter::begin_batch() {
  std::unique_lock turn(turn_);
  file_.require_writable();
  return {*this, std::move(turn)};
}

void PageWriter::write_batch(Batch& batch) {
  if (wal::Log* log = log_.load(std::memory_order_acquire); log != nullptr) {
    log->wait_durable(batch.newest_gsn_);
    log->require_working();  // after a failure, pages may have been changed back without a record
  }
  PALIMPSEST_SYNC_POINT("buffer.writer.log_durable");
  file_.mark_open();  // not before: a batch that stays empty leaves a clean file clean
  if (harden_first_) {
    sync_under_turn();
    harden_first_ = false;
  }
  const std::uint64_t number = file_.take_batch_number();
  for (std::size_t i = 0; i < batch.pages_.size(); ++i) {
    seal_page(image(i), number);
  }
  if (!atomic_) {
    write_copies(batch.pages_.size());
  }
  write_in_place(batch.pages_);
  batch.number_ = number;
  written_.store(number, std::memory_order_release);
  batches_.fetch_add(1, std::memory_order_relaxed);
}

/// Steps B and C. A failure before the sync leaves all pages as they were.
void PageWriter::write_copies(std::size_t page_count) {
  const ConstBytes images = memory_.bytes().first(page_count * file_.page_size_bytes());
  harden_first_ = true;
  ring_.write(next_slot_, images);
  harden_first_ = false;
  next_slot_ = (next_slot_ + 1) % ring_.slots();
  copied_.fetch_add(page_count, std::memory_order_relaxed);
  bytes_.fetch_add(images.size(), std::memory_order_relaxed);
  sync_under_turn();
}

/// Step D.
void PageWriter::write_in_place(std::span<const PageId> pages) {
  transfers_.clear();
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::uint64_t offset = file_.offset_of(pages[i]);
    if (atomic_) {
      transfers_.push_back({.kind = io::Transfer::Kind::write,
                            .atomic = true,
                            .offset_bytes = offset,
                            .data = image(i)});
    } else {
      append_page(transfers_, offset, image(i));
    }
  }
  file_.file().run(transfers_);
  keep_failed(transfers_);
  if (!transfers_.empty()) {
    file_.file().run(transfers_);
    keep_failed(transfers_);
  }
  if (!transfers_.empty()) {
    if (!atomic_) {
      file_.fail("pages could not be written in place and may be torn");
    }
    io::throw_io_error(transfers_.front().error, "writing pages in place", file_.name());
  }
  in_place_.fetch_add(pages.size(), std::memory_order_relaxed);
  bytes_.fetch_add(pages.size() * file_.page_size_bytes(), std::memory_order_relaxed);
}

void PageWriter::sync_under_turn() {
  // All in-place writes of this batch have completed: this thread holds the mutex.
  const std::uint64_t covered = written_.load(std::memory_order_relaxed);
  file_.sync();
  hardened_.store(covered, std::memory_order_release);
  syncs_.fetch_add(1, std::memory_order_relaxed);
}

void PageWriter::write_fresh(std::span<const PageImage> pages) {
  std::vector<io::Transfer> transfers;
  write_fresh(pages, transfers);
}

void PageWriter::write_fresh(std::span<const PageImage> pages,
                             std::vector<io::Transfer>& transfers) {
  file_.mark_open();
  transfers.clear();
  for (const PageImage& page : pages) {
    check(page.bytes.size() == file_.page_size_bytes() && file_.contains(page.id),
          "a fresh page is a page of the file");
    check_image(page.bytes, page.id);
    seal_page(page.bytes, 0);
    append_page(transfers, file_.offset_of(page.id), page.bytes);
  }
  {
    const UnloggedWrites::Write write(unlogged_, pages);
    file_.file().run(transfers);
  }
  keep_failed(transfers);
  if (!transfers.empty()) {
    io::throw_io_error(transfers.front().error, "writing fresh pages", file_.name());
  }
  fresh_.fetch_add(pages.size(), std::memory_order_relaxed);
  bytes_.fetch_add(pages.size() * file_.page_size_bytes(), std::memory_order_relaxed);
}

void PageWriter::harden() {
  const std::lock_guard turn(turn_);
  file_.require_writable();
  sync_under_turn();
  harden_first_ = false;
}

PageWriterStatistics PageWriter::statistics() const noexcept {
  return {.batches = batches_.load(std::memory_order_relaxed),
          .pages_in_place = in_place_.load(std::memory_order_relaxed),
          .pages_copied = copied_.load(std::memory_order_relaxed),
          .pages_fresh = fresh_.load(std::memory_order_relaxed),
          .syncs = syncs_.load(std::memory_order_relaxed),
          .bytes_written = bytes_.load(std::memory_order_relaxed)};
}

MutableBytes PageWriter::image(std::size_t index) const noexcept {
  return memory_.bytes().subspan(index * file_.page_size_bytes(), file_.page_size_bytes());
}

PageWriter::Batch::Batch(PageWriter& writer, std::unique_lock<std::mutex> turn)
    : writer_(&writer), turn_(std::move(turn)) {
  pages_.reserve(writer.batch_pages());
}

std::byte* PageWriter::Batch::slot() noexcept {
  if (ended_ || pages_.size() == writer_->batch_pages()) {
    return nullptr;
  }
  return writer_->image(pages_.size()).data();
}

void PageWriter::Batch::add(PageId id) {
  check(slot() != nullptr, "a batch has a free slot");
  check(writer_->file_.contains(id), "a written page is a page of the file");
  const MutableBytes image = writer_->image(pages_.size());
  check_image(image, id);
  newest_gsn_ = std::max(newest_gsn_, header_of(image).gsn);
  pages_.push_back(id);
}

// A page that is twice in memory shows that the space map on disk was wrong and handed out a page
// in use. There is no way to tell which image is right. (Noticed only if both come into one batch.)
void PageWriter::Batch::require_each_once() const {
  std::vector<PageId> sorted = pages_;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    const std::string reason = fmt::format(
        "page {} has been given to two users: the space map said it was free", raw(*twice));
    writer_->file_.fail(reason);
    throw Error(ErrorCode::corruption,
                fmt::format("page file \"{}\": {}", writer_->file_.name(), reason));
  }
}

void PageWriter::Batch::write() {
  check(!ended_, "a batch is written only once");
  ended_ = true;
  if (pages_.empty()) {
    return;
  }
  require_each_once();
  writer_->write_batch(*this);
}

}  // namespace palimpsest::buffer
