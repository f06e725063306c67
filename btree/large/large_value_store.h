// Reads and writes values that are too large for a page, in bounded memory. Blocks of small values
// go through frames of the buffer pool, the rest directly between the caller and the page file.
//
// Why not all through frames: a value of a gigabyte would evict everything else, and its pages are
// read in order and rarely again. Why whole extents, of a size known at the start: a value then has
// few runs, and its descriptor fits a leaf; a tree of blocks would need a page on every path.
// Frames hold copies of blocks in the file (buffer/block_cache.h): they are filled when a value has
// been written or read, and validated like blocks from the file.
//
// A reader may hold a descriptor while its value is replaced, freed, and overwritten: the tree
// hands descriptors out by value, and no latch is held during I/O. Such a read may find:
//
//   the old block          its page was not rewritten yet, or a frame still has it: the right
//                          bytes of the old value
//   another value's block  even of the same size in the same pages (ABA): its stamp differs,
//                          because no stamp is ever used twice
//   another block of this  never in place of this one, but its number would differ
//   value
//   a tree or map page     its type differs; if the page was cut off: the end of the file
//   a page being written   old and new sectors mixed: the checksum covers the page with its stamp
//                          and fails, unless all sectors read are old, or all are new
//
// Each block is validated before its bytes count, so a read yields the bytes of one value only, or
// ReadOutcome::replaced. Then the caller looks its key up again. If it finds the *same* descriptor,
// that was current all the time (a descriptor never comes back) and its pages were not freed, so
// the block found is corrupt: verify() names it.
//
// Invariants: (1) a page of an extent is written before the descriptor exists, or waits where
//                 readers find it (deferred_values.h); and is never written again.
//             (2) the pages of a value are freed only after no tree holds its descriptor: later
//                 lookups cannot find it.
//             (3) every page allocated for a value belongs to an unfinished writer, or to a
//                 descriptor that was returned: every other outcome frees it.
// Latching: none of its own. Not called under a page latch or while holding a page writer's batch:
//           all functions do I/O, or wait for it, and begin() takes the space map's structure
//           mutex.
// Durability: what finish() returned is readable; it is durable after PageWriter::harden() or
//             PageFile::sync(). No commit that holds the descriptor may be durable before:
//             Log::need_pages(). The same for write_for_commit(), once a round has written it.
// Memory: each writer, and each call of a read, has one buffer of at most kExtentBufferBytes.
// Thread-safety: the store's functions may be called by any number of threads; a Writer by one.
// Failure: Error no_space, io_error, failed, invalid_argument (a limit; the message names it),
//          corruption. A failed write leaves nothing allocated.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/aligned_memory.h"
#include "base/bytes.h"
#include "btree/large/deferred_values.h"
#include "btree/large/extent_reader.h"
#include "btree/large/large_value_format.h"
#include "buffer/buffer_pool.h"
#include "buffer/page_file.h"
#include "buffer/page_writer.h"
#include "buffer/space_map.h"
#include "wal/log.h"

namespace palimpsest::btree {

enum class [[nodiscard]] ReadOutcome : std::uint8_t {
  complete = 1,  ///< all bytes asked for are there, and they are those of the value
  replaced,      ///< the pages hold other data now; what was read is useless
};

class LargeValueStore {
 public:
  class Writer;

  /// All belong to one database and must outlive the store and its writers. One store per file: it
  /// counts the stamps. Without a pool no block is cached. With a log, writes are deferred to its
  /// rounds, which call write_deferred() before they sync the file for Log::need_pages().
  LargeValueStore(buffer::PageFile& file, buffer::PageWriter& writer, buffer::SpaceMap& space,
                  buffer::BufferPool* pool = nullptr, wal::Log* log = nullptr);
  LargeValueStore(const LargeValueStore&) = delete;
  LargeValueStore& operator=(const LargeValueStore&) = delete;

  /// Allocates pages for a value of exactly `size_bytes`, 1 to kLargeValueBytesMax. Throws
  /// invalid_argument, no_space, io_error, failed; may grow the file.
  [[nodiscard]] Writer begin(std::uint64_t size_bytes);

  /// Writes a value that is in memory.
  [[nodiscard]] LargeValueDescriptor write(ByteView value);
  /// write() for a transaction with a log. The write may be deferred, until before any log record
  /// that names the value (deferred_values.h).
  [[nodiscard]] LargeValueDescriptor write_for_commit(ByteView value);
  /// Writes a value of this store once more, to pages before `end`. Returns nothing if the value no
  /// longer exists, or if there are too few free pages. Throws as begin() and read().
  [[nodiscard]] std::optional<LargeValueDescriptor> copy_before(PageId end,
                                                                const LargeValueDescriptor& value);
  /// Frees the pages of a value that was written and that no record has ever named.
  void take_back(const LargeValueDescriptor& value) noexcept;
  /// Writes deferred values. Throws io_error, no_space, failed; they then remain deferred.
  void write_deferred();

