// Large values on disk: the descriptor in the leaf, and the blocks it names.
//
// A value whose record would take more than a quarter page lies in *extent blocks*: whole pages
// outside the buffer pool, in a few runs of neighbouring pages. The leaf holds its *descriptor* as
// the value of a record with the flag kLargeValue. Both are immutable: a new value gets a new
// extent. Every value has a unique *stamp*, never reused in the life of the database. It stands in
// the descriptor and in each block, so a block itself tells whether it is the one that a descriptor
// means.
//
// Why the stamp is not in the page header's gsn field: a GSN promises that the log is durable up to
// there (I-2) and is compared when torn pages are restored. Why there is no checksum of the whole
// value: each block's checksum covers its bytes, its stamp and its number; all blocks of a size
// prove the value.
//
// Invariants: (1) a descriptor object is well-formed: 1 to kLargeValueRunsMax runs of at least one
//                 page, which do not overlap, end below 2^63 bytes, and have exactly as many pages
//                 as the size needs. Whether the file has these pages is checked when they are
//                 read: the file may have been cut since the descriptor was copied from its leaf.
//             (2) a stamp is the file's open count and a number counted since: every writable open
//                 makes a higher open count durable before it writes a page.
//             (3) a block with a given stamp and number is written once.
// Failure: bytes from disk are validated (DescriptorFault, BlockFault) or refused with Error
//          corruption; any bytes are safe.
//
// On disk, descriptor (little-endian; offsets in bytes):
//    0  2  version             kDescriptorVersion
//    2  2  run_count           1 to kLargeValueRunsMax
//    4  4  reserved            zero
//    8  8  size_bytes          1 to kLargeValueBytesMax
//   16  8  stamp.open_count    at least 1
//   24  8  stamp.number        at least 1
//   32 12  runs[run_count]     8 first page, 4 number of pages; in the order of the value
// On disk, extent block (a page of type extent_block):
//    0 64  PageHeader          buffer/page_header.h; gsn, tree_id and write_batch are 0
//   64  8  stamp.open_count    } of the descriptor
//   72  8  stamp.number        }
//   80  4  block_number        0 for the block with the value's first byte
//   84  4  payload_bytes       all there is room for, less only in the last block
//   88  8  reserved            zero
//   96  .  payload             then zeros up to the end of the page
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/node/key_bytes.h"
#include "buffer/page_header.h"
#include "buffer/space_map.h"

namespace palimpsest::btree {

inline constexpr std::uint64_t kLargeValueBytesMax = std::uint64_t{1} << 30;
inline constexpr std::uint32_t kLargeValueRunsMax = 16;
inline constexpr std::uint16_t kDescriptorVersion = 1;
inline constexpr std::size_t kDescriptorRunBytes = 12;

/// Identifies one value for ever (invariant 2).
struct ValueStamp {
  std::uint64_t open_count = 0;
  std::uint64_t number = 0;

  friend bool operator==(const ValueStamp&, const ValueStamp&) = default;
};

/// The fixed part of a descriptor, as it stands on disk.
struct DescriptorHeader {
  std::uint16_t version;
  std::uint16_t run_count;
  std::uint32_t reserved;
  std::uint64_t size_bytes;
  ValueStamp stamp;
};

/// What follows the page header in an extent block.
struct ExtentBlockHeader {
  ValueStamp stamp;
  std::uint32_t block_number;
  std::uint32_t payload_bytes;
  std::uint64_t reserved;
};

static_assert(sizeof(ValueStamp) == 16 && offsetof(ValueStamp, number) == 8);
static_assert(sizeof(DescriptorHeader) == 32 && offsetof(DescriptorHeader, run_count) == 2);
static_assert(offsetof(DescriptorHeader, size_bytes) == 8);
static_assert(offsetof(DescriptorHeader, stamp) == 16);
static_assert(sizeof(ExtentBlockHeader) == 32);
static_assert(offsetof(ExtentBlockHeader, block_number) == 16);
static_assert(offsetof(ExtentBlockHeader, payload_bytes) == 20);
static_assert(offsetof(ExtentBlockHeader, reserved) == 24);

inline constexpr std::size_t kExtentPayloadOffset =
    sizeof(buffer::PageHeader) + sizeof(ExtentBlockHeader);
static_assert(kExtentPayloadOffset == 96);

inline constexpr std::size_t kDescriptorBytesMax =
    sizeof(DescriptorHeader) + kLargeValueRunsMax * kDescriptorRunBytes;
static_assert(key_bytes_max(buffer::kPageSizeMin) + kDescriptorBytesMax <=
                  record_bytes_max(buffer::kPageSizeMin),
              "the longest key and the longest descriptor fit every leaf");

/// Bytes of a value that one block holds.
[[nodiscard]] constexpr std::uint32_t extent_payload_bytes(std::uint32_t page_size) noexcept {
  return page_size - static_cast<std::uint32_t>(kExtentPayloadOffset);
}

/// Blocks of a value of at most kLargeValueBytesMax.
[[nodiscard]] constexpr std::uint32_t extent_blocks(std::uint64_t size_bytes,
                                                    std::uint32_t page_size) noexcept {
  const std::uint32_t payload = extent_payload_bytes(page_size);
  return static_cast<std::uint32_t>((size_bytes + payload - 1) / payload);
}

/// The fault of a descriptor's bytes, in the order of checking.
enum class DescriptorFault : std::uint8_t {
  none = 0,
  length,     ///< shorter or longer than a descriptor of that many runs
  version,    ///< a format this build does not know
  reserved,   ///< reserved bytes that are not zero
  run_count,  ///< no run, or more than kLargeValueRunsMax
  size,       ///< an empty value, or more than kLargeValueBytesMax
  stamp,      ///< a stamp that no value has
  run,        ///< a run without pages, or outside of any file
  overlap,    ///< a page that is in two runs
  pages,      ///< more or less pages than the size needs
};

/// The fault of a block read for a descriptor, in the order of checking.
enum class BlockFault : std::uint8_t {
  none = 0,
  type,      ///< a page of another type
  stamp,     ///< a block of another value
  number,    ///< another block of this value
  length,    ///< not the payload length of a block of this number
  reserved,  ///< reserved bytes that are not zero
};

[[nodiscard]] std::string_view name_of(DescriptorFault fault) noexcept;
[[nodiscard]] std::string_view name_of(BlockFault fault) noexcept;

/// A descriptor's bytes, without an allocation.
class EncodedDescriptor {
 public:
  [[nodiscard]] ByteView view() const noexcept { return {bytes_.data(), size_}; }

