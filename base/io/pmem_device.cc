#include "base/io/pmem_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libpmem.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <shared_mutex>
#include <span>
#include <utility>

#include "base/hybrid_latch.h"
#include "base/io/posix_device.h"

namespace palimpsest::io {
namespace {

/// Copies need no alignment; callers keep to sectors, so that a database may move between file
/// systems.
constexpr std::size_t kAlignmentBytes = 512;

/// libpmem maps by path only; this path names an open file or directory, wherever it may be by now.
std::string path_of(int descriptor) {
  return fmt::format("/proc/self/fd/{}", descriptor);
}

/// An owned mapping of a whole file.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept { swap(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    swap(other);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (begin_ != nullptr) {
      ::pmem_unmap(begin_, size_bytes_);
    }
  }

  /// Maps the file at `path`; `error` is 0 or an errno. `flags` and `size_bytes` are libpmem's, for
  /// files that it creates, else 0.
  static Mapping of(const std::string& path, std::size_t size_bytes, int flags, int& error) {
    constexpr mode_t kFileMode = 0600;
    Mapping mapping;
    int is_persistent = 0;
    mapping.begin_ = static_cast<std::byte*>(::pmem_map_file(
        path.c_str(), size_bytes, flags, kFileMode, &mapping.size_bytes_, &is_persistent));
    error = mapping.begin_ == nullptr ? errno : 0;
    if (error == 0) {  // the mapping is shared: children must not have it
      ::madvise(mapping.begin_, mapping.size_bytes_, MADV_DONTFORK);
    }
    mapping.is_persistent_ = is_persistent != 0;
    return mapping;
  }

  [[nodiscard]] std::byte* begin() const noexcept { return begin_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
  /// Whether flushing processor caches makes the mapping durable.
  [[nodiscard]] bool is_persistent() const noexcept { return is_persistent_; }

 private:
  void swap(Mapping& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(is_persistent_, other.is_persistent_);
  }

  std::byte* begin_ = nullptr;
  std::size_t size_bytes_ = 0;
  bool is_persistent_ = false;
};

/// Holds a latch exclusively while it exists.
class Exclusive {
 public:
  explicit Exclusive(HybridLatch& latch) noexcept : latch_(latch) { latch_.lock_exclusive(); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;
  ~Exclusive() { latch_.unlock_exclusive(); }

 private:
  HybridLatch& latch_;
};

/// A file open for writing. (A file open for reading stays a PosixFile: a mapping would need as
/// much care, and commits do not wait for reads.)
class PmemFile final : public PosixFile {
 public:
  explicit PmemFile(OpenedFile opened) : PosixFile(std::move(opened)) {
    std::uint64_t size_bytes = 0;
    int error = do_size(size_bytes);
    if (error == 0) {
      error = grow_to(size_bytes);
    }
    if (error != 0) {
      throw_io_error(error, fmt::format("mapping {} bytes", size_bytes), name());
    }
  }

 protected:
  void do_transfer(std::span<Attempted> batch) noexcept override {
    bool wrote = false;
    for (Attempted& attempted : batch) {
      attempted.result = transfer(attempted);
      wrote = wrote || attempted.transfer->kind == Transfer::Kind::write;
    }
    if (wrote) {
      ::pmem_drain();
    }
  }

  int do_sync() noexcept override {
    if (!needs_fsync()) {
      return 0;  // every write was drained before it completed
    }
    const int error = PosixFile::do_sync();
    if (error != 0) {
      extents_changed_.store(true);
    }
    return error;
  }

  // Space below the known size is reserved already.
  int do_allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) noexcept override {
    const Exclusive lock(size_latch_);
    return grow_to(offset_bytes + length_bytes);
  }

  int do_truncate(std::uint64_t size_bytes) noexcept override {
    const Exclusive lock(size_latch_);
    if (size_bytes > size_bytes_) {
      return grow_to(size_bytes);
    }
    const int error = PosixFile::do_truncate(size_bytes);
    extents_changed_.store(true);
    if (error == 0) {
      size_bytes_ = size_bytes;  // the mapping may be longer than the used part
    }
    return error;
  }

 private:
  [[nodiscard]] bool needs_fsync() noexcept {
    const std::shared_lock lock(size_latch_);
    return extents_changed_.exchange(false) || !mapping_.is_persistent();
  }

  /// Bytes moved, 0 at the end of the file, or a negative errno.
  [[nodiscard]] std::int64_t transfer(const Attempted& attempted) noexcept {
    const Transfer& transfer = *attempted.transfer;
    const std::uint64_t end = transfer.offset_bytes + transfer.data.size();
    const std::uint64_t begin = transfer.offset_bytes + attempted.already_bytes;
    const MutableBytes rest = transfer.data.subspan(attempted.already_bytes);
    if (!is_known(end)) {
      const int error =
          transfer.kind == Transfer::Kind::write ? do_allocate(0, end) : look_for_growth();
      if (error != 0) {
        return -error;
      }
    }
    return transfer.kind == Transfer::Kind::write ? copy_in(begin, rest) : copy_out(begin, rest);
  }