  /// Reads a descriptor from a leaf's record; throws as LargeValueDescriptor::decode().
  [[nodiscard]] LargeValueDescriptor decode(ByteView bytes) const;

  /// Reads out.size() bytes of the value from `offset_bytes` on; they must lie within it (Error
  /// invalid_argument). Throws io_error when the device fails.
  ReadOutcome read(const LargeValueDescriptor& value, std::uint64_t offset_bytes,
                   MutableBytes out) const;

  /// Reads the whole value; `out` is empty when it was replaced. No memory is allocated for a value
  /// whose pages the file does not have.
  ReadOutcome read_all(const LargeValueDescriptor& value, std::string& out) const;

  /// Prefetches the blocks of small values into frames: those not in memory, in one batch, as many
  /// as there are frames to spare. A block that cannot be read is skipped; a later read reports it.
  /// No latch is held.
  void prefetch(std::span<const LargeValueDescriptor> values) const;

  /// Reads every block of a value that is known to be current. Throws Error corruption for the
  /// first faulty block, naming file, block, page and fault.
  void verify(const LargeValueDescriptor& value) const;

  /// Frees the value's pages; they may be reused at once (invariant 2). Waits for a deferred write
  /// of the value that is under way. Throws corruption, and frees nothing, if some page is not in
  /// use or a map page: the leaf is wrong. (A forged descriptor of other data's pages is found by a
  /// walk of all pages, not here.)
  void free(const LargeValueDescriptor& value);

 private:
  struct Piece;

  [[nodiscard]] ValueStamp new_stamp() noexcept;
  void forget_blocks(const LargeValueDescriptor& value) noexcept;
  [[nodiscard]] std::size_t unwritten_bytes_max() const noexcept;
  [[nodiscard]] bool file_has(const LargeValueDescriptor& value) const noexcept;
  [[nodiscard]] bool is_kept(const LargeValueDescriptor& value) const noexcept;
  void take_from_memory(Piece& piece, bool is_kept) const;

  buffer::PageFile& file_;
  buffer::PageWriter& writer_;
  buffer::SpaceMap& space_;
  buffer::BufferPool* const pool_;  ///< or null
  const std::uint64_t open_count_;
  std::atomic<std::uint64_t> last_number_{0};        ///< of the stamps handed out
  wal::Log* const log_;                              ///< or null
  const std::unique_ptr<DeferredValues> unwritten_;  ///< null without pool or log
};

/// A value being written. If it is destroyed before finish(), or after an error, its pages are
/// freed.
class LargeValueStore::Writer {
 public:
  Writer(Writer&& other) noexcept;
  Writer& operator=(Writer&&) = delete;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();

  /// Adds the next bytes of the value, any number of them. Blocks on I/O when the buffer is full.
  /// After an error (io_error, no_space, failed; invalid_argument when the value becomes longer
  /// than announced) the pages are free again and every further call throws `failed`.
  void append(ByteView bytes);

  /// Writes the rest. Throws as append(); invalid_argument if bytes are missing. Call once.
  [[nodiscard]] LargeValueDescriptor finish();

  /// As finish(), for a small value; the write may be deferred.
  [[nodiscard]] LargeValueDescriptor finish_for_commit();

  /// Bytes that are still to be appended.
  [[nodiscard]] std::uint64_t missing_bytes() const noexcept {
    return value_.size_bytes() - appended_bytes_;
  }

 private:
  friend class LargeValueStore;
  Writer(LargeValueStore& store, std::uint64_t size_bytes, ValueStamp stamp,
         FunctionRef<std::vector<buffer::PageRun>(std::uint32_t blocks)> take);

  void require_usable() const;
  void require_complete();
  void frame_blocks(std::uint32_t blocks) const noexcept;
  void write_buffer(std::uint32_t blocks);
  void keep_blocks() const;
  void abandon() noexcept;
  [[nodiscard]] MutableBytes image(std::uint32_t index) const noexcept;

  LargeValueStore* store_;  ///< null once finished, abandoned or moved from
  std::uint32_t page_size_;
  AlignedMemory buffer_;              ///< images of whole pages
  LargeValueDescriptor value_;        ///< owns its pages until finished
  std::uint64_t appended_bytes_ = 0;  ///< of the value, those in the buffer included
  std::uint32_t first_block_ = 0;     ///< number of the block in the buffer's first image
};

}  // namespace palimpsest::btree
