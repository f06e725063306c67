// One database and its many lives: a process that uses it is killed, or closes it, again and again;
// after each, other processes open it, are killed during recovery, and compare its state with the
// journals. A watch names the calls of a process that hangs.
//
// Everything that opens the database is a process of its own: this one reports its crash as a
// fault, with the seed. Thread-safety: none; the process that uses it has no other threads.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/random.h"
#include "tests/everything/journal.h"
#include "tests/everything/worker.h"
#include "tests/everything/world.h"

namespace palimpsest::everything {

/// The location of the database.
struct Place {
  std::string directory;         ///< of the database and its copies; exists
  std::uint64_t disk_bytes = 0;  ///< 0: unlimited
};

class Lives {
 public:
  Lives(Place place, std::uint64_t seed);

  /// One life, its end, and the comparison. Returns the fault; empty: none.
  [[nodiscard]] std::string round();
  [[nodiscard]] std::string summary() const;

 private:
  using Body = std::function<void()>;
  struct Ended {
    int status = 0;      ///< of exit, or minus the signal
    std::string what{};  ///< its fault
  };

  [[nodiscard]] Mix any_mix();
  /// Runs a body in a process of its own, and kills it at that time if it has not ended.
  [[nodiscard]] Ended process(const Body& body, std::chrono::milliseconds until_kill);
  [[nodiscard]] Ended watch(pid_t child, std::chrono::steady_clock::time_point kill_at);
  [[nodiscard]] std::string hanging_call() const;

  void make();
  void live(const Mix& mix, std::chrono::milliseconds duration);
  [[nodiscard]] std::string look(bool is_closed);
  [[nodiscard]] std::string look_at_copy();
  /// Judges the database at that path. If opened for writing, writes to it when space is expected.
  void judge(const std::string& path, const Options& options, Positions lower, Positions upper,
             bool has_room);
  void audit() const;
  [[nodiscard]] std::string story() const;

  Place place_;
  std::uint64_t seed_;
  Random random_;
  std::string path_;
  std::uint32_t page_bytes_;
  std::unique_ptr<SharedMemory> shared_;
  World world_;
  std::uint64_t life_ = 0;

  std::uint64_t killed_ = 0;
  std::uint64_t killed_recovering_ = 0;
  std::uint64_t copies_ = 0;
  std::uint64_t transactions_ = 0;
  std::uint64_t given_up_ = 0;
  std::array<std::uint64_t, 64> counts_{};
};

}  // namespace palimpsest::everything
