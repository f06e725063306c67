// The page file: header, geometry, verified page reads, growth, and when the file may be written.
//
// Layout: 64 KiB header area (file_header.h), the double-write ring (double_write_ring.h), then
// pages; page n lies at n * page size, and the first page behind the ring is the first space map
// page (space_map.h). Pages are written only through PageWriter.
//
// Invariants: (1) before the first page is written or the size is changed, the header on disk says
//                 "not clean" (mark_open), durably; it says "clean" only after close_cleanly synced
//                 everything.
//             (2) the open count is raised durably by every writable open, before it returns.
//             (3) the file on disk has at least header.page_count pages: it grows before the header
//                 says so, and shrinks after.
//             (4) before anything else is read of an unclean file, torn pages are restored, and its
//                 size is set again, which a failed sync may have lost (I-14); a new batch floor
//                 becomes durable only after both are.
//             (5) after a failed sync or header write the file is *failed*: everything that writes
//                 throws Error failed, reads go on. Reopening restores.
//             (6) each ring slot has space reserved for as many images as the file has pages behind
//                 the ring, up to a batch. The slot is a hole in a new file; its space is reserved
//                 before those pages exist. A batch contains a page once, so it never needs more
//                 space than there is, even on a full disk and in recovery.
// Latching: header_mutex_ protects the header and its copies on disk and is held during their
//           writes and sync; it is the innermost of this folder. Reads take no latch.
// Thread-safety: all functions may be called by any number of threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/aligned_memory.h"
#include "base/bytes.h"
#include "base/failure.h"
#include "base/ids.h"
#include "base/io/device.h"
#include "base/log_sink.h"
#include "buffer/double_write_ring.h"
#include "buffer/file_header.h"
#include "buffer/page_header.h"

namespace palimpsest::buffer {

/// The name of a database's page file in its directory.
inline constexpr std::string_view kPageFileName = "pages";

/// Options that are fixed when a page file is created.
struct PageFileOptions {
  /// A power of two, kPageSizeMin to kPageSizeMax (docs/decisions/002-page-size.md).
  std::uint32_t page_size_bytes = 4096;
  std::uint32_t ring_batches = 2;   ///< kRingBatchesMin to kRingBatchesMax
  std::uint32_t batch_pages = 128;  ///< kBatchPagesMin to kBatchPagesMax
  std::optional<Uuid> uuid{};       ///< random when not given
};

struct OpenOptions {
  bool read_only = false;
  /// Refuse a database with another page size.
  std::optional<std::uint32_t> page_size_bytes{};
  /// Open a file that was not closed cleanly, for page-level tools and for recovery. Torn pages are
  /// restored (unless read-only), but pages may be of different ages and the space map is the last
  /// one flushed.
  bool allow_unclean = false;
  LogSink log{};  ///< hears of restored pages, and of the failed state
};

/// One page of a batched read.
struct PageRead {
  PageId id = kNoPage;
  MutableBytes into;                  ///< page size, aligned to the page size
  int io_error = 0;                   ///< out: 0, an errno or io::kEndOfFile
  PageFault fault = PageFault::none;  ///< out: what is wrong with the bytes read

  [[nodiscard]] bool ok() const noexcept { return io_error == 0 && fault == PageFault::none; }
};

class PageFile {
 public:
  /// Creates an empty page file, clean and durable, and opens it for writing. Throws
  /// invalid_argument (an option beyond its limit), already_exists, no_space, ... and leaves no
  /// file.
  [[nodiscard]] static std::unique_ptr<PageFile> create(io::Device& device, std::string_view name,
                                                        const PageFileOptions& options);

  /// Opens an existing page file; restores torn pages if it was not closed cleanly. Errors:
  /// not_found, locked, permission_denied, not_a_database, unsupported_version, page_size_mismatch,
  /// corruption (damaged or truncated), not_closed_cleanly (after the restore).
  [[nodiscard]] static std::unique_ptr<PageFile> open(io::Device& device, std::string_view name,
                                                      const OpenOptions& options = {});

  ~PageFile() = default;
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  /// Reads and verifies a page. `into`: page size bytes, aligned to the page size. Throws io_error,
  /// or corruption naming file, page and both checksums. Blocks on I/O.
  void read_page(PageId id, MutableBytes into);

  /// Reads and verifies independent pages together; each PageRead holds its own outcome. Pages that
  /// are neighbours both in the file and in memory are one transfer; if that fails, each is read
  /// alone. Blocks on I/O.
  void read_pages(std::span<PageRead> reads) noexcept;

  /// Pages that reads have requested from the device.
  [[nodiscard]] std::uint64_t pages_read() const noexcept {
    return pages_read_.load(std::memory_order_relaxed);
  }

  /// Throws the Error for a read that is not ok().
  [[noreturn]] void throw_read_error(const PageRead& read) const;

