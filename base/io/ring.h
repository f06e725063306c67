// One io_uring: a batch of transfers is queued, submitted and awaited by one system call.
//
// Completions cannot be lost: no more requests are in flight than the completion queue has room
// for. A ring that the kernel keeps from taking requests is broken and must be given up, because
// queued requests cannot be taken back; closing it drops them.
// Thread-safety: none; RingPool lends a ring to one thread at a time.
#pragma once

#include <liburing.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.h"

namespace palimpsest::io {

/// A file as rings see it: a place in their tables of registered files, and who is there.
struct RingFile {
  int descriptor = -1;
  std::size_t slot = kNone;
  std::uint64_t id = 0;  ///< never used twice

  static constexpr std::size_t kNone = ~std::size_t{0};
};

/// Memory registered with rings; id 0 means none.
struct RingRegion {
  std::uint64_t id = 0;
  MutableBytes memory;
};

/// One request.
struct RingRequest {
  bool is_write = false;
  bool is_atomic = false;
  std::uint64_t offset_bytes = 0;
  MutableBytes data;
  std::int64_t result = 0;  ///< out: bytes or a negative errno
};

class Ring {
 public:
  static constexpr unsigned kDepth = 128;
  static constexpr std::size_t kFileSlots = 64;
  static constexpr std::size_t kRegions = 8;
  using FileIds = std::array<std::uint64_t, kFileSlots>;
  using Regions = std::array<RingRegion, kRegions>;

  /// A new ring, or nothing and the errno.
  [[nodiscard]] static std::unique_ptr<Ring> create(int& error);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Runs at most kDepth requests and returns when none is in flight any more. A request that the
  /// kernel did not take ends with -EAGAIN.
  void run(const RingFile& file, std::span<RingRequest> requests) noexcept;

  /// Forgets files that are not at their place any more, and adopts or forgets regions.
  void adopt(const FileIds& files, const Regions& regions) noexcept;

  [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }
  /// Whether every region given to adopt() could be registered.
  [[nodiscard]] bool has_all_regions() const noexcept { return has_all_regions_; }

  /// The state of the pool's tables that adopt() was last called with; kept by the pool.
  std::uint64_t seen_change = 0;

 private:
  Ring() = default;

  [[nodiscard]] int open() noexcept;
  [[nodiscard]] bool has_registered(const RingFile& file) noexcept;
  [[nodiscard]] int region_of(MutableBytes data) const noexcept;
  void queue(const RingFile& file, bool is_registered, RingRequest& request,
             std::uint64_t index) noexcept;
  [[nodiscard]] std::size_t reap(std::span<RingRequest> requests) noexcept;
  /// Waits for `count` completions and takes these or more; returns how many.
  [[nodiscard]] std::size_t wait_for(std::span<RingRequest> requests, std::size_t count) noexcept;

  io_uring ring_{};
  FileIds files_{};
  Regions regions_{};
  std::size_t regions_count_ = 0;  ///< usable ones
  bool takes_files_ = false;
  bool takes_regions_ = false;
  bool has_all_regions_ = true;
  bool is_broken_ = false;
};

}  // namespace palimpsest::io
