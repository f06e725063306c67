#include "base/io/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "palimpsest/error.h"

#include "base/check.h"

namespace palimpsest::io {
namespace {

// An operation that is interrupted or moves nothing this often in a row will not progress.
constexpr unsigned kStallsMax = 1000;
// After EAGAIN: 0.1, 0.2, ... 25.6 ms, about 50 ms in total.
constexpr unsigned kBackOffsMax = 9;
constexpr std::chrono::microseconds kFirstBackOff{100};

ErrorCode code_of(int error) noexcept {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return ErrorCode::no_space;  // a limit of the file's size is a lack of space, too
    case EACCES:
    case EPERM:
    case EROFS: return ErrorCode::permission_denied;
    case ENOENT:
    case ENOTDIR: return ErrorCode::not_found;
    case EEXIST: return ErrorCode::already_exists;
    case EWOULDBLOCK: return ErrorCode::io_error;
    case kFileFailed: return ErrorCode::failed;
    default: return ErrorCode::io_error;
  }
}

std::string text_of(int error) {
  switch (error) {
    case kEndOfFile: return "the file ends before the end of the transfer";
    case kFileFailed: return "an earlier sync of the file failed, it must be reopened";
    default: return std::generic_category().message(error);
  }
}

bool is_deferred(std::int64_t result) noexcept {
  return result == -EAGAIN || result == -EBUSY;
}

/// Repeats `call` while a signal interrupts it; for calls that are all or nothing.
template <class Call>
int repeat_interrupted(const Call& call) noexcept {
  int error = call();
  for (unsigned stalls = 1; error == EINTR && stalls < kStallsMax; ++stalls) {
    error = call();
  }
  return error;
}

}  // namespace

void throw_io_error(int error, std::string_view what, std::string_view file) {
  throw Error(code_of(error), fmt::format("{} of \"{}\" failed: {}", what, file, text_of(error)));
}

void File::run(std::span<Transfer> batch) noexcept {
  for (std::size_t begin = 0; begin < batch.size(); begin += kBatchMax) {
    run_chunk(batch.subspan(begin, std::min(kBatchMax, batch.size() - begin)));
  }
  counters_->add({.batches = 1});
}

void File::run_chunk(std::span<Transfer> chunk) noexcept {
  std::array<Attempted, kBatchMax> attempts;
  std::size_t pending = 0;
  for (Transfer& transfer : chunk) {
    if (admit(transfer)) {
      attempts[pending++] = Attempted{.transfer = &transfer};
    }
  }
  while (pending != 0) {
    do_transfer({attempts.data(), pending});
    std::size_t left = 0;
    unsigned deferred_stalls = 0;
    for (std::size_t i = 0; i < pending; ++i) {
      if (!is_finished(attempts[i])) {
        if (is_deferred(attempts[i].result)) {
          deferred_stalls = std::max(deferred_stalls, attempts[i].stalls);
        }
        attempts[left++] = attempts[i];
      }
    }
    pending = left;
    if (left != 0) {
      counters_->add({.repeats = left});
    }
    if (deferred_stalls != 0) {
      do_back_off(deferred_stalls);
    }
  }
  count(chunk);
}

/// Whether the transfer may be attempted at all; sets its error if not.
bool File::admit(Transfer& transfer) const noexcept {
  const std::size_t size_bytes = transfer.data.size();
  PALIMPSEST_DEBUG_CHECK(
      transfer.offset_bytes % alignment_bytes() == 0 && size_bytes % alignment_bytes() == 0 &&
          std::bit_cast<std::uintptr_t>(transfer.data.data()) % alignment_bytes() == 0,
      "transfers are aligned");
  transfer.error = 0;
  if (transfer.kind == Transfer::Kind::write) {
    if (failed()) {
      transfer.error = kFileFailed;
    } else if (transfer.atomic &&
               (size_bytes > atomic_write_bytes_max() || !std::has_single_bit(size_bytes) ||
                transfer.offset_bytes % size_bytes != 0)) {
      transfer.error = EINVAL;
    }
  }
  return transfer.error == 0 && size_bytes != 0;
}

