// Large values that are made and do not lie in the file yet: small ones, of transactions, which the
// next round of the log writes, all together. Pages that lie side by side are one transfer then,
// and no owner waits for his own.
//
// Invariants: (1) a value is here from before anybody can find its descriptor until its pages hold
//                 it: whoever does not find it here, having found the descriptor, reads the file.
//             (2) the log is told (Log::need_pages()) between add() and the first record that names
//                 the value; a round that has captured such a record writes all that is here before
//                 the record. So whoever gives the pages back by a record, which is later, gives
//                 back pages that nobody is about to write once that record is durable; and they
//                 are not used again before (SpaceMap::free_when_durable()). Once the log has
//                 failed, no such record becomes durable, and no page that a waiting value's leaf
//                 gives back is free: its GSN is not below that of the record that names the value.
//             (3) pages that are given back at once are dropped here before.
//             (4) what is here is bounded: whoever finds no room writes all of it himself.
//             (5) who writes allocates nothing here: a round that fails fails the log.
// Latching: `writing_` is held across I/O, by rounds of the log, which have the log's turn, and by
//           owners, who hold no latch but their transaction's; nobody waits for the log under it.
//           `mutex_` is a leaf, not held during I/O.
// Thread-safety: all functions, from any thread.
// Failure: what could not be written stays here, and is written by the next one who writes all; if
//          that was a round, the log has failed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/aligned_memory.h"
#include "base/ids.h"
#include "base/io/device.h"
#include "btree/large/large_value_format.h"
#include "buffer/page_writer.h"

namespace palimpsest::btree {

class DeferredValues {
 public:
  /// The page writer outlives it. At most `bytes_max` of images, but for one value of each thread,
  /// and copies of some. Throws bad_alloc.
  DeferredValues(buffer::PageWriter& writer, std::uint32_t page_size_bytes, std::size_t bytes_max);
  DeferredValues(const DeferredValues&) = delete;
  DeferredValues& operator=(const DeferredValues&) = delete;

  /// Whether values of so many blocks may be added.
  [[nodiscard]] bool takes(std::uint32_t blocks) const noexcept {
    return blocks <= kBlocksMax && std::size_t{blocks} * page_size_ <= bytes_max_ / 4;
  }

  /// Takes the images of a value's blocks, which are complete but for what PageWriter seals. Writes
  /// what is here if there is no room; throws what PageWriter::write_fresh() throws, or bad_alloc,
  /// and has taken nothing then.
  void add(const LargeValueDescriptor& value, AlignedMemory images);

  /// Calls take(page) with the image of a block if the value is here, and returns whether it was.
  [[nodiscard]] bool read(const LargeValueDescriptor& value, std::uint32_t block,
                          FunctionRef<void(const std::byte*)> take) const;

  /// Whether the value is here.
  [[nodiscard]] bool has(const LargeValueDescriptor& value) const;

  /// Nobody names the value: it is not written any more. Waits for a write of it.
  void drop(const LargeValueDescriptor& value) noexcept;

  /// All that was added before the call lies in the file on return, or was dropped; it is durable
  /// after the next sync of that. Throws what PageWriter::write_fresh() throws, the second time.
  void write_all();

 private:
  static constexpr std::uint32_t kBlocksMax = 16;

  struct Value {
    LargeValueDescriptor descriptor;
    AlignedMemory images;
    bool is_being_written = false;  ///< it stays where it is meanwhile
  };
  using Values = std::map<PageId, Value>;  ///< by their first pages, so in the order of the file

  [[nodiscard]] static PageId key_of(const LargeValueDescriptor& value) noexcept {
    return value.runs().front().first;
  }
  [[nodiscard]] Values::const_iterator find(const LargeValueDescriptor& value) const;
  void make_room(std::size_t bytes);
  void write_what_is_here();
  void begin_writing() noexcept;
  void end_writing(bool written) noexcept;
  [[nodiscard]] const Value* next_to_write(PageId after) const;
  void write_copies();
  void write_some();

  buffer::PageWriter& writer_;
  const std::uint32_t page_size_;
  const std::size_t bytes_max_;
  std::mutex writing_;
  // Protected by writing_:
  AlignedMemory copies_;                  ///< of images, side by side
  std::vector<buffer::PageImage> pages_;  ///< in copies_
  std::vector<io::Transfer> transfers_;   ///< scratch

  mutable std::mutex mutex_;
  std::condition_variable written_;
  // Protected by mutex_:
  Values values_;
  std::size_t bytes_ = 0;  ///< of their images
  /// As values_; read without the mutex by those who have found a descriptor (1).
  std::atomic<std::size_t> count_{0};
};

}  // namespace palimpsest::btree
