// The state behind SimDisk: the cached, pending and durable data of each file, and the directory.
//
// Tests do not include this: they use sim_disk.h. Latching: SimState::mutex guards every member
// that is not const; functions say when it must be held.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/sector_image.h"
#include "tests/support/sim_disk.h"
#include "tests/support/sim_random.h"

namespace palimpsest::test {

/// A change of a file that is not durable yet.
struct PendingChange {
  enum class Kind : std::uint8_t { write = 1, grow, truncate };

  Kind kind = Kind::write;
  bool atomic = false;
  std::uint64_t sequence = 0;      ///< order of completion; 0 while in flight
  std::uint64_t offset_bytes = 0;  ///< of a write; otherwise the size to reach
  std::vector<std::byte> data{};

  [[nodiscard]] std::uint64_t end_bytes() const noexcept { return offset_bytes + data.size(); }
};

struct Inode {
  SectorImage cached;    ///< what reads see
  SectorImage previous;  ///< what the last write of each sector replaced, for stale reads
  SectorImage durable;
  std::uint64_t cached_size_bytes = 0;
  std::uint64_t durable_size_bytes = 0;
  std::vector<std::shared_ptr<const PendingChange>> in_flight{};
  std::vector<std::shared_ptr<const PendingChange>> completed{};  ///< in that order, not durable
  int locks = 0;  ///< number of readers; -1: one writer

  /// Applies a change to what reads see, and notes that it is not durable.
  void complete(PendingChange change);
  /// As complete(), for the marked sectors of a write, as writes of their own.
  void complete_sectors(PendingChange write, const std::vector<bool>& sectors,
                        std::uint64_t sequence);
  /// Makes a change durable, or, with `sectors`, its marked sectors.
  void apply_to_durable(const PendingChange& change, const std::vector<bool>* sectors = nullptr);
};

using InodeId = std::uint64_t;

/// A change of the directory that is not durable yet.
struct NameChange {
  SimKind kind = SimKind::create;
  std::string name{};
  std::string new_name{};  ///< of a rename
  InodeId inode = 0;
  std::uint64_t sequence = 0;  ///< order of completion
};

using Names = std::map<std::string, InodeId, std::less<>>;

/// Applies the change as far as it makes sense: after a crash any subset of them is applied.
void apply_name_change(const NameChange& change, Names& names);

class SimState {
 public:
  explicit SimState(const SimOptions& the_options) : options(the_options) {}

  /// Mutex held: numbers an operation and finds the fault that hits it. With the power off that is
  /// EIO.
  struct Started {
    std::uint64_t number = 0;
    std::optional<SimFault> fault{};
    SimRandom random{};  ///< for details of this operation

    /// The errno with which the operation must fail, or 0.
    [[nodiscard]] int error() const noexcept {
      return fault && fault->effect == SimFault::Effect::error ? fault->error : 0;
    }
  };
  [[nodiscard]] Started start(SimKind kind, std::string_view file);

  /// Mutex not held: calls the hook, if there is one.
  void call_hook(const SimOperation& operation);

  /// Mutex held.
  [[nodiscard]] Inode& inode(InodeId id) { return inodes.at(id); }
  [[nodiscard]] std::uint64_t used_bytes() const;
  void drop_if_unused(InodeId id);
  /// Mutex held: a change of the directory has completed.
  void complete(NameChange change);

  /// A copy for a snapshot: everything but hooks, faults, locks. Mutex not held.
  [[nodiscard]] std::shared_ptr<SimState> copy();

  /// Turns this state into that after a crash. For a copy that no other thread uses.
  void lose_power(std::uint64_t seed, CrashKeeps keeps);
  /// As lose_power(), after a process was killed.
  void lose_process(std::uint64_t seed);

  const SimOptions options;
  std::mutex mutex;
  std::uint64_t operations = 0;
  std::uint64_t last_sequence = 0;
  InodeId last_inode = 0;
  bool powered_off = false;
  bool directory_locked = false;
  std::map<InodeId, Inode> inodes;
  std::map<InodeId, unsigned> open_count;
  Names names;
  Names durable_names;
  std::vector<NameChange> name_changes;  ///< completed, not durable
  std::vector<SimFault> faults;          ///< nth counts down
  std::shared_ptr<const SimDisk::Hook> hook;
  std::shared_ptr<const SimDisk::WriteChecker> write_checker;
};

}  // namespace palimpsest::test
