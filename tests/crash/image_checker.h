// Checks every page on its way to a simulated disk, in place or into the ring of copies.
//
// Each page's GSN is durable in the log at that moment (I-2), and no image of a node contains a
// frame number or a mark of memory (I-6). While a database is being opened its log cannot be asked;
// redo writes what comes from a durable log, and its nodes are checked all the same. Thread-safety:
// called by any thread that writes; the rest by one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "engine/engine.h"
#include "tests/support/sim_disk.h"

namespace palimpsest::crash {

class ImageChecker {
 public:
  ImageChecker(test::SimDisk& disk, std::uint32_t page_size_bytes);
  ~ImageChecker();
  ImageChecker(const ImageChecker&) = delete;
  ImageChecker& operator=(const ImageChecker&) = delete;

  /// The database that writes from now on, or null.
  void watch(engine::Engine* database) noexcept { database_.store(database); }
  /// The first fault; empty if there was none.
  [[nodiscard]] std::string fault() const;
  [[nodiscard]] std::uint64_t pages() const noexcept { return pages_.load(); }

 private:
  void look_at(std::uint64_t offset_bytes, ConstBytes bytes);
  void look_at_page(ConstBytes page);
  void note(std::string fault);

  test::SimDisk& disk_;
  const std::uint32_t page_size_bytes_;
  std::atomic<engine::Engine*> database_{nullptr};
  std::atomic<std::uint64_t> pages_{0};
  mutable std::mutex mutex_;
  std::string fault_;  ///< protected by mutex_
};

}  // namespace palimpsest::crash
