// A simulated disk with a file system of one directory, as a Device: it distinguishes what was
// written from what survives, loses, tears and reorders the rest in a crash, and fails on demand.
//
// What survives a crash. A write is submitted (in flight), then completed, and durable only once a
// sync of its file, submitted after the write completed, has succeeded. In a crash any subset of
// the sectors of completed writes persists, in any order; a sector in flight is old, new or
// garbage. A file's size, each creation, removal and rename are pending items of their own; names
// become durable by sync_directory() only. A rename takes place wholly or not at all. An atomic
// write, where the options allow them, is never torn. A failed sync loses what it should have made
// durable (a random part may have arrived), although reads still show it, and the next sync
// succeeds: File makes that final, the disk does not.
//
// Determinism: what a crash keeps depends on its seed and the disk's state only; details of faults
// and the order of completions in a batch depend on the options' seed and the operation's number.
// Bugs of the caller abort: two overlapping writes in flight in one file. Thread-safety: any number
// of threads may call everything. The thread that does an operation calls the hook and the write
// checker without holding a lock: they may take snapshots.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/device.h"
#include "tests/support/sector_image.h"

namespace palimpsest::test {

class SimState;

/// Kinds of operations, as bits of a set.
enum class SimKind : unsigned {
  read = 1U << 0U,
  write = 1U << 1U,
  sync = 1U << 2U,
  allocate = 1U << 3U,
  truncate = 1U << 4U,
  size = 1U << 5U,
  open = 1U << 6U,  ///< of a file that exists
  create = 1U << 7U,
  remove = 1U << 8U,
  rename = 1U << 9U,
  sync_directory = 1U << 10U,
};

[[nodiscard]] constexpr unsigned operator|(SimKind a, SimKind b) noexcept {
  return static_cast<unsigned>(a) | static_cast<unsigned>(b);
}
[[nodiscard]] constexpr unsigned operator|(unsigned a, SimKind b) noexcept {
  return a | static_cast<unsigned>(b);
}
inline constexpr unsigned kEveryKind = ~0U;

/// The argument of the hook.
struct SimOperation {
  std::uint64_t number = 0;  ///< from 1
  SimKind kind = SimKind::read;
  std::string_view file;  ///< the plain name; of a rename, the old one
  std::uint64_t offset_bytes = 0;
  std::uint64_t size_bytes = 0;
};

/// A failure to come: of the n-th matching operation from now.
struct SimFault {
  enum class Effect : std::uint8_t {
    error = 1,       ///< the operation fails with `error`; of a failed write any part may be stored
    short_transfer,  ///< transfers a part, and reports that
    flip_bits,       ///< flips some bits of the data, on their way to or from the disk
    zero,            ///< the data become zeros
    lose,            ///< a write that succeeds and stores nothing
    tear,            ///< a write that succeeds and stores some of its sectors
    misdirect,       ///< the data go to, or come from, another offset of the file
    stale_read,      ///< a read gets the data before the last write
  };

  Effect effect = Effect::error;
  int error = EIO;
  unsigned kinds = kEveryKind;  ///< bits of SimKind
  std::string file{};           ///< plain name; empty: any
  std::uint64_t nth = 1;        ///< counted from the injection on, 1 is the next
  bool for_good = false;        ///< every later one as well
};

struct SimOptions {
  std::uint64_t seed = 1;
  std::size_t alignment_bytes = kSectorBytes;
  /// 0: no write is atomic.
  std::size_t atomic_write_bytes_max = 0;
  /// Sum of the files' sizes beyond which there is no space.
  std::uint64_t capacity_bytes = std::numeric_limits<std::uint64_t>::max();
  /// Transfers of a batch complete in a random order, and those of other threads between them.
  bool reorder_completions = true;
};

/// How much a crash keeps of what was not durable.
enum class CrashKeeps : std::uint8_t {
  random = 1,  ///< from nothing to everything, by the seed
  nothing,     ///< only what is durable
  everything,  ///< as if every operation had become durable; those in flight too
};

/// A handle of a simulated disk; copies name the same disk.
class SimDisk {
 public:
  using Hook = std::function<void(const SimOperation&)>;
  /// Gets every block written: file, offset, bytes.
  using WriteChecker = std::function<void(std::string_view, std::uint64_t, ConstBytes)>;

  explicit SimDisk(const SimOptions& options = {});

  /// The disk as a Device. There may be several; they share the files.
  [[nodiscard]] std::unique_ptr<io::Device> device() const;

  /// A disk in the same state (cached, in flight, pending, durable), independent from now on:
  /// without hooks, faults, locks. Cheap: only pointers are copied.
  [[nodiscard]] SimDisk snapshot() const;

  /// The disk after a power failure now. This disk itself is unchanged and may go on.
  [[nodiscard]] SimDisk crash(std::uint64_t seed, CrashKeeps keeps = CrashKeeps::random) const;

  /// The disk after the process has been killed now: what was cached stays cached, and each write
  /// in flight has taken place or not. This disk itself is unchanged.
  [[nodiscard]] SimDisk kill(std::uint64_t seed) const;

  /// From now on every operation fails with EIO: as for a process that outlives its disk.
  void power_off();

  /// Called at every write, sync and metadata operation, after it was submitted and before it
  /// completes. An empty function removes the hook.
  void set_hook(Hook hook);
  void set_write_checker(WriteChecker checker);

  void inject(SimFault fault);
  void clear_faults();

  /// Operations so far, of every kind.
  [[nodiscard]] std::uint64_t operations() const;
  /// Sectors written and not durable, those in flight included.
  [[nodiscard]] std::uint64_t pending_sectors() const;

  /// The file as reads see it; what would certainly survive a crash; absent files are empty.
  [[nodiscard]] std::vector<std::byte> contents(std::string_view file) const;
  [[nodiscard]] std::vector<std::byte> durable_contents(std::string_view file) const;
  /// Damages a file on the medium itself, durably.
  void overwrite(std::string_view file, std::uint64_t offset_bytes, ConstBytes bytes);

 private:
  explicit SimDisk(std::shared_ptr<SimState> state) : state_(std::move(state)) {}

  std::shared_ptr<SimState> state_;
};

}  // namespace palimpsest::test
