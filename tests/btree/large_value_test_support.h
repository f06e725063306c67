// A page file with its writer, space map and large-value store, and values with recognizable bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/io/device.h"
#include "base/random.h"
#include "btree/large/large_value_store.h"
#include "buffer/buffer_pool.h"
#include "buffer/page_file.h"
#include "buffer/page_kinds.h"
#include "buffer/page_writer.h"
#include "buffer/space_map.h"
#include "wal/log.h"

namespace palimpsest::btree::test {

inline constexpr const char* kFileName = "pages";

/// One page file and everything below a store.
class LargeValueFile {
 public:
  explicit LargeValueFile(std::unique_ptr<buffer::PageFile> opened)
      : file(std::move(opened)), writer(*file), space(*file), store(*file, writer, space) {}
  /// With a pool of so many frames, and a log whose rounds the test runs.
  LargeValueFile(std::unique_ptr<buffer::PageFile> opened, std::uint32_t frames, wal::Log& log)
      : file(std::move(opened)),
        writer(*file),
        space(*file),
        pool(std::in_place, *file, writer, space, kinds,
             buffer::BufferPoolOptions{
                 .memory_bytes = buffer::BufferPool::memory_bytes_min(file->page_size_bytes()) /
                                 buffer::BufferPool::kFramesMin * frames}),
        store(*file, writer, space, &*pool, &log) {}

  /// `more`: what the constructors take besides the file.
  template <class... More>
  static std::unique_ptr<LargeValueFile> create(io::Device& device, std::uint32_t page_size,
                                                More&&... more) {
    buffer::PageFileOptions options;
    options.page_size_bytes = page_size;
    options.batch_pages = buffer::kBatchPagesMin;
    return std::make_unique<LargeValueFile>(buffer::PageFile::create(device, kFileName, options),
                                            std::forward<More>(more)...);
  }

  static std::unique_ptr<LargeValueFile> open(io::Device& device,
                                              const buffer::OpenOptions& options = {}) {
    return std::make_unique<LargeValueFile>(buffer::PageFile::open(device, kFileName, options));
  }

  void close() {
    space.flush(writer);
    writer.harden();
    file->close_cleanly();
  }

  [[nodiscard]] std::uint64_t allocated() const { return space.counts().allocated; }

  std::unique_ptr<buffer::PageFile> file;
  buffer::PageWriter writer;
  buffer::SpaceMap space;
  buffer::PageKinds kinds;
  std::optional<buffer::BufferPool> pool;
  LargeValueStore store;
};

/// Bytes [offset, offset + out.size()) of the value that belongs to `seed`: each word encodes seed
/// and offset, so that no piece of one value passes for a piece of another.
inline void fill_pattern(std::uint64_t seed, std::uint64_t offset_bytes, std::span<char> out) {
  while (!out.empty()) {
    std::uint64_t state = seed * 0x9e3779b97f4a7c15U + offset_bytes / 8;
    const std::uint64_t word = splitmix64(state);
    const std::size_t skip = offset_bytes % 8;
    const std::size_t taken = std::min(out.size(), 8 - skip);
    std::memcpy(out.data(), reinterpret_cast<const char*>(&word) + skip, taken);
    out = out.subspan(taken);
    offset_bytes += taken;
  }
}

inline std::string pattern(std::uint64_t seed, std::uint64_t size_bytes,
                           std::uint64_t offset_bytes = 0) {
  std::string bytes(size_bytes, '\0');
  fill_pattern(seed, offset_bytes, bytes);
  return bytes;
}

/// A piece read into a string.
inline ReadOutcome read_piece(const LargeValueStore& store, const LargeValueDescriptor& value,
                              std::uint64_t offset_bytes, std::uint64_t size_bytes,
                              std::string& out) {
  out.assign(size_bytes, '\x5a');
  return store.read(value, offset_bytes, std::as_writable_bytes(std::span(out)));
}

}  // namespace palimpsest::btree::test
