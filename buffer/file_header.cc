#include "buffer/file_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "palimpsest/error.h"

#include "base/checksum.h"
#include "buffer/page_header.h"

namespace palimpsest::buffer {

static_assert(std::endian::native == std::endian::little,
              "headers are copied as they stand in memory");

namespace {

constexpr std::array<char, 8> kMagic{'P', 'L', 'M', 'P', 'S', 'E', 'S', 'T'};
constexpr std::size_t kChecksumEnd = 16;

std::uint64_t block_checksum(ConstBytes block) noexcept {
  return checksum(block.subspan(kChecksumEnd, kHeaderBlockBytes - kChecksumEnd));
}

[[noreturn]] void throw_damaged(std::string_view file, std::string_view what) {
  throw Error(ErrorCode::corruption, fmt::format("page file \"{}\": header: {}", file, what));
}

void validate_geometry(const FileHeader& header, std::string_view file) {
  if (!std::has_single_bit(header.page_size_bytes) || header.page_size_bytes < kPageSizeMin ||
      header.page_size_bytes > kPageSizeMax) {
    throw_damaged(file, fmt::format("page size {} is not a power of two from {} to {}",
                                    header.page_size_bytes, kPageSizeMin, kPageSizeMax));
  }
  if (header.ring_offset_bytes != kHeaderAreaBytes) {
    throw_damaged(file, fmt::format("the double-write ring begins at {}, not at {}",
                                    header.ring_offset_bytes, kHeaderAreaBytes));
  }
  if (header.ring_batches < kRingBatchesMin || header.ring_batches > kRingBatchesMax ||
      header.batch_pages < kBatchPagesMin || header.batch_pages > kBatchPagesMax) {
    throw_damaged(
        file, fmt::format("a ring of {} batches of {} pages is outside {} to {} of {} to {}",
                          header.ring_batches, header.batch_pages, kRingBatchesMin, kRingBatchesMax,
                          kBatchPagesMin, kBatchPagesMax));
  }
}

void validate_sizes(const FileHeader& header, std::uint64_t file_size_bytes,
                    std::string_view file) {
  if (header.page_count < header.first_page()) {
    throw_damaged(file, fmt::format("page count {} ends before the first page, {}",
                                    header.page_count, header.first_page()));
  }
  if (header.page_count > file_size_bytes / header.page_size_bytes) {
    throw Error(ErrorCode::corruption,
                fmt::format("page file \"{}\" is truncated: its header counts {} pages of {} "
                            "bytes, the file has {} bytes",
                            file, header.page_count, header.page_size_bytes, file_size_bytes));
  }
  if (header.catalog_root != kNoPage && (raw(header.catalog_root) < header.first_page() ||
                                         raw(header.catalog_root) >= header.page_count)) {
    // Unclean files may be longer than the header knows.
    if (header.clean != 0 || raw(header.catalog_root) < header.first_page()) {
      throw_damaged(
          file, fmt::format("catalog root {} lies outside pages {} to {}", raw(header.catalog_root),
                            header.first_page(), header.page_count));
    }
  }
  if (header.clean > 1) {
    throw_damaged(file, fmt::format("clean flag {} is neither 0 nor 1", header.clean));
  }
  if (header.sequence > kCounterMax || header.open_count > kCounterMax ||
      header.batch_floor > kCounterMax) {
    throw_damaged(file,
                  fmt::format("sequence {}, open count {} or batch floor {} exceeds {}",
                              header.sequence, header.open_count, header.batch_floor, kCounterMax));
  }
}

}  // namespace

FileHeader make_file_header() noexcept {
  FileHeader header{};
  header.magic = kMagic;
  header.format_version = kFileFormatVersion;
  return header;
}

void encode_file_header(const FileHeader& header, MutableBytes block) noexcept {
  std::fill(block.begin(), block.end(), std::byte{0});
  std::memcpy(block.data(), &header, sizeof(header));
  const std::uint64_t sum = block_checksum(block);
  std::memcpy(block.data() + offsetof(FileHeader, checksum), &sum, sizeof(sum));
}

HeaderBlock decode_file_header(ConstBytes block, FileHeader& header) noexcept {
  if (std::all_of(block.begin(), block.end(), [](std::byte b) { return b == std::byte{0}; })) {
    return HeaderBlock::empty;
  }
  std::memcpy(&header, block.data(), sizeof(header));
  if (header.magic != kMagic) {
    return HeaderBlock::foreign;
  }
  return header.checksum == block_checksum(block) ? HeaderBlock::valid : HeaderBlock::damaged;
}

FoundHeader find_file_header(ConstBytes blocks, std::string_view file) {
  std::optional<FileHeader> newest;
  std::uint32_t next_copy = 0;
  std::uint64_t lowest_sequence = std::numeric_limits<std::uint64_t>::max();
  bool any_bytes = false;
  std::string damage;
  for (std::uint32_t copy = 0; copy < kHeaderCopies; ++copy) {
    const ConstBytes block = blocks.subspan(copy * kHeaderBlockBytes, kHeaderBlockBytes);
    FileHeader header{};
    const HeaderBlock state = decode_file_header(block, header);
    any_bytes = any_bytes || state != HeaderBlock::empty;
    const std::uint64_t sequence = state == HeaderBlock::valid ? header.sequence : 0;
    if (sequence < lowest_sequence) {
      lowest_sequence = sequence;
      next_copy = copy;
    }
    if (state == HeaderBlock::valid && (!newest || sequence > newest->sequence)) {
      newest = header;
    }
    if (state == HeaderBlock::damaged) {
      damage += fmt::format("; copy {}: checksum stored {:#018x}, computed {:#018x}", copy,
                            header.checksum, block_checksum(block));
    }
  }
  if (newest) {
    return {*newest, next_copy};
  }
  if (!damage.empty()) {
    throw_damaged(file, fmt::format("neither copy is whole{}", damage));
  }
  throw Error(ErrorCode::not_a_database,
              fmt::format("page file \"{}\" {}", file,
                          any_bytes ? "was not written by Palimpsest: it does not begin with the "
                                      "magic bytes PLMPSEST"
                                    : "has an empty header: its creation was never completed"));
}

void validate_file_header(const FileHeader& header, std::uint64_t file_size_bytes,
                          std::optional<std::uint32_t> page_size_expected, std::string_view file) {
  if (header.format_version != kFileFormatVersion) {
    throw Error(ErrorCode::unsupported_version,
                fmt::format("page file \"{}\" has format version {}; this build reads version {}",
                            file, header.format_version, kFileFormatVersion));
  }
  const std::uint64_t unknown = header.incompatible_features & ~kKnownIncompatibleFeatures;
  if (unknown != 0) {
    throw Error(ErrorCode::unsupported_version,
                fmt::format("page file \"{}\" uses features {:#x}; this build knows {:#x}", file,
                            header.incompatible_features, kKnownIncompatibleFeatures));
  }
  validate_geometry(header, file);
  if (page_size_expected && *page_size_expected != header.page_size_bytes) {
    throw Error(ErrorCode::page_size_mismatch,
                fmt::format("page file \"{}\" has pages of {} bytes; {} were asked for", file,
                            header.page_size_bytes, *page_size_expected));
  }
  validate_sizes(header, file_size_bytes, file);
}

std::string print_file_header(const FileHeader& header) {
  std::string uuid;
  for (const std::uint8_t byte : header.uuid) {
    uuid += fmt::format("{:02x}", byte);
  }
  return fmt::format(
      "page file {}: format {}, features {:#x} (compatible) {:#x} (incompatible)\n"
      "  pages: {} of {} bytes, the first {}\n"
      "  ring: {} batches of {} pages at byte {}, batch floor {}\n"
      "  catalog root {}, sequence {}, opened {} times, {}\n",
      uuid, header.format_version, header.compatible_features, header.incompatible_features,
      header.page_count, header.page_size_bytes,
      header.page_size_bytes == 0 ? 0 : header.first_page(), header.ring_batches,
      header.batch_pages, header.ring_offset_bytes, header.batch_floor, raw(header.catalog_root),
      header.sequence, header.open_count, header.clean == 1 ? "clean" : "not clean");
}

}  // namespace palimpsest::buffer
