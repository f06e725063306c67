// A directory that is only read, as if it could be written: what is written is kept in memory, and
// is gone with the device. What makes a database that is opened to be read (Options::read_only) out
// of one that expects to write, if only while it recovers.
//
// Files of the directory behind are opened to be read, `exclusive` ones locked against those who
// write and no others. Laid over them are blocks, sizes, files that were made, and names that were
// removed or changed.
// Invariants: (1) nothing is called of the device behind that changes the directory;
//             (2) of a file, what was not written since is read from behind up to
//                 `bytes_behind`, which only shrinks, and is zeros from there on.
//             (3) what is behind does not change while somebody has it open `exclusive`; so a
//                 file's size there is taken when it is opened first, and whoever opens several
//                 begins with one that keeps writers from all of them.
// Thread-safety: as Device. A file's content has a latch, which those who read share and do not
//             hold while they read from behind: that cannot change (3), and what is written
//             meanwhile is laid over it afterwards. The map of names has the device's mutex.
// Failure: as the device behind. When there is no room in memory for a write, no_space.
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

/// What is written may take so much memory, of one device or of several. Any number of threads.
class OverlayMemory {
 public:
  explicit OverlayMemory(std::uint64_t bytes_max) noexcept : bytes_max_(bytes_max) {}

  /// False: it is not there.
  [[nodiscard]] bool take(std::uint64_t bytes) noexcept;
  void give_back(std::uint64_t bytes) noexcept { bytes_.fetch_sub(bytes); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(); }

  /// Somebody has had none: whatever has failed since may have failed for that.
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
  /// Nothing will be made or removed, so that nobody has to be kept out; but who does that now is
  /// waited for.
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
    std::unique_ptr<File> behind;  ///< null: a file that was made
  };

  [[nodiscard]] std::string shown(std::string_view name) const;
  [[nodiscard]] bool is_there(std::string_view name);
  [[nodiscard]] ContentPtr make(std::string_view name);
  [[nodiscard]] Opened open_there(std::string_view name, bool exclusive);

  const std::unique_ptr<Device> behind_;
  const std::shared_ptr<OverlayMemory> memory_;
  std::mutex mutex_;
  /// Of files that were opened, made or renamed; null: removed. Of others what is behind counts.
  /// Protected by mutex_.
  std::map<std::string, ContentPtr, std::less<>> names_;
};

}  // namespace palimpsest::io
