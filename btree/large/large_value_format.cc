#include "btree/large/large_value_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "palimpsest/error.h"

#include "base/check.h"

namespace palimpsest::btree {
namespace {

using buffer::PageRun;

constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 63;

/// Whether the run could lie in some file.
bool is_possible(const PageRun& run, std::uint32_t page_size) noexcept {
  const std::uint64_t pages_max = kFileBytesMax / page_size;
  const std::uint64_t first = raw(run.first);
  return run.pages != 0 && first != 0 && first < pages_max && run.pages <= pages_max - first;
}

bool overlap(const PageRun& a, const PageRun& b) noexcept {
  return raw(a.first) < raw(b.first) + b.pages && raw(b.first) < raw(a.first) + a.pages;
}

std::uint64_t pages_of(std::span<const PageRun> runs) noexcept {
  std::uint64_t pages = 0;
  for (const PageRun& run : runs) {
    pages += run.pages;
  }
  return pages;
}

ExtentBlockHeader block_header_of(ConstBytes page) noexcept {
  ExtentBlockHeader header{};
  std::memcpy(&header, page.data() + sizeof(buffer::PageHeader), sizeof(header));
  return header;
}

}  // namespace

std::string_view name_of(DescriptorFault fault) noexcept {
  switch (fault) {
    case DescriptorFault::none: return "none";
    case DescriptorFault::length: return "length";
    case DescriptorFault::version: return "version";
    case DescriptorFault::reserved: return "reserved bytes";
    case DescriptorFault::run_count: return "number of runs";
    case DescriptorFault::size: return "size";
    case DescriptorFault::stamp: return "stamp";
    case DescriptorFault::run: return "run outside of the file";
    case DescriptorFault::overlap: return "overlapping runs";
    case DescriptorFault::pages: return "pages do not match size";
  }
  return "unknown";
}

std::string_view name_of(BlockFault fault) noexcept {
  switch (fault) {
    case BlockFault::none: return "none";
    case BlockFault::type: return "page type";
    case BlockFault::stamp: return "stamp";
    case BlockFault::number: return "block number";
    case BlockFault::length: return "payload length";
    case BlockFault::reserved: return "reserved bytes";
  }
  return "unknown";
}

LargeValueDescriptor LargeValueDescriptor::make(std::uint64_t size_bytes, ValueStamp stamp,
                                                std::span<const PageRun> runs,
                                                std::uint32_t page_size) {
  check(runs.size() <= kLargeValueRunsMax, "a value has few runs");
  LargeValueDescriptor made;
  made.size_bytes_ = size_bytes;
  made.stamp_ = stamp;
  made.run_count_ = static_cast<std::uint32_t>(runs.size());
  std::copy(runs.begin(), runs.end(), made.runs_.begin());
  check(made.fault(page_size) == DescriptorFault::none, "a descriptor's runs hold its value");
  return made;
}

DescriptorFault LargeValueDescriptor::judge(ByteView bytes, std::uint32_t page_size) noexcept {
  LargeValueDescriptor parsed;
  const DescriptorFault unreadable = parsed.parse(bytes);
  return unreadable != DescriptorFault::none ? unreadable : parsed.fault(page_size);
}

LargeValueDescriptor LargeValueDescriptor::decode(ByteView bytes, std::uint32_t page_size) {
  LargeValueDescriptor parsed;
  DescriptorFault fault = parsed.parse(bytes);
  if (fault == DescriptorFault::none) {
    fault = parsed.fault(page_size);
  }
  if (fault == DescriptorFault::version) {
    std::uint16_t version = 0;
    std::memcpy(&version, bytes.data(), sizeof(version));
    throw Error(ErrorCode::unsupported_version,
                fmt::format("descriptor of a large value has format {}, this build knows {}",
                            version, kDescriptorVersion));
  }
  if (fault != DescriptorFault::none) {
    throw Error(
        ErrorCode::corruption,
        fmt::format("the descriptor of a large value ({} bytes) is damaged: {}; it contains: {}",
                    bytes.size(), name_of(fault), print_descriptor(parsed)));
  }
  return parsed;
}

DescriptorFault LargeValueDescriptor::parse(ByteView bytes) noexcept {
  DescriptorHeader header{};
  if (bytes.size() < sizeof(header)) {
    return DescriptorFault::length;
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != kDescriptorVersion) {
    return DescriptorFault::version;
  }
  if (header.reserved != 0) {
    return DescriptorFault::reserved;
  }
  size_bytes_ = header.size_bytes;
  stamp_ = header.stamp;
  if (header.run_count == 0 || header.run_count > kLargeValueRunsMax) {
    return DescriptorFault::run_count;
  }
  if (bytes.size() != sizeof(header) + header.run_count * kDescriptorRunBytes) {
    return DescriptorFault::length;
  }
  run_count_ = header.run_count;
  const char* from = bytes.data() + sizeof(header);
  for (PageRun& run : std::span(runs_).first(run_count_)) {
    std::memcpy(&run.first, from, sizeof(run.first));
    std::memcpy(&run.pages, from + sizeof(run.first), sizeof(run.pages));
    from += kDescriptorRunBytes;
  }
  return DescriptorFault::none;
}

DescriptorFault LargeValueDescriptor::fault(std::uint32_t page_size) const noexcept {
  if (run_count_ == 0) {
    return DescriptorFault::run_count;
  }
  if (size_bytes_ == 0 || size_bytes_ > kLargeValueBytesMax) {
    return DescriptorFault::size;
  }
  if (stamp_.open_count == 0 || stamp_.number == 0) {
    return DescriptorFault::stamp;
  }
  return fault_of_runs(page_size);
}

DescriptorFault LargeValueDescriptor::fault_of_runs(std::uint32_t page_size) const noexcept {
  for (const PageRun& run : runs()) {
    if (!is_possible(run, page_size)) {
      return DescriptorFault::run;
    }
  }
  for (std::size_t i = 1; i < run_count_; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (overlap(runs_[i], runs_[j])) {
        return DescriptorFault::overlap;
      }
    }
  }
  return pages_of(runs()) == extent_blocks(size_bytes_, page_size) ? DescriptorFault::none
                                                                   : DescriptorFault::pages;
}

