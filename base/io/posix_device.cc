#include "base/io/posix_device.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/io/direct_io.h"

namespace palimpsest::io {
namespace {

constexpr std::size_t kNeighboursMax = 64;

std::uint64_t end_of(const Transfer& transfer) noexcept {
  return transfer.offset_bytes + transfer.data.size();
}

/// How many transfers at the front of the batch one vectored call can do.
template <class Attempted>
std::size_t count_neighbours(std::span<const Attempted> batch) noexcept {
  const Transfer& first = *batch.front().transfer;
  std::size_t count = 1;
  if (batch.front().already_bytes != 0 || first.atomic) {
    return count;
  }
  while (count < std::min(batch.size(), kNeighboursMax)) {
    const Transfer& next = *batch[count].transfer;
    if (next.kind != first.kind || next.atomic || batch[count].already_bytes != 0 ||
        next.offset_bytes != end_of(*batch[count - 1].transfer)) {
      break;
    }
    ++count;
  }
  return count;
}

}  // namespace

PosixFile::PosixFile(OpenedFile opened)
    : File(opened.name, opened.counters), opened_(std::move(opened)) {}

PosixFile::~PosixFile() {
  // Unlocked explicitly, because an io_uring may hold the file open a little longer than this
  // object.
  if (opened_.is_locked) {
    ::flock(descriptor(), LOCK_UN);
  }
}

void PosixFile::do_transfer(std::span<Attempted> batch) noexcept {
  while (!batch.empty()) {
    const std::size_t count = count_neighbours(std::span<const Attempted>(batch));
    if (count == 1) {
      transfer_one(batch.front());
    } else {
      transfer_neighbours(batch.first(count));
    }
    batch = batch.subspan(count);
  }
}

void PosixFile::transfer_one(Attempted& attempted) const noexcept {
  const Transfer& transfer = *attempted.transfer;
  const MutableBytes rest = transfer.data.subspan(attempted.already_bytes);
  const auto offset = static_cast<off_t>(transfer.offset_bytes + attempted.already_bytes);
  ssize_t result = 0;
  if (transfer.kind == Transfer::Kind::read) {
    result = ::pread(descriptor(), rest.data(), rest.size(), offset);
  } else if (transfer.atomic) {
    const iovec block{.iov_base = rest.data(), .iov_len = rest.size()};
    result = ::pwritev2(descriptor(), &block, 1, offset, kRwfAtomic);
  } else {
    result = ::pwrite(descriptor(), rest.data(), rest.size(), offset);
  }
  attempted.result = result < 0 ? -errno : result;
}

void PosixFile::transfer_neighbours(std::span<Attempted> run) const noexcept {
  std::array<iovec, kNeighboursMax> blocks;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const MutableBytes data = run[i].transfer->data;
    blocks[i] = {.iov_base = data.data(), .iov_len = data.size()};
  }
  const Transfer& first = *run.front().transfer;
  const auto offset = static_cast<off_t>(first.offset_bytes);
  const int count = static_cast<int>(run.size());
  const ssize_t result = first.kind == Transfer::Kind::read
                             ? ::preadv(descriptor(), blocks.data(), count, offset)
                             : ::pwritev(descriptor(), blocks.data(), count, offset);
  std::size_t left_bytes = result < 0 ? 0 : static_cast<std::size_t>(result);
  for (Attempted& attempted : run) {
    const std::size_t size_bytes = attempted.transfer->data.size();
    if (left_bytes >= size_bytes) {
      attempted.result = static_cast<std::int64_t>(size_bytes);
      left_bytes -= size_bytes;
    } else {
      left_bytes = 0;
      transfer_one(attempted);
    }
  }
}

