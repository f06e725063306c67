// The storage-device seam: the only way this engine reaches files.
//
// A Device is one open directory; a File is one open file in it. Implementations: io_uring
// (uring_device.h), POSIX (posix_device.h), and a simulated disk in the tests. No other code of the
// engine calls the operating system for I/O.
//
// Public functions are not virtual: they split work, repeat short and interrupted transfers, turn
// errno into Error, and make a failed sync final. Implementations override the `do_` functions,
// which may transfer fewer bytes than asked (as the operating system may), so that the repeat logic
// is the same for all and is tested once.
//
// Invariants: (1) after a failed sync no later write or sync of the file succeeds (a second fsync
//                 would report success for data the kernel has dropped);
//             (2) when run() returns, no transfer of it is in flight.
// Thread-safety: all functions of File and Device may be called by any number of threads at once;
//             the exceptions are stated at the function. Writes of one file in flight at the same
//             time must not overlap.
// Failure: Error with code io_error, no_space, permission_denied, not_found, already_exists,
//             locked, failed. A transfer is repeated when it was short or interrupted, and a
//             bounded number of times, with back-off, when the system was out of resources
//             (EAGAIN); any other error ends it. A failed transfer may have moved any part of its
//             bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/io/io_counters.h"

namespace palimpsest::io {

/// One transfer of a batch. Offset, size and address are multiples of File::alignment_bytes().
struct Transfer {
  enum class Kind : std::uint8_t { read = 1, write };

  Kind kind = Kind::read;
  /// A write that must not tear: its size is a power of two, at most
  /// File::atomic_write_bytes_max(), and divides its offset; otherwise it ends with EINVAL.
  bool atomic = false;
  std::uint64_t offset_bytes = 0;
  MutableBytes data;  ///< read into, or written from
  int error = 0;      ///< out: 0, or the errno that ended it, kEndOfFile or kFileFailed

  /// Appends a block that continues this transfer both in the file and in memory: one long transfer
  /// costs a device little more than a short one. False, and nothing changed, if the block does not
  /// continue it.
  [[nodiscard]] bool extend(std::uint64_t block_offset_bytes, MutableBytes block) noexcept {
    if (offset_bytes + data.size() != block_offset_bytes ||
        data.data() + data.size() != block.data()) {
      return false;
    }
    data = {data.data(), data.size() + block.size()};
    return true;
  }
};

/// A Transfer::error that is not an errno: the file ends before the transfer does.
inline constexpr int kEndOfFile = -1;
/// A Transfer::error that is not an errno: a write refused because an earlier sync failed.
inline constexpr int kFileFailed = -2;

/// Throws the Error for a failed transfer or call. `error` is an errno, kEndOfFile or kFileFailed;
/// `what` names the operation and its location ("read of 4096 bytes at offset 8192").
[[noreturn]] void throw_io_error(int error, std::string_view what, std::string_view file);

class File {
 public:
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Runs a batch of independent transfers in any order and returns when all have ended; sets each
  /// one's `error`. Repeats short and interrupted transfers. Throws nothing.
  void run(std::span<Transfer> batch) noexcept;

  /// Transfers all bytes or throws.
  void read(std::uint64_t offset_bytes, MutableBytes into);
  void write(std::uint64_t offset_bytes, ConstBytes from);

  /// Throws the Error for a transfer of this file that run() ended with an error.
  [[noreturn]] void throw_error_of(const Transfer& transfer) const;

  /// Makes durable every write that completed before the call, and the file's size. A failure is
  /// final (invariant 1): the first one throws io_error, later writes and syncs throw `failed`.
  void sync();

  /// Reserves space for [offset, offset + length) and extends the file to the end of that range. No
  /// write beyond the file's present end may run at the same time.
  void allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes);
  void truncate(std::uint64_t size_bytes);
  [[nodiscard]] std::uint64_t size_bytes();

