// Files and directory of a simulated disk, as Device and File. Tests do not include this: they get
// one from SimDisk::device().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/device.h"
#include "tests/support/sim_state.h"

namespace palimpsest::test {

class SimFile final : public io::File {
 public:
  /// The caller has taken the inode's open count and lock; the destructor releases them.
  SimFile(std::shared_ptr<SimState> state, std::shared_ptr<io::IoCounters> counters,
          std::string plain_name, InodeId inode, bool writable, bool locked);
  ~SimFile() override;

  [[nodiscard]] std::size_t alignment_bytes() const noexcept override;
  [[nodiscard]] std::size_t atomic_write_bytes_max() const noexcept override;

 protected:
  void do_transfer(std::span<Attempted> batch) noexcept override;
  int do_sync() noexcept override;
  int do_allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) noexcept override;
  int do_truncate(std::uint64_t size_bytes) noexcept override;
  int do_size(std::uint64_t& size_bytes) noexcept override;
  /// Simulated time: lets other threads run, and does not wait.
  void do_back_off(unsigned stalls) noexcept override;

 private:
  struct Operation;

  void submit(Attempted& attempted, Operation& operation);
  void complete(Attempted& attempted, Operation& operation);
  std::int64_t complete_write(Operation& operation);
  std::int64_t complete_read(Operation& operation);
  int resize(SimKind kind, std::uint64_t size_bytes, std::uint64_t hook_offset_bytes);

  std::shared_ptr<SimState> state_;
  std::string plain_name_;
  InodeId inode_;
  bool writable_;
  bool locked_;
};

class SimDevice final : public io::Device {
 public:
  explicit SimDevice(std::shared_ptr<SimState> state) : state_(std::move(state)) {}

  [[nodiscard]] std::unique_ptr<io::File> open(std::string_view name, io::OpenMode mode,
                                               bool exclusive) override;
  [[nodiscard]] bool exists(std::string_view name) override;
  void remove(std::string_view name) override;
  void rename(std::string_view from, std::string_view to) override;
  [[nodiscard]] std::unique_ptr<io::DirectoryLock> lock_directory() override;
  void sync_directory() override;
  [[nodiscard]] std::vector<std::string> list() override;
  [[nodiscard]] std::unique_ptr<io::BufferRegistration> register_buffer(
      MutableBytes memory) override;
  [[nodiscard]] std::string description() const override { return "simulated disk"; }
  [[nodiscard]] const std::string& path() const noexcept override { return path_; }

 private:
  /// Counts the operation, calls the hook, and throws if a fault matches.
  void begin(SimKind kind, std::string_view name, std::string_view what);

  std::shared_ptr<SimState> state_;
  std::string path_ = "sim";
};

}  // namespace palimpsest::test
