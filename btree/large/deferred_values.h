// Small large values of transactions that are not in the file yet; the next log round writes them
// together. So pages that lie side by side are one transfer, and no owner waits for its own write.
//
// Invariants: (1) a value is here from before any reader can find its descriptor until its pages
//                 hold it: a reader that has found the descriptor, and does not find the value
//                 here, reads the file.
//             (2) the log is told (Log::need_pages()) between add() and the first record that
//                 names the value; a round that has captured such a record writes all values here
//                 before the record. So a later record that frees the pages frees pages that no
//                 thread is about to write once that record is durable; and they are not reused
//                 before (SpaceMap::free_when_durable()). Once the log has failed, no such record
//                 becomes durable, and no page freed by the leaf of a waiting value becomes free:
//                 its GSN is not below that of the record that names the value.
//             (3) pages that are freed at once are dropped here before.
//             (4) memory is bounded: an owner that finds no room writes all values itself.
//             (5) writing allocates nothing here: a round that fails fails the log.
// Latching: `writing_` is held across I/O, by log rounds, which hold the log's turn, and by owners,
//           which hold no latch but their transaction's; no thread waits for the log under it.
//           `mutex_` is a leaf, not held during I/O.
// Thread-safety: all functions, from any thread.
// Failure: a value that could not be written stays here, and the next caller that writes all values
//          writes it; if that was a round, the log has failed.
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
  /// The page writer outlives it. Holds at most `bytes_max` of images, plus one value per thread,
  /// and copies of some. Throws bad_alloc.
  DeferredValues(buffer::PageWriter& writer, std::uint32_t page_size_bytes, std::size_t bytes_max);
  DeferredValues(const DeferredValues&) = delete;
  DeferredValues& operator=(const DeferredValues&) = delete;

  /// Whether values of that many blocks may be added.
  [[nodiscard]] bool takes(std::uint32_t blocks) const noexcept {
    return blocks <= kBlocksMax && std::size_t{blocks} * page_size_ <= bytes_max_ / 4;
  }

  /// Takes the images of a value's blocks, which are complete except for what PageWriter seals.
  /// Writes all values here if there is no room; throws what PageWriter::write_fresh() throws, or
  /// bad_alloc, and has taken nothing then.
  void add(const LargeValueDescriptor& value, AlignedMemory images);

  /// Calls take(page) with the image of a block if the value is here, and returns whether it was.
  [[nodiscard]] bool read(const LargeValueDescriptor& value, std::uint32_t block,
                          FunctionRef<void(const std::byte*)> take) const;

  /// Whether the value is here.
  [[nodiscard]] bool has(const LargeValueDescriptor& value) const;

  /// Drops a value that no record names: it is not written any more. Waits for a write of it.
  void drop(const LargeValueDescriptor& value) noexcept;

  /// On return, every value added before the call is in the file, or was dropped; it is durable
  /// after the next sync of the file. Throws what PageWriter::write_fresh() throws the second time.
  void write_all();

 private:
  static constexpr std::uint32_t kBlocksMax = 16;

  struct Value {
    LargeValueDescriptor descriptor;
    AlignedMemory images;
    bool is_being_written = false;  ///< then it is not moved or erased
  };
  using Values = std::map<PageId, Value>;  ///< by first page, so in file order

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
  /// Size of values_; readers that have found a descriptor load it without the mutex (1).
  std::atomic<std::size_t> count_{0};
};

}  // namespace palimpsest::btree
