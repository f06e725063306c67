// The storage device by plain POSIX calls: for hosts that forbid io_uring, and the io_uring
// device's fallback for single transfers.
//
// A batch becomes as few preadv/pwritev calls as its adjacent blocks allow. A failed or short
// vectored call says nothing about its later blocks, so they are then attempted one by one.
// Thread-safety: as Device and File.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/io/device.h"
#include "base/io/directory_device.h"

namespace palimpsest::io {

class PosixFile : public File {
 public:
  explicit PosixFile(OpenedFile opened);
  ~PosixFile() override;

  [[nodiscard]] std::size_t alignment_bytes() const noexcept final {
    return opened_.alignment_bytes;
  }
  [[nodiscard]] std::size_t atomic_write_bytes_max() const noexcept final {
    return opened_.atomic_write_bytes_max;
  }
  [[nodiscard]] bool is_direct() const noexcept { return opened_.is_direct; }

 protected:
  void do_transfer(std::span<Attempted> batch) noexcept override;
  int do_sync() noexcept override;
  int do_allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) noexcept override;
  int do_truncate(std::uint64_t size_bytes) noexcept override;
  int do_size(std::uint64_t& size_bytes) noexcept final;

  [[nodiscard]] int descriptor() const noexcept { return opened_.descriptor.number(); }
  [[nodiscard]] bool is_locked() const noexcept { return opened_.is_locked; }
  /// Does one pread or pwrite.
  void transfer_one(Attempted& attempted) const noexcept;

 private:
  void transfer_neighbours(std::span<Attempted> run) const noexcept;
  void report_zeros(int error) noexcept;
  int extend_with_zeros(std::uint64_t end_bytes) noexcept;

  OpenedFile opened_;
  /// A call other than a write changed the size or extents: the next sync is an fsync.
  std::atomic<bool> metadata_changed_{true};
  std::atomic<bool> has_reported_zeros_{false};
};

class PosixDevice final : public DirectoryDevice {
 public:
  /// As DirectoryDevice.
  PosixDevice(std::string path, bool create, LogSink log = {});

  /// Nothing to do: pread and pwrite have no registered memory.
  [[nodiscard]] std::unique_ptr<BufferRegistration> register_buffer(MutableBytes memory) override;
  [[nodiscard]] std::string description() const override;

 private:
  [[nodiscard]] std::unique_ptr<File> make_file(OpenedFile opened) override;
};

}  // namespace palimpsest::io