  /// Makes invariant (1) hold; called before every write. Throws failed, or invalid_argument on a
  /// read-only file. Cheap after the first time.
  void mark_open();

  /// Syncs everything and marks the file clean. The caller has written everything that is to
  /// survive. Does nothing on a file that is clean already. The file may be written again
  /// afterwards.
  void close_cleanly();

  [[nodiscard]] PageId catalog_root() const;
  /// Durable on return.
  void set_catalog_root(PageId root);
  /// For a new file that holds the pages of `other` and has an empty ring: takes over the catalog
  /// root, durably, and continues the numbers of write batches and openings, which stand in those
  /// pages.
  void become_copy_of(PageFile& other);

  /// Makes the file `page_count` pages long with reserved space. Error no_space changes nothing.
  void grow(std::uint64_t page_count);
  /// Cuts the file to `page_count` pages; the rest must be free and have no write in flight. Throws
  /// corruption, with nothing changed, if the catalog root would be cut off.
  void shrink(std::uint64_t page_count);

  /// Syncs the file. A failure is final (invariant 5).
  void sync();
  /// Enters the failed state; every later refusal names the first reason given.
  void fail(std::string_view reason) noexcept;
  [[nodiscard]] bool failed() const noexcept { return failure_.has_happened() || file_->failed(); }
  /// Throws failed or, on a read-only file, invalid_argument.
  void require_writable() const;

  [[nodiscard]] std::uint32_t page_size_bytes() const noexcept { return page_size_bytes_; }
  [[nodiscard]] std::uint32_t ring_batches() const noexcept { return ring_batches_; }
  [[nodiscard]] std::uint32_t batch_pages() const noexcept { return batch_pages_; }
  [[nodiscard]] PageId first_page() const noexcept { return first_page_; }
  /// Pages of the file, header area and ring included; every page id is below it.
  [[nodiscard]] std::uint64_t page_count() const noexcept {
    return page_count_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t offset_of(PageId id) const noexcept {
    return raw(id) * page_size_bytes_;
  }
  [[nodiscard]] bool contains(PageId id) const noexcept {
    return id >= first_page_ && raw(id) < page_count();
  }
  [[nodiscard]] bool read_only() const noexcept { return read_only_; }
  /// Whether the file had been closed cleanly when it was opened (true after create).
  [[nodiscard]] bool was_clean() const noexcept { return was_clean_; }
  [[nodiscard]] const RestoreOutcome& restored() const noexcept { return restored_; }
  /// The next number of a write batch; above all numbers ever used for this file's ring.
  [[nodiscard]] std::uint64_t take_batch_number() noexcept {
    return next_batch_.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] const std::string& name() const noexcept { return file_->name(); }
  [[nodiscard]] FileHeader header() const;
  /// Announces memory that pages are often read into or written from; the registration must end
  /// before the memory does. Devices decline what would cost more than it gains.
  [[nodiscard]] std::unique_ptr<io::BufferRegistration> register_buffer(MutableBytes memory) {
    return device_.register_buffer(memory);
  }
  /// For PageWriter and DoubleWriteRing only, which write under their protocol, and for code that
  /// fills a file no other thread knows of.
  [[nodiscard]] io::File& file() noexcept { return *file_; }

 private:
  PageFile(io::Device& device, std::unique_ptr<io::File> file, const FoundHeader& found,
           const OpenOptions& options, std::uint64_t page_count);

  void restore_torn_pages();
  void reserve_ring(std::uint64_t page_count);
  void begin_writable();
  void read_chunk(std::span<PageRead> reads) noexcept;
  void end_read(std::span<PageRead> reads, int error) noexcept;
  void set_root(FileHeader next, PageId root);     // header_mutex_ held
  void write_header(FileHeader next);              // header_mutex_ held
  void write_all_headers(const FileHeader& next);  // header_mutex_ held

  io::Device& device_;
  const std::unique_ptr<io::File> file_;
  const bool read_only_;
  const std::uint32_t page_size_bytes_;
  const std::uint32_t ring_batches_;
  const std::uint32_t batch_pages_;
  const PageId first_page_;
  const bool was_clean_;
  const LogSink log_;
  RestoreOutcome restored_;  ///< set while opening

  Failure failure_;
  std::atomic<bool> marked_open_{false};  ///< the header on disk says "not clean"
  std::atomic<std::uint64_t> page_count_;
  std::atomic<std::uint64_t> next_batch_;
  std::atomic<std::uint64_t> pages_read_{0};

  mutable std::mutex header_mutex_;
  FileHeader header_;        ///< as last written; protected by header_mutex_
  std::uint32_t next_copy_;  ///< the copy to write next; protected by header_mutex_
  AlignedMemory block_;      ///< for header writes; protected by header_mutex_
};

}  // namespace palimpsest::buffer
