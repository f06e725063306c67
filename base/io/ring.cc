#include "base/io/ring.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/check.h"
#include "base/io/direct_io.h"
#include "base/io/own_descriptors.h"

namespace palimpsest::io {
namespace {

// As in linux/io_uring.h; stated here because headers may be older than the running kernel.
constexpr unsigned kSubmitAll = 1U << 7U;    // Linux 5.18: a bad request does not stop the rest
constexpr unsigned kCoopTaskrun = 1U << 8U;  // Linux 5.19: completions do not interrupt the waiter

// Consecutive calls in which the kernel takes nothing, with no request in flight.
constexpr unsigned kRefusalsMax = 4;

}  // namespace

std::unique_ptr<Ring> Ring::create(int& error) {
  std::unique_ptr<Ring> ring(new (std::nothrow) Ring);
  if (ring == nullptr) {
    error = ENOMEM;
    return nullptr;
  }
  ring->ring_.ring_fd = -1;
  error = OwnDescriptors::open([&] { return ring->open(); }) < 0 ? errno : 0;
  if (error != 0) {
    return nullptr;
  }
  ring->takes_files_ = ::io_uring_register_files_sparse(&ring->ring_, kFileSlots) == 0;
  ring->takes_regions_ = ::io_uring_register_buffers_sparse(&ring->ring_, kRegions) == 0;
  return ring;
}

Ring::~Ring() {
  if (ring_.ring_fd >= 0) {
    OwnDescriptors::close(ring_.ring_fd, [this] { ::io_uring_queue_exit(&ring_); });
  }
}

/// Returns the ring's descriptor, or -1 and errno. The queues are shared memory: a child that had
/// them could submit and complete its parent's requests.
int Ring::open() noexcept {
  int error = 0;
  for (const unsigned flags : {kSubmitAll | kCoopTaskrun, 0U}) {
    io_uring_params parameters{};
    parameters.flags = flags;
    error = -::io_uring_queue_init_params(kDepth, &ring_, &parameters);
    if (error != EINVAL) {
      break;
    }
  }
  if (error == 0) {
    error = -::io_uring_ring_dontfork(&ring_);
    if (error != 0) {
      ::io_uring_queue_exit(&ring_);
    }
  }
  if (error != 0) {
    ring_.ring_fd = -1;
    errno = error;
  }
  return ring_.ring_fd;
}

bool Ring::has_registered(const RingFile& file) noexcept {
  if (!takes_files_ || file.slot == RingFile::kNone) {
    return false;
  }
  if (files_[file.slot] != file.id) {
    const bool done = ::io_uring_register_files_update(&ring_, static_cast<unsigned>(file.slot),
                                                       &file.descriptor, 1) == 1;
    files_[file.slot] = done ? file.id : 0;
  }
  return files_[file.slot] == file.id;
}

void Ring::adopt(const FileIds& files, const Regions& regions) noexcept {
  for (std::size_t slot = 0; slot < kFileSlots; ++slot) {
    if (files_[slot] != 0 && files_[slot] != files[slot]) {
      const int nothing = -1;
      ::io_uring_register_files_update(&ring_, static_cast<unsigned>(slot), &nothing, 1);
      files_[slot] = 0;
    }
  }
  if (!takes_regions_) {
    has_all_regions_ = false;
    return;
  }
  regions_count_ = 0;
  has_all_regions_ = true;
  for (std::size_t i = 0; i < kRegions; ++i) {
    if (regions_[i].id != regions[i].id) {
      const MutableBytes memory = regions[i].memory;
      const iovec block{.iov_base = memory.data(), .iov_len = memory.size()};
      const __u64 no_tag = 0;
      const bool done = ::io_uring_register_buffers_update_tag(&ring_, static_cast<unsigned>(i),
                                                               &block, &no_tag, 1) == 1;
      // Remember a region that the kernel refuses (the limit of locked memory), without using it.
      regions_[i] = {.id = regions[i].id, .memory = done ? memory : MutableBytes{}};
    }
    regions_count_ += regions_[i].memory.empty() ? 0U : 1U;
    has_all_regions_ = has_all_regions_ && regions_[i].memory.size() == regions[i].memory.size();
  }
}

int Ring::region_of(MutableBytes data) const noexcept {
  if (regions_count_ == 0) {
    return -1;
  }
  for (std::size_t i = 0; i < kRegions; ++i) {
    const MutableBytes memory = regions_[i].memory;
    if (!memory.empty() && data.data() >= memory.data() &&
        data.data() + data.size() <= memory.data() + memory.size()) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

void Ring::queue(const RingFile& file, bool is_registered, RingRequest& request,
                 std::uint64_t index) noexcept {
  io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
  check(entry != nullptr, "no requests of an earlier batch are left in an io_uring");
  const int number = is_registered ? static_cast<int>(file.slot) : file.descriptor;
  const auto size = static_cast<unsigned>(request.data.size());
  // The kernel refuses atomic writes from registered memory (EINVAL: generic_atomic_write_valid).
  const int region = request.is_atomic ? -1 : region_of(request.data);
  if (request.is_write && region >= 0) {
    ::io_uring_prep_write_fixed(entry, number, request.data.data(), size, request.offset_bytes,
                                region);
  } else if (request.is_write) {
    ::io_uring_prep_write(entry, number, request.data.data(), size, request.offset_bytes);
  } else if (region >= 0) {
    ::io_uring_prep_read_fixed(entry, number, request.data.data(), size, request.offset_bytes,
                               region);
  } else {
    ::io_uring_prep_read(entry, number, request.data.data(), size, request.offset_bytes);
  }
  if (request.is_atomic) {
    entry->rw_flags = kRwfAtomic;
  }
  if (is_registered) {
    entry->flags |= IOSQE_FIXED_FILE;
  }
  entry->user_data = index;
  request.result = -EAGAIN;
}

std::size_t Ring::reap(std::span<RingRequest> requests) noexcept {
  unsigned head = 0;
  unsigned count = 0;
  io_uring_cqe* entry = nullptr;
  io_uring_for_each_cqe(&ring_, head, entry) {
    check(entry->user_data < requests.size(),
          "an io_uring completes only requests that were submitted");
    // A request that the kernel cancelled may be repeated.
    requests[entry->user_data].result = entry->res == -ECANCELED ? -EAGAIN : entry->res;
    ++count;
  }
  ::io_uring_cq_advance(&ring_, count);
  return count;
}

void Ring::run(const RingFile& file, std::span<RingRequest> requests) noexcept {
  const bool is_registered = has_registered(file);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    queue(file, is_registered, requests[i], i);
  }
  std::size_t submitted = 0;
  std::size_t completed = 0;
  unsigned refusals = 0;
  while (submitted < requests.size() && refusals < kRefusalsMax) {
    // The kernel waits only if it could take all requests.
    const int taken =
        ::io_uring_submit_and_wait(&ring_, static_cast<unsigned>(requests.size() - completed));
    completed += reap(requests);
    if (taken > 0) {
      submitted += static_cast<std::size_t>(taken);
      refusals = 0;
    } else if (completed < submitted) {
      // Out of resources with requests in flight (EAGAIN, EBUSY): their completion frees some.
      completed += wait_for(requests, 1);
    } else if (taken != -EINTR) {
      ++refusals;
    }
  }
  is_broken_ = submitted < requests.size();
  while (completed < submitted) {
    completed += wait_for(requests, submitted - completed);
  }
}

std::size_t Ring::wait_for(std::span<RingRequest> requests, std::size_t count) noexcept {
  io_uring_cqe* entry = nullptr;
  const int error = ::io_uring_wait_cqe_nr(&ring_, &entry, static_cast<unsigned>(count));
  // Returning with requests in flight would let the kernel write into memory that has been reused.
  check(error == 0 || error == -EINTR || error == -EAGAIN,
        "the requests of an io_uring are all accounted for");
  return reap(requests);
}

}  // namespace palimpsest::io