EncodedDescriptor LargeValueDescriptor::encode() const noexcept {
  const DescriptorHeader header{.version = kDescriptorVersion,
                                .run_count = static_cast<std::uint16_t>(run_count_),
                                .reserved = 0,
                                .size_bytes = size_bytes_,
                                .stamp = stamp_};
  EncodedDescriptor encoded;
  std::memcpy(encoded.bytes_.data(), &header, sizeof(header));
  encoded.size_ = sizeof(header);
  for (const PageRun& run : runs()) {
    char* to = encoded.bytes_.data() + encoded.size_;
    std::memcpy(to, &run.first, sizeof(run.first));
    std::memcpy(to + sizeof(run.first), &run.pages, sizeof(run.pages));
    encoded.size_ += kDescriptorRunBytes;
  }
  return encoded;
}

std::uint32_t LargeValueDescriptor::block_count() const noexcept {
  return static_cast<std::uint32_t>(pages_of(runs()));
}

PageId LargeValueDescriptor::page_of(std::uint32_t block) const noexcept {
  std::uint32_t rest = block;
  for (const PageRun& run : runs()) {
    if (rest < run.pages) {
      return PageId{raw(run.first) + rest};
    }
    rest -= run.pages;
  }
  check(false, "a block of a value is one of its blocks");
  return kNoPage;
}

std::uint32_t payload_bytes_of(const LargeValueDescriptor& value, std::uint32_t block,
                               std::uint32_t page_size) noexcept {
  const std::uint64_t payload = extent_payload_bytes(page_size);
  const std::uint64_t begin = block * payload;
  PALIMPSEST_DEBUG_CHECK(begin < value.size_bytes(), "a block of a value holds some of it");
  return static_cast<std::uint32_t>(std::min(payload, value.size_bytes() - begin));
}

BlockFault judge_block(ConstBytes page, const LargeValueDescriptor& value,
                       std::uint32_t block) noexcept {
  if (buffer::header_of(page).type != buffer::PageType::extent_block) {
    return BlockFault::type;
  }
  const ExtentBlockHeader header = block_header_of(page);
  if (header.stamp != value.stamp()) {
    return BlockFault::stamp;
  }
  if (header.block_number != block) {
    return BlockFault::number;
  }
  if (header.payload_bytes !=
      payload_bytes_of(value, block, static_cast<std::uint32_t>(page.size()))) {
    return BlockFault::length;
  }
  return header.reserved == 0 ? BlockFault::none : BlockFault::reserved;
}

std::string print_descriptor(const LargeValueDescriptor& value) {
  std::string text = fmt::format("value {}.{} of {} bytes in pages", value.stamp().open_count,
                                 value.stamp().number, value.size_bytes());
  for (const PageRun& run : value.runs()) {
    text += fmt::format(" {}+{}", raw(run.first), run.pages);
  }
  return text;
}

std::string print_extent_block(ConstBytes page) {
  if (page.size() < kExtentPayloadOffset) {
    return fmt::format("no extent block: {} bytes", page.size());
  }
  const ExtentBlockHeader header = block_header_of(page);
  return fmt::format("{} | value {}.{} block {} payload {} reserved {}",
                     buffer::print_page_header(page), header.stamp.open_count, header.stamp.number,
                     header.block_number, header.payload_bytes, header.reserved);
}

}  // namespace palimpsest::btree
