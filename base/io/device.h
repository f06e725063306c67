// The storage-device seam: the only way this engine reaches files.
//
// A Device is one open directory; a File is one open file in it. Implementations: io_uring
// (uring_device.h), POSIX (posix_device.h), and a simulated disk in the tests. No other code of the
// engine calls the operating system for I/O.
//
// Public functions are not virtual: they split work, repeat short and interrupted transfers, turn
// errno into Error, and make a failed sync final. Implementations override the `do_` functions, which
// may transfer fewer bytes than asked (as the operating system may), so that the repeat logic is the
// same for all and is tested once.
//
// Invariants: (1) after a failed sync no later write or sync of the file succeeds (a second fsync
//                 would report success for data the kernel has dropped);
//             (2) when run() returns, no transfer of it is in flight.
// Thread-safety: all functions of File and Device may be called by any number of threads at once.
// Failure: Error with code io_error, no_space, permission_denied, not_found, already_exists, locked.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace palimpsest::io {

/// One block of a batch of transfers. Offsets, sizes and addresses are multiples of
/// File::alignment_bytes().
struct Transfer {
  enum class Kind : std::uint8_t { read = 1, write };

  Kind kind = Kind::read;
  bool atomic = false;  ///< a write that must not tear; size at most File::atomic_write_bytes_max()
  std::uint64_t offset_bytes = 0;
  MutableBytes data;    ///< read into, or written from
  int error = 0;        ///< out: 0, or the errno that ended it; kEndOfFile for a read past the end
};

/// A Transfer::error that is not an errno: the file ends before the transfer does.
inline constexpr int kEndOfFile = -1;

/// Throws the Error that belongs to a failed transfer or call. `what` names the operation and place.
[[noreturn]] void throw_io_error(int error, std::string_view what, std::string_view file);

class File {
 public:
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Runs a batch of independent transfers in any order and returns when all have ended; each one's
  /// `error` says how. Repeats short and interrupted transfers. Throws nothing.
  void run(std::span<Transfer> batch) noexcept;

  /// Reads or writes all bytes or throws.
  void read(std::uint64_t offset_bytes, MutableBytes into);
  void write(std::uint64_t offset_bytes, ConstBytes from);

  /// Makes every write that completed before the call durable. Final when it fails (invariant 1).
  void sync();

  /// Reserves space for [offset, offset + length) and extends the file to its end.
  void allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes);
  void truncate(std::uint64_t size_bytes);
  [[nodiscard]] std::uint64_t size_bytes();

  /// True once a sync has failed.
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] virtual std::size_t alignment_bytes() const noexcept = 0;
  /// Largest write the device promises not to tear, 0 if it promises none.
  [[nodiscard]] virtual std::size_t atomic_write_bytes_max() const noexcept = 0;

 protected:
  explicit File(std::string name) : name_(std::move(name)) {}

  /// Progress of one transfer as an implementation reports it: bytes moved (0 at end of file), or
  /// a negative errno.
  struct Attempted {
    Transfer* transfer = nullptr;
    std::size_t already_bytes = 0;  ///< moved by earlier attempts; go on from here
    std::int64_t result = 0;        ///< out
  };

  /// Attempts every transfer once; each may be short.
  virtual void do_transfer(std::span<Attempted> batch) noexcept = 0;
  /// 0 or errno.
  virtual int do_sync() noexcept = 0;
  virtual int do_allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) noexcept = 0;
  virtual int do_truncate(std::uint64_t size_bytes) noexcept = 0;
  virtual int do_size(std::uint64_t& size_bytes) noexcept = 0;

 private:
  std::string name_;
  std::atomic<bool> failed_{false};
};

enum class OpenMode : std::uint8_t {
  read_only = 1,  ///< must exist
  read_write,     ///< must exist
  create_new,     ///< must not exist; mode 0600
};

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Opens a file of the directory, without following symbolic links. With `exclusive`, the file is
  /// locked against every other open of this kind, in this process and others (Error locked).
  [[nodiscard]] virtual std::unique_ptr<File> open(std::string_view name, OpenMode mode,
                                                   bool exclusive) = 0;
  [[nodiscard]] virtual bool exists(std::string_view name) = 0;
  virtual void remove(std::string_view name) = 0;
  virtual void rename(std::string_view from, std::string_view to) = 0;
  /// Makes creations, removals and renames in the directory durable.
  virtual void sync_directory() = 0;
  [[nodiscard]] virtual std::vector<std::string> list() = 0;

  /// Memory that transfers will often use; implementations may register it with the kernel. It must
  /// outlive every later transfer from it.
  virtual void register_buffer(MutableBytes memory) = 0;

  /// "io_uring, O_DIRECT", "posix, buffered (O_DIRECT refused)", ...: for logs and statistics.
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual const std::string& path() const noexcept = 0;

 protected:
  Device() = default;
};

}  // namespace palimpsest::io
