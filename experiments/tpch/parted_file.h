// A file that many threads write, part by part, and that appears only when it is complete.
//
// It is written under another name ("orders.tbl.partial") in the same directory. Parts follow each
// other in the order of their numbers: the beginning of a part is known when the one before it has
// been handed in, so a thread waits for that, and then writes concurrently with other threads.
// Latching: a mutex of its own, not held during writes.
// Failure: std::system_error naming the file. A file that is not completed is removed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string_view>

namespace palimpsest::experiments::tpch {

class PartedFile {
 public:
  explicit PartedFile(std::filesystem::path path);
  ~PartedFile();
  PartedFile(const PartedFile&) = delete;
  PartedFile& operator=(const PartedFile&) = delete;

  /// Any thread; each part once, from 0 on. Returns false if `stopping` is set while it waits.
  [[nodiscard]] bool write(std::uint64_t part, std::string_view bytes,
                           const std::atomic<bool>& stopping);
  /// All parts have been written: gives the file its name. No other thread uses the object any
  /// more.
  void complete();

 private:
  /// The beginning of the part; waits for the parts before it. False when stopping.
  [[nodiscard]] bool place(std::uint64_t part, std::uint64_t bytes,
                           const std::atomic<bool>& stopping, std::uint64_t& offset);
  void write_at(std::uint64_t offset, std::string_view bytes) const;
  [[noreturn]] void fail(const char* doing) const;

  const std::filesystem::path path_;
  const std::filesystem::path partial_;
  int file_ = -1;  ///< -1 once it is complete
  std::mutex mutex_;
  std::condition_variable placed_;
  std::uint64_t next_part_ = 0;    ///< guarded by mutex_
  std::uint64_t next_offset_ = 0;  ///< guarded by mutex_
};

}  // namespace palimpsest::experiments::tpch
