// The first 64 KiB of the page file: what a reader must know before it knows the page size.
//
// Three copies of one 4 KiB block, at offsets 0, 4096 and 8192, are written in turn, the oldest
// first; the valid copy with the highest sequence number is the header. A torn write of one copy
// therefore loses only the change it was about to make. Two copies would do for power failures
// alone. But after a failed sync the newest copy may be seen in the device's cache without being on
// the medium, and then the next write must not go to the only other one.
// Some changes must survive even damage to the newest copy: that there is a catalog, and that the
// file is in use or has become shorter. They are written to all three copies, one after the other:
// otherwise an older copy would be believed.
// The rest of the 64 KiB is zero and reserved. The area is 64 KiB because that is a whole number of
// pages for every page size.
//
// On disk, one copy (fixed-width little-endian; offsets in bytes; 0, 8 and 16 never move between
// format versions):
//    0  8  magic                  "PLMPSEST"
//    8  8  checksum               XXH3-64 of bytes [16, 4096)
//   16  4  format_version         kFileFormatVersion
//   20  4  page_size_bytes        a power of two, 4096 to 65536
//   24  8  compatible_features    unknown bits are harmless and kept
//   32  8  incompatible_features  unknown bits forbid opening
//   40 16  uuid                   names the database
//   56  8  sequence               raised by every header write
//   64  8  open_count             raised by every writable open, durable before it writes a page
//   72  8  batch_floor            write batches below it are no candidates of a restore; new ones
//                                 start at it
//   80  8  ring_offset_bytes      where the double-write ring begins (kHeaderAreaBytes)
//   88  4  ring_batches           slots of the ring, at least 2
//   92  4  batch_pages            pages of a ring slot, at least 64
//   96  8  page_count             the file has at least this many pages; exactly, when clean
//  104  8  catalog_root           root page of the catalog tree, 0 none
//  112  4  clean                  1: closed cleanly, nothing written since; 0: in use or crashed
//  116  .  reserved               zero, up to 4096
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/file_format.h"
#include "base/ids.h"

namespace palimpsest::buffer {

inline constexpr std::uint32_t kFileFormatVersion = 1;
inline constexpr std::size_t kHeaderBlockBytes = 4096;
inline constexpr std::uint32_t kHeaderCopies = 3;
inline constexpr std::size_t kHeaderAreaBytes = 65536;
inline constexpr std::uint64_t kKnownIncompatibleFeatures = 0;
inline constexpr std::uint32_t kRingBatchesMin = 2;
inline constexpr std::uint32_t kRingBatchesMax = 64;
inline constexpr std::uint32_t kBatchPagesMin = 64;
inline constexpr std::uint32_t kBatchPagesMax = 1024;

/// The header's fields, as they stand in one block.
struct FileHeader {
  std::array<char, 8> magic;
  std::uint64_t checksum;
  std::uint32_t format_version;
  std::uint32_t page_size_bytes;
  std::uint64_t compatible_features;
  std::uint64_t incompatible_features;
  Uuid uuid;
  std::uint64_t sequence;
  std::uint64_t open_count;
  std::uint64_t batch_floor;
  std::uint64_t ring_offset_bytes;
  std::uint32_t ring_batches;
  std::uint32_t batch_pages;
  std::uint64_t page_count;
  PageId catalog_root;
  std::uint32_t clean;
  std::uint32_t reserved;

  /// First page behind header area and ring: the first space map page.
  [[nodiscard]] std::uint64_t first_page() const noexcept {
    return ring_offset_bytes / page_size_bytes + std::uint64_t{ring_batches} * batch_pages;
  }
};

static_assert(sizeof(FileHeader) == 120);
static_assert(offsetof(FileHeader, checksum) == 8);
static_assert(offsetof(FileHeader, format_version) == 16);
static_assert(offsetof(FileHeader, compatible_features) == 24);
static_assert(offsetof(FileHeader, uuid) == 40);
static_assert(offsetof(FileHeader, sequence) == 56);
static_assert(offsetof(FileHeader, batch_floor) == 72);
static_assert(offsetof(FileHeader, ring_batches) == 88);
static_assert(offsetof(FileHeader, page_count) == 96);
static_assert(offsetof(FileHeader, catalog_root) == 104);
static_assert(offsetof(FileHeader, clean) == 112);

/// A header with the magic and this build's format version, all else zero.
[[nodiscard]] FileHeader make_file_header() noexcept;

/// Writes the sealed block (checksum included) into `block`, of kHeaderBlockBytes.
void encode_file_header(const FileHeader& header, MutableBytes block) noexcept;

/// What a header block looks like before its fields are validated.
enum class HeaderBlock : std::uint8_t { valid = 1, empty, foreign, damaged };

/// Reads a block of kHeaderBlockBytes; `header` is filled in unless the block is empty.
[[nodiscard]] HeaderBlock decode_file_header(ConstBytes block, FileHeader& header) noexcept;

/// The newest valid copy of the header, and the copy to write next: the oldest or a damaged one.
struct FoundHeader {
  FileHeader header;
  std::uint32_t next_copy = 0;  ///< below kHeaderCopies
};

/// Finds the header in the first kHeaderCopies blocks of a file. Throws Error not_a_database or
/// corruption, naming the file, when there is none.
[[nodiscard]] FoundHeader find_file_header(ConstBytes blocks, std::string_view file);

/// Refuses a header with fields that this build cannot use, or that contradict each other or the
/// file's size: Error unsupported_version, page_size_mismatch or corruption. Reads no other byte of
/// the file.
void validate_file_header(const FileHeader& header, std::uint64_t file_size_bytes,
                          std::optional<std::uint32_t> page_size_expected, std::string_view file);

/// The header as text, several lines, for debuggers and `check`.
[[nodiscard]] std::string print_file_header(const FileHeader& header);

}  // namespace palimpsest::buffer