int PosixFile::do_sync() noexcept {
  // fdatasync covers the data, and the size as far as writes changed it. Only fsync is certain to
  // cover what allocate and truncate did to extents; it costs one more journal commit on some
  // systems.
  const bool metadata_changed = metadata_changed_.exchange(false, std::memory_order_acq_rel);
  const int result = metadata_changed ? ::fsync(descriptor()) : ::fdatasync(descriptor());
  if (result == 0) {
    return 0;
  }
  const int error = errno;
  if (metadata_changed) {
    metadata_changed_.store(true, std::memory_order_release);
  }
  return error;
}

int PosixFile::do_allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) noexcept {
  int error = 0;
  if (::fallocate(descriptor(), 0, static_cast<off_t>(offset_bytes),
                  static_cast<off_t>(length_bytes)) != 0) {
    error = errno;
    if (error == EOPNOTSUPP || error == ENOSYS) {
      report_zeros(error);
      error = extend_with_zeros(offset_bytes + length_bytes);
    }
  }
  metadata_changed_.store(true, std::memory_order_release);
  return error;
}

/// Once per file.
void PosixFile::report_zeros(int error) noexcept {
  if (!has_reported_zeros_.exchange(true, std::memory_order_relaxed)) {
    log_to(opened_.log, LogLevel::info, component::kDevice,
           "the file system cannot reserve space: files grow by writing zeros",
           {{"file", opened_.name}, {"errno", std::int64_t{error}}});
  }
}

/// For file systems without fallocate: only written blocks are certain to have their space.
int PosixFile::extend_with_zeros(std::uint64_t end_bytes) noexcept {
  alignas(4096) static constexpr std::array<std::byte, 65536> kZeros{};
  std::uint64_t old_size_bytes = 0;
  if (const int error = do_size(old_size_bytes); error != 0) {
    return error;
  }
  const std::uint64_t alignment = alignment_bytes();
  std::uint64_t at_bytes = (old_size_bytes + alignment - 1) / alignment * alignment;
  const std::uint64_t aligned_end = (end_bytes + alignment - 1) / alignment * alignment;
  int error = 0;
  while (error == 0 && at_bytes < aligned_end) {
    const std::size_t size = std::min<std::uint64_t>(kZeros.size(), aligned_end - at_bytes);
    const ssize_t written =
        ::pwrite(descriptor(), kZeros.data(), size, static_cast<off_t>(at_bytes));
    const std::uint64_t whole =
        written > 0 ? static_cast<std::uint64_t>(written) / alignment * alignment : 0;
    at_bytes += whole;
    if (written < 0 && errno != EINTR) {
      error = errno;
    } else if (written >= 0 && whole == 0) {
      error = ENOSPC;  // less than a block fitted: a repetition would write no more
    }
  }
  if (error != 0) {
    // Release the space taken; if that fails too, the file is merely longer than necessary.
    static_cast<void>(PosixFile::do_truncate(old_size_bytes));
  } else if (aligned_end != end_bytes && end_bytes > old_size_bytes) {
    error = PosixFile::do_truncate(end_bytes);
  }
  return error;
}

int PosixFile::do_truncate(std::uint64_t size_bytes) noexcept {
  const int error = ::ftruncate(descriptor(), static_cast<off_t>(size_bytes)) == 0 ? 0 : errno;
  metadata_changed_.store(true, std::memory_order_release);
  return error;
}

int PosixFile::do_size(std::uint64_t& size_bytes) noexcept {
  struct stat status{};
  if (::fstat(descriptor(), &status) != 0) {
    return errno;
  }
  size_bytes = static_cast<std::uint64_t>(status.st_size);
  return 0;
}

PosixDevice::PosixDevice(std::string path, bool create, LogSink log)
    : DirectoryDevice(std::move(path), create, std::move(log)) {}

std::unique_ptr<BufferRegistration> PosixDevice::register_buffer(MutableBytes /*memory*/) {
  return std::make_unique<BufferRegistration>();
}

std::string PosixDevice::description() const {
  return "posix, " + caching();
}

std::unique_ptr<File> PosixDevice::make_file(OpenedFile opened) {
  return std::make_unique<PosixFile>(std::move(opened));
}

}  // namespace palimpsest::io
