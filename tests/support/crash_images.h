// The states that a power failure would leave, at many moments of one run.
//
// Thread-safety: any threads may take images at once: the test's own stands at a hook while the
// log's thread writes. Images are in order, and one marked as taken after the commit was. After
// end() none is taken any more, not even by an operation that is under way.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/support/sim_disk.h"

namespace palimpsest::test {

class CrashImages {
 public:
  struct Image {
    SimDisk disk;
    bool is_committed = false;  ///< the run's changes had been committed durably
  };

  explicit CrashImages(SimDisk disk) : taken_(std::make_shared<Taken>(std::move(disk))) {}
  CrashImages(const CrashImages&) = delete;
  CrashImages& operator=(const CrashImages&) = delete;
  ~CrashImages() { static_cast<void>(end()); }

  void take() { taken_->take(); }
  /// Takes one at every write, sync and change of names from now on.
  void take_at_operations() {
    taken_->disk.set_hook([taken = taken_](const SimOperation&) { taken->take(); });
  }
  /// From now on a crash must not lose what the run changes.
  void set_committed() {
    const std::lock_guard guard(taken_->mutex);
    taken_->is_committed = true;
  }
  [[nodiscard]] std::vector<Image> end() {
    taken_->disk.set_hook({});
    const std::lock_guard guard(taken_->mutex);
    taken_->has_ended = true;
    return std::exchange(taken_->images, {});
  }

 private:
  /// Shared with the disk's hook, which may still run when it is removed.
  struct Taken {
    explicit Taken(SimDisk of) : disk(std::move(of)) {}

    void take() {
      const std::lock_guard guard(mutex);
      if (!has_ended) {
        images.push_back({.disk = disk.crash(++seed), .is_committed = is_committed});
      }
    }

    SimDisk disk;
    std::mutex mutex;  ///< guards what follows
    std::vector<Image> images;
    std::uint64_t seed = 0;
    bool is_committed = false;
    bool has_ended = false;
  };

  std::shared_ptr<Taken> taken_;
};

}  // namespace palimpsest::test