  [[nodiscard]] bool is_known(std::uint64_t end_bytes) noexcept {
    const std::shared_lock lock(size_latch_);
    return end_bytes <= size_bytes_;
  }

  /// Adopts growth of the file through another open.
  [[nodiscard]] int look_for_growth() noexcept {
    const Exclusive lock(size_latch_);
    std::uint64_t size_bytes = 0;
    const int error = do_size(size_bytes);
    return error != 0 ? error : grow_to(size_bytes);
  }

  [[nodiscard]] std::int64_t copy_in(std::uint64_t at, ConstBytes bytes) noexcept {
    const std::shared_lock lock(size_latch_);
    const std::size_t count = within(at, bytes.size());
    if (count != 0) {
      ::pmem_memcpy_nodrain(mapping_.begin() + at, bytes.data(), count);
    }
    return static_cast<std::int64_t>(count);
  }
  [[nodiscard]] std::int64_t copy_out(std::uint64_t at, MutableBytes into) noexcept {
    const std::shared_lock lock(size_latch_);
    const std::size_t count = within(at, into.size());
    if (count != 0) {
      std::memcpy(into.data(), mapping_.begin() + at, count);
    }
    return static_cast<std::int64_t>(count);
  }
  /// How many of `count` bytes at `at` lie within the file. Caller has the latch.
  [[nodiscard]] std::size_t within(std::uint64_t at, std::size_t count) const noexcept {
    return at >= size_bytes_ ? 0 : std::min<std::uint64_t>(count, size_bytes_ - at);
  }

  /// Reserves and maps the file up to `end_bytes` at least, or leaves the mapping as it is; 0 or an
  /// errno. Caller holds the latch exclusively, or has sole access to the file.
  [[nodiscard]] int grow_to(std::uint64_t end_bytes) noexcept {
    if (end_bytes <= size_bytes_) {
      return 0;
    }
    extents_changed_.store(true);
    int error = PosixFile::do_allocate(size_bytes_, end_bytes - size_bytes_);
    if (error == 0 && mapping_.size_bytes() < end_bytes) {
      error = map(end_bytes);
    }
    if (error == 0) {
      size_bytes_ = end_bytes;
    }
    return error;
  }

  [[nodiscard]] int map(std::uint64_t end_bytes) noexcept {
    try {
      int error = 0;
      Mapping mapping = Mapping::of(path_of(descriptor()), 0, 0, error);
      if (error == 0 && mapping.size_bytes() < end_bytes) {
        error = EIO;  // the file is being shortened
      }
      if (error == 0) {
        mapping_ = std::move(mapping);
      }
      return error;
    } catch (const std::bad_alloc&) {
      return ENOMEM;
    }
  }

  HybridLatch size_latch_;
  // Protected by size_latch_:
  Mapping mapping_;
  std::uint64_t size_bytes_ = 0;  ///< reserved and mapped (invariant 1)

  std::atomic<bool> extents_changed_{true};  ///< or the size: the next sync is an fsync
};

}  // namespace

PmemDevice::PmemDevice(std::string path, bool create) : DirectoryDevice(std::move(path), create) {}

bool PmemDevice::is_persistent() const noexcept {
  constexpr std::size_t kProbeBytes = 4096;
  constexpr int kNameless = PMEM_FILE_TMPFILE | PMEM_FILE_CREATE | PMEM_FILE_EXCL;
  try {
    int error = 0;
    return Mapping::of(path_of(directory_descriptor()), kProbeBytes, kNameless, error)
        .is_persistent();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

std::unique_ptr<BufferRegistration> PmemDevice::register_buffer(MutableBytes /*memory*/) {
  return std::make_unique<BufferRegistration>();
}

std::string PmemDevice::description() const {
  return is_persistent() ? "persistent memory, mapped" : "mapped, not persistent memory";
}

// Unbuffered reads might not see what is written through a mapping of an ordinary file.
std::unique_ptr<File> PmemDevice::make_file(OpenedFile opened) {
  const int file = opened.descriptor.number();
  const int flags = ::fcntl(file, F_GETFL);
  if (flags < 0 || ::fcntl(file, F_SETFL, flags & ~O_DIRECT) != 0) {
    throw_io_error(errno, "switching to buffered access", opened.name);
  }
  opened.is_direct = false;
  opened.alignment_bytes = kAlignmentBytes;
  opened.atomic_write_bytes_max = 0;
  if ((flags & O_ACCMODE) == O_RDONLY) {
    return std::make_unique<PosixFile>(std::move(opened));
  }
  return std::make_unique<PmemFile>(std::move(opened));
}

}  // namespace palimpsest::io