/// Evaluates the result of an attempt. True if the transfer has ended, with its error set;
/// otherwise the attempt is prepared for repetition.
bool File::is_finished(Attempted& attempted) const noexcept {
  Transfer& transfer = *attempted.transfer;
  const bool is_read = transfer.kind == Transfer::Kind::read;
  if (attempted.result > 0) {
    const std::size_t moved_bytes =
        attempted.already_bytes + static_cast<std::size_t>(attempted.result);
    check(moved_bytes <= transfer.data.size(),
          "a transfer moves no more bytes than were requested");
    if (moved_bytes == transfer.data.size()) {
      return true;
    }
    // Continue from an aligned offset, as unbuffered I/O requires: bytes beyond it move twice. An
    // atomic write starts again.
    const std::size_t aligned_bytes = moved_bytes & ~(alignment_bytes() - 1);
    if (aligned_bytes > attempted.already_bytes && !transfer.atomic) {
      attempted.already_bytes = aligned_bytes;
      attempted.stalls = 0;
      return false;
    }
  }
  attempted.stalls += 1;
  // A read that ends within a block twice in a row is at the end of the file.
  if (is_read && (attempted.result == 0 || (attempted.result > 0 && attempted.stalls > 1))) {
    transfer.error = kEndOfFile;
    return true;
  }
  const bool is_stalled = attempted.result >= 0 || attempted.result == -EINTR;
  if (is_stalled ? attempted.stalls < kStallsMax
                 : is_deferred(attempted.result) && attempted.stalls <= kBackOffsMax) {
    return false;
  }
  transfer.error = attempted.result >= 0 ? EIO : static_cast<int>(-attempted.result);
  return true;
}

void File::count(std::span<const Transfer> chunk) noexcept {
  IoStatistics done;
  for (const Transfer& transfer : chunk) {
    const bool is_read = transfer.kind == Transfer::Kind::read;
    (is_read ? done.reads : done.writes) += 1;
    if (transfer.error == 0) {
      (is_read ? done.read_bytes : done.written_bytes) += transfer.data.size();
    } else {
      done.errors += 1;
    }
  }
  counters_->add(done);
}

void File::do_back_off(unsigned stalls) noexcept {
  std::this_thread::sleep_for(kFirstBackOff * (1U << std::min(stalls - 1, kBackOffsMax)));
}

void File::throw_error_of(const Transfer& transfer) const {
  throw_io_error(transfer.error,
                 fmt::format("{} of {} bytes at offset {}",
                             transfer.kind == Transfer::Kind::read ? "read" : "write",
                             transfer.data.size(), transfer.offset_bytes),
                 name_);
}

void File::read(std::uint64_t offset_bytes, MutableBytes into) {
  Transfer transfer{.kind = Transfer::Kind::read, .offset_bytes = offset_bytes, .data = into};
  run({&transfer, 1});
  if (transfer.error != 0) {
    throw_error_of(transfer);
  }
}

void File::write(std::uint64_t offset_bytes, ConstBytes from) {
  // A write only reads the memory; Transfer has one view for both directions.
  Transfer transfer{.kind = Transfer::Kind::write,
                    .offset_bytes = offset_bytes,
                    .data = {const_cast<std::byte*>(from.data()), from.size()}};
  run({&transfer, 1});
  if (transfer.error != 0) {
    throw_error_of(transfer);
  }
}

void File::sync() {
  const std::lock_guard guard(sync_mutex_);
  if (failed()) {
    throw_io_error(kFileFailed, "sync", name_);
  }
  const int error = repeat_interrupted([this] { return do_sync(); });
  counters_->add({.errors = error != 0 ? 1U : 0U, .syncs = 1});
  if (error != 0) {
    failed_.store(true, std::memory_order_release);
    // Always io_error, for ENOSPC too: freeing space does not bring the lost data back.
    throw Error(ErrorCode::io_error,
                fmt::format("sync of \"{}\" failed: {}; writes since the last sync may be lost, "
                            "and the file accepts no more writes until it is reopened",
                            name_, text_of(error)));
  }
}

void File::allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  const auto what = [&] {
    return fmt::format("allocation of {} bytes at offset {}", length_bytes, offset_bytes);
  };
  if (failed()) {
    throw_io_error(kFileFailed, what(), name_);
  }
  const int error = repeat_interrupted([&] { return do_allocate(offset_bytes, length_bytes); });
  if (error != 0) {
    throw_io_error(error, what(), name_);
  }
}

void File::truncate(std::uint64_t size_bytes) {
  const auto what = [&] { return fmt::format("truncation to {} bytes", size_bytes); };
  if (failed()) {
    throw_io_error(kFileFailed, what(), name_);
  }
  const int error = repeat_interrupted([&] { return do_truncate(size_bytes); });
  if (error != 0) {
    throw_io_error(error, what(), name_);
  }
}

std::uint64_t File::size_bytes() {
  std::uint64_t size = 0;
  const int error = repeat_interrupted([&] { return do_size(size); });
  if (error != 0) {
    throw_io_error(error, "reading the size", name_);
  }
  return size;
}

}  // namespace palimpsest::io
