// A writable view of a directory that is only read: writes are kept in memory and vanish with the
// device. With it, a database opened for reading (Options::read_only) can run code that writes, as
// recovery does.
//
// Files of the directory are opened for reading; `exclusive` opens are locked against writers only.
// Over them the device keeps blocks, sizes, created files, and removed or changed names.
// Invariants: (1) no call on the device behind changes the directory;
//             (2) bytes of a file that were not written through the overlay are read from behind up
//                 to `bytes_behind`, which only shrinks, and are zeros from there on;
//             (3) the file behind does not change while it is open `exclusive`. So its size is
//                 taken when it is first opened, and a caller that opens several files begins with
//                 one whose lock excludes writers from all of them.
// Thread-safety: as Device. Each file's content has a latch. Readers share it, and do not hold it
//                while they read from behind: by (3) that does not change, and concurrent overlay
//                writes are applied over the bytes read afterwards. The device's mutex protects the
//                map of names.
// Failure: as the device behind; no_space if there is no memory for a write.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/device.h"

namespace palimpsest::io {

class OverlayContent;

/// A memory budget for overlay writes, of one device or of several. Thread-safe.
class OverlayMemory {
 public:
  explicit OverlayMemory(std::uint64_t bytes_max) noexcept : bytes_max_(bytes_max) {}

  /// False, and nothing taken, if the budget is used up.
  [[nodiscard]] bool take(std::uint64_t bytes) noexcept;
  void give_back(std::uint64_t bytes) noexcept { bytes_.fetch_sub(bytes); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(); }

  /// Notes that a write found no memory: any failure since then may be a consequence.
  void refuse() noexcept { has_refused_.store(true); }
  [[nodiscard]] bool has_refused() const noexcept { return has_refused_.load(); }

 private:
  const std::uint64_t bytes_max_;
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<bool> has_refused_{false};
};

class OverlayDevice final : public Device {
 public:
  /// Blocks of zeros take no memory.
  OverlayDevice(std::unique_ptr<Device> behind, std::shared_ptr<OverlayMemory> memory);
  ~OverlayDevice() override;

  [[nodiscard]] std::unique_ptr<File> open(std::string_view name, OpenMode mode,
                                           bool exclusive) override;
  [[nodiscard]] bool exists(std::string_view name) override;
  void remove(std::string_view name) override;
  void rename(std::string_view from, std::string_view to) override;
  /// Returns a lock that excludes nothing, since nothing will be made or removed; but first waits
  /// for a process that holds the real lock.
  [[nodiscard]] std::unique_ptr<DirectoryLock> lock_directory() override;
  void sync_directory() override {}
  [[nodiscard]] std::vector<std::string> list() override;
  [[nodiscard]] std::unique_ptr<BufferRegistration> register_buffer(MutableBytes memory) override {
    return behind_->register_buffer(memory);
  }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] const std::string& path() const noexcept override { return behind_->path(); }

 private:
  using ContentPtr = std::shared_ptr<OverlayContent>;
  struct Opened {
    ContentPtr content;
    std::unique_ptr<File> behind;  ///< null: the overlay created the file
  };

  [[nodiscard]] std::string shown(std::string_view name) const;
  [[nodiscard]] bool is_there(std::string_view name);
  [[nodiscard]] ContentPtr make(std::string_view name);
  [[nodiscard]] Opened open_there(std::string_view name, bool exclusive);

  const std::unique_ptr<Device> behind_;
  const std::shared_ptr<OverlayMemory> memory_;
  std::mutex mutex_;
  /// Files that were opened, created or renamed; null: removed. For other names the device behind
  /// counts. Protected by mutex_.
  std::map<std::string, ContentPtr, std::less<>> names_;
};

}  // namespace palimpsest::io
