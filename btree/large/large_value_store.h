// Reads and writes values that are too large for a page, in bounded memory: the blocks of small
// ones by way of the buffer pool's frames, others straight between the caller and the page file.
//
// Why not all of them by way of frames: a value of a gigabyte would evict everything else, and its
// pages are read in order and rarely again. Why whole extents, known in size when they are begun: a
// value then has few runs, and its descriptor fits a leaf; a tree of blocks would need a page on
// every path. Frames hold copies of what is in the file (buffer/block_cache.h): they are filled
// when a value has been written, or read, and judged like what comes from the file.
//
// A reader may hold a descriptor whose value is replaced, freed, and overwritten while it reads:
// the tree hands descriptors out by value and no latch is held during I/O. What such a read may
// meet:
//   - the old block: its page was not written again yet, or a frame has it still. Right bytes of
//     the old value.
//   - a block of another value, be it of the same size in the same pages (ABA): its stamp differs,
//     because no stamp is ever used twice.
//   - another block of the same value: never in place of this one, but its number would tell.
//   - a tree or map page: its type differs. A page cut off the file: the end of the file.
//   - a page being written: old and new sectors mixed. The checksum covers the page with its stamp
//     and fails, unless every sector that is read is old, or every one new.
// Each block is judged before its bytes count, so a read yields the bytes of one value only, or
// ReadOutcome::replaced. Then the caller looks its key up again. If it finds the *same* descriptor,
// that was current all the time (a descriptor never comes back), nobody freed its pages, and what
// was met is corruption: verify() names it.
//
// Invariants: (1) a page of an extent is written before the descriptor exists, or waits where
//                 readers find it (deferred_values.h); and is never written again.
//             (2) the pages of a value are freed only after no tree holds its descriptor: readers
//                 that look up from then on cannot find it.
//             (3) every page allocated for a value belongs to a writer that is not finished, or to
//                 a descriptor that was returned: all other ways out free it.
// Latching: none of its own. Nobody calls it under a page latch or holding a page writer's batch:
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
#include <span>
#include <string>

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
  replaced,      ///< the pages hold something else now; what was read is of no use
};

class LargeValueStore {
 public:
  class Writer;

  /// All belong to one database and must outlive the store and its writers. One store per file: it
  /// counts the stamps. Without a pool no block is kept in memory. With a log, whose rounds call
  /// write_deferred() before they sync the file for Log::need_pages(), values wait for them.
  LargeValueStore(buffer::PageFile& file, buffer::PageWriter& writer, buffer::SpaceMap& space,
                  buffer::BufferPool* pool = nullptr, wal::Log* log = nullptr);
  LargeValueStore(const LargeValueStore&) = delete;
  LargeValueStore& operator=(const LargeValueStore&) = delete;

  /// Takes the pages for a value of exactly `size_bytes`, 1 to kLargeValueBytesMax. Throws
  /// invalid_argument, no_space, io_error, failed; may grow the file.
  [[nodiscard]] Writer begin(std::uint64_t size_bytes);

  /// Writes a value that is in memory.
  [[nodiscard]] LargeValueDescriptor write(ByteView value);
  /// The same for a transaction with a log, which may do it later, before any record that it is
  /// asked to write after this call (deferred_values.h).
  [[nodiscard]] LargeValueDescriptor write_for_commit(ByteView value);
  /// Writes what waits. Throws io_error, no_space, failed; it waits on then.
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

  /// Brings the blocks of small values into frames, all that are not in memory in one batch:
  /// readers are about to ask for them. As many as frames can be spared for; what cannot be read is
  /// left to whoever needs it. No latch is held.
  void prefetch(std::span<const LargeValueDescriptor> values) const;

  /// Reads every block of a value that is known to be current and throws Error corruption naming
  /// file, block, page and fault of the first that is not as it should be.
  void verify(const LargeValueDescriptor& value) const;

  /// Gives the value's pages back; they may be reused at once (invariant 2). Waits for a write of
  /// what waits, if that is under way. Throws
  /// corruption, and frees nothing, if some page is not in use or a map page: the leaf is wrong. (A
  /// forged descriptor of pages in use by others is noticed by who walks all pages, not here.)
  void free(const LargeValueDescriptor& value);

 private:
  struct Piece;

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

/// A value on its way to disk. Destroyed before finish(), or after an error, it leaves nothing
/// behind.
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

  /// As finish(), of a small value that may be written later.
  [[nodiscard]] LargeValueDescriptor finish_for_commit();

  /// Bytes that are still to be appended.
  [[nodiscard]] std::uint64_t missing_bytes() const noexcept {
    return value_.size_bytes() - appended_bytes_;
  }

 private:
  friend class LargeValueStore;
  Writer(LargeValueStore& store, std::uint64_t size_bytes, ValueStamp stamp);

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
  LargeValueDescriptor value_;        ///< its pages are ours until finished
  std::uint64_t appended_bytes_ = 0;  ///< of the value, those in the buffer included
  std::uint32_t first_block_ = 0;     ///< number of the block in the buffer's first image
};

}  // namespace palimpsest::btree
