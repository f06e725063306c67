// One io_uring: a batch of transfers is queued, submitted and awaited by one system call.
//
// No completion is lost: never more requests are in flight than the completion queue can hold. If
// the kernel persistently refuses requests, the ring is broken and must be destroyed, because
// queued requests cannot be withdrawn; closing the ring drops them.
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

/// A file as rings see it: a slot in their tables of registered files, and the id of the file
/// there.
struct RingFile {
  int descriptor = -1;
  std::size_t slot = kNone;
  std::uint64_t id = 0;  ///< never reused

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

  /// A new ring, or null and the errno.
  [[nodiscard]] static std::unique_ptr<Ring> create(int& error);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Runs at most kDepth requests and returns when none is in flight any more. A request that the
  /// kernel did not take ends with -EAGAIN.
  void run(const RingFile& file, std::span<RingRequest> requests) noexcept;

  /// Unregisters files that have left their slots, and registers or unregisters regions.
  void adopt(const FileIds& files, const Regions& regions) noexcept;

  [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }
  /// Whether every region passed to adopt() could be registered.
  [[nodiscard]] bool has_all_regions() const noexcept { return has_all_regions_; }

  /// The pool's change count when adopt() was last called; maintained by the pool.
  std::uint64_t seen_change = 0;

 private:
  Ring() = default;

  [[nodiscard]] int open() noexcept;
  [[nodiscard]] bool has_registered(const RingFile& file) noexcept;
  [[nodiscard]] int region_of(MutableBytes data) const noexcept;
  void queue(const RingFile& file, bool is_registered, RingRequest& request,
             std::uint64_t index) noexcept;
  [[nodiscard]] std::size_t reap(std::span<RingRequest> requests) noexcept;
  /// Waits for at least `count` completions and takes them; returns how many.
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
