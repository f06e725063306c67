// A device and files that forward every call to another device: the base of decorators, which
// change one aspect. Benchmarks and tests use them.
//
// An atomic write stays atomic where the other file promises that for its size, and becomes a plain
// write otherwise: a decorator that promises more must keep that promise itself.
// Thread-safety and failure: as the device behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/device.h"

namespace palimpsest::io {

class ForwardingFile : public File {
 public:
  ForwardingFile(std::unique_ptr<File> file, std::shared_ptr<IoCounters> counters);

  [[nodiscard]] std::size_t alignment_bytes() const noexcept override;
  [[nodiscard]] std::size_t atomic_write_bytes_max() const noexcept override;

 protected:
  void do_transfer(std::span<Attempted> batch) noexcept override;
  int do_sync() noexcept override;
  int do_allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) noexcept override;
  int do_truncate(std::uint64_t size_bytes) noexcept override;
  int do_size(std::uint64_t& size_bytes) noexcept override;

 private:
  std::unique_ptr<File> file_;
};

/// A decorator implements open().
class ForwardingDevice : public Device {
 public:
  /// `device` outlives this.
  explicit ForwardingDevice(Device& device) : device_(device) {}

  [[nodiscard]] bool exists(std::string_view name) override { return device_.exists(name); }
  void remove(std::string_view name) override { device_.remove(name); }
  void rename(std::string_view from, std::string_view to) override { device_.rename(from, to); }
  [[nodiscard]] std::unique_ptr<DirectoryLock> lock_directory() override {
    return device_.lock_directory();
  }
  void sync_directory() override { device_.sync_directory(); }
  [[nodiscard]] std::vector<std::string> list() override { return device_.list(); }
  [[nodiscard]] std::unique_ptr<BufferRegistration> register_buffer(MutableBytes memory) override {
    return device_.register_buffer(memory);
  }
  [[nodiscard]] std::string description() const override { return device_.description(); }
  [[nodiscard]] const std::string& path() const noexcept override { return device_.path(); }

 protected:
  [[nodiscard]] Device& device() const noexcept { return device_; }

 private:
  Device& device_;
};

}  // namespace palimpsest::io