  /// True once a sync has failed.
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }

  /// The directory's path and the file's name, for messages.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// A power of two.
  [[nodiscard]] virtual std::size_t alignment_bytes() const noexcept = 0;
  /// Largest write that the device promises not to tear; 0 if it promises none.
  [[nodiscard]] virtual std::size_t atomic_write_bytes_max() const noexcept = 0;

 protected:
  /// `counters` are those of the file's device.
  File(std::string name, std::shared_ptr<IoCounters> counters)
      : name_(std::move(name)), counters_(std::move(counters)) {}

  /// Progress of one transfer, as an implementation reports it: bytes moved (0 at end of file), or
  /// a negative errno.
  struct Attempted {
    Transfer* transfer = nullptr;
    std::size_t already_bytes = 0;  ///< moved by earlier attempts; continue from here
    std::int64_t result = 0;        ///< out
    unsigned stalls = 0;            ///< attempts in a row that moved nothing; kept by run()
  };

  /// Most transfers passed to one call of do_transfer().
  static constexpr std::size_t kBatchMax = 128;

  /// Attempts every transfer once; each may fall short.
  virtual void do_transfer(std::span<Attempted> batch) noexcept = 0;
  /// 0 or errno.
  virtual int do_sync() noexcept = 0;
  virtual int do_allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) noexcept = 0;
  virtual int do_truncate(std::uint64_t size_bytes) noexcept = 0;
  virtual int do_size(std::uint64_t& size_bytes) noexcept = 0;
  /// Waits before attempt number `stalls` + 1 after EAGAIN.
  virtual void do_back_off(unsigned stalls) noexcept;

 private:
  void run_chunk(std::span<Transfer> chunk) noexcept;
  [[nodiscard]] bool admit(Transfer& transfer) const noexcept;
  [[nodiscard]] bool is_finished(Attempted& attempted) const noexcept;
  void count(std::span<const Transfer> chunk) noexcept;

  std::string name_;
  std::shared_ptr<IoCounters> counters_;
  std::atomic<bool> failed_{false};
  /// One sync at a time: of two concurrent syncs, the kernel reports lost data to only one.
  std::mutex sync_mutex_;
};

enum class OpenMode : std::uint8_t {
  read_only = 1,  ///< must exist
  read_write,     ///< must exist
  create_new,     ///< must not exist; mode 0600
};

/// Memory that is registered with the device while this object exists.
class BufferRegistration {
 public:
  BufferRegistration() = default;
  virtual ~BufferRegistration() = default;
  BufferRegistration(const BufferRegistration&) = delete;
  BufferRegistration& operator=(const BufferRegistration&) = delete;
};

/// The directory stays locked while this object exists; it may outlive the device.
class DirectoryLock {
 public:
  DirectoryLock() = default;
  virtual ~DirectoryLock() = default;
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
};

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Opens a file of the directory, without following symbolic links. With `exclusive`, the file is
  /// locked against all other `exclusive` opens, in any process: several for reading may coexist,
  /// one for writing excludes all. Throws `locked` if the lock is held; a real device first waits a
  /// second, or ten if the process that locked the file has ended, because the kernel may still be
  /// ending its I/O.
  [[nodiscard]] virtual std::unique_ptr<File> open(std::string_view name, OpenMode mode,
                                                   bool exclusive) = 0;
  [[nodiscard]] virtual bool exists(std::string_view name) = 0;
  virtual void remove(std::string_view name) = 0;
  virtual void rename(std::string_view from, std::string_view to) = 0;
  /// Locks the directory against all other callers of this function, in any process (throws
  /// `locked`, as open()); no other function respects the lock. For callers that create or remove
  /// files depending on what the directory contains.
  [[nodiscard]] virtual std::unique_ptr<DirectoryLock> lock_directory() = 0;
  /// Makes creations, removals and renames in the directory durable.
  virtual void sync_directory() = 0;
  [[nodiscard]] virtual std::vector<std::string> list() = 0;

  /// Announces memory that transfers will often use; the device may register it with the kernel.
  /// The result ends the registration: destroy it before the memory is freed (the kernel would go
  /// on using the old pages) and before the device.
  [[nodiscard]] virtual std::unique_ptr<BufferRegistration> register_buffer(
      MutableBytes memory) = 0;

  /// "io_uring, O_DIRECT", "posix, buffered (O_DIRECT refused)", ...: for logs and statistics.
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual const std::string& path() const noexcept = 0;

  /// What files opened by this device have done so far, including closed ones.
  [[nodiscard]] IoStatistics statistics() const noexcept { return counters_->sum(); }

 protected:
  Device() : counters_(std::make_shared<IoCounters>()) {}
  [[nodiscard]] const std::shared_ptr<IoCounters>& counters() const noexcept { return counters_; }

 private:
  std::shared_ptr<IoCounters> counters_;
};

}  // namespace palimpsest::io
