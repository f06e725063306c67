#include "base/io/forwarding_device.h"

#include <array>
#include <cerrno>
#include <utility>

#include "palimpsest/error.h"

namespace palimpsest::io {
namespace {

/// The errno for an Error that `call` throws; 0 if it returns.
template <class Call>
int errno_of(Call call) noexcept {
  try {
    call();
    return 0;
  } catch (const Error& error) {
    return error.code() == ErrorCode::no_space ? ENOSPC : EIO;
  }
}

std::int64_t result_of(const Transfer& transfer) noexcept {
  switch (transfer.error) {
    case 0: return static_cast<std::int64_t>(transfer.data.size());
    case kEndOfFile: return 0;
    case kFileFailed: return -EIO;
    default: return -transfer.error;
  }
}

}  // namespace

ForwardingFile::ForwardingFile(std::unique_ptr<File> file, std::shared_ptr<IoCounters> counters)
    : File(file->name(), std::move(counters)), file_(std::move(file)) {}

std::size_t ForwardingFile::alignment_bytes() const noexcept {
  return file_->alignment_bytes();
}

std::size_t ForwardingFile::atomic_write_bytes_max() const noexcept {
  return file_->atomic_write_bytes_max();
}

void ForwardingFile::do_transfer(std::span<Attempted> batch) noexcept {
  std::array<Transfer, kBatchMax> transfers;
  const std::size_t atomic_max = file_->atomic_write_bytes_max();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Transfer& rest = transfers[i] = *batch[i].transfer;
    rest.offset_bytes += batch[i].already_bytes;
    rest.data = rest.data.subspan(batch[i].already_bytes);
    rest.atomic = rest.atomic && rest.data.size() <= atomic_max;
  }
  file_->run(std::span(transfers).first(batch.size()));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i].result = result_of(transfers[i]);
  }
}

int ForwardingFile::do_sync() noexcept {
  return errno_of([&] { file_->sync(); });
}

int ForwardingFile::do_allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) noexcept {
  return errno_of([&] { file_->allocate(offset_bytes, length_bytes); });
}

int ForwardingFile::do_truncate(std::uint64_t size_bytes) noexcept {
  return errno_of([&] { file_->truncate(size_bytes); });
}

int ForwardingFile::do_size(std::uint64_t& size_bytes) noexcept {
  return errno_of([&] { size_bytes = file_->size_bytes(); });
}

}  // namespace palimpsest::io