 private:
  friend class LargeValueDescriptor;

  std::array<char, kDescriptorBytesMax> bytes_{};
  std::size_t size_ = 0;
};

/// Where a value lies. A value type; two are equal only if they name the same value.
class LargeValueDescriptor {
 public:
  /// For a value just written; aborts on runs that do not hold it.
  [[nodiscard]] static LargeValueDescriptor make(std::uint64_t size_bytes, ValueStamp stamp,
                                                 std::span<const buffer::PageRun> runs,
                                                 std::uint32_t page_size);

  /// Validates a descriptor's bytes; any bytes are safe (but they must not change meanwhile).
  [[nodiscard]] static DescriptorFault judge(ByteView bytes, std::uint32_t page_size) noexcept;

  /// Reads a descriptor; throws Error corruption with the reason, or unsupported_version.
  [[nodiscard]] static LargeValueDescriptor decode(ByteView bytes, std::uint32_t page_size);

  [[nodiscard]] EncodedDescriptor encode() const noexcept;

  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] const ValueStamp& stamp() const noexcept { return stamp_; }
  [[nodiscard]] std::span<const buffer::PageRun> runs() const noexcept {
    return {runs_.data(), run_count_};
  }
  /// Pages of all runs.
  [[nodiscard]] std::uint32_t block_count() const noexcept;
  /// The page that holds a block; `block` is below block_count().
  [[nodiscard]] PageId page_of(std::uint32_t block) const noexcept;

  friend bool operator==(const LargeValueDescriptor&, const LargeValueDescriptor&) = default;

 private:
  LargeValueDescriptor() = default;
  [[nodiscard]] DescriptorFault fault(std::uint32_t page_size) const noexcept;
  [[nodiscard]] DescriptorFault fault_of_runs(std::uint32_t page_size) const noexcept;
  /// Fills in the fields from the bytes, as far as their length and version allow.
  [[nodiscard]] DescriptorFault parse(ByteView bytes) noexcept;

  std::uint64_t size_bytes_ = 0;
  ValueStamp stamp_;
  std::uint32_t run_count_ = 0;
  std::array<buffer::PageRun, kLargeValueRunsMax> runs_{};  ///< zero from run_count_ on
};

/// Bytes of the value in this block.
[[nodiscard]] std::uint32_t payload_bytes_of(const LargeValueDescriptor& value, std::uint32_t block,
                                             std::uint32_t page_size) noexcept;

/// Validates a page that has passed verify_page() as block `block` of a value.
[[nodiscard]] BlockFault judge_block(ConstBytes page, const LargeValueDescriptor& value,
                                     std::uint32_t block) noexcept;

/// For debuggers, error reports and `check`: one line each; print_extent_block takes any page.
[[nodiscard]] std::string print_descriptor(const LargeValueDescriptor& value);
[[nodiscard]] std::string print_extent_block(ConstBytes page);

}  // namespace palimpsest::btree
