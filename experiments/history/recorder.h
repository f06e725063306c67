// Records a history: a file of lines of JSON, each written before the call returns.
//
// A line is handed to the operating system at once, so a killed process leaves all its lines.
// resume() continues such a file: it drops an incomplete line, and adds an `info` for each
// transaction that had begun and not ended.
// Numbers of processes are never used again.
// Thread-safety: all functions. Failure: std::runtime_error, naming the file.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "experiments/history/event.h"

namespace palimpsest::experiments::history {

/// The state from which a history continues.
struct Continuation {
  std::uint64_t index = 0;    ///< of the next event
  std::int64_t process = 0;   ///< the next that no event has
  std::int64_t value = 1;     ///< above all that were written
  std::int64_t key = 0;       ///< above all that were used
  std::int64_t time_ns = 0;   ///< of the last event
  std::uint64_t unknown = 0;  ///< events `info`
  std::uint64_t ok = 0;       ///< events `ok`
};

class Recorder {
 public:
  /// Creates a file, replacing an existing one.
  explicit Recorder(const std::string& file);
  /// Continues a file that resume() has repaired.
  Recorder(const std::string& file, const Continuation& from);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  [[nodiscard]] std::int64_t new_process();
  void record(EventType type, std::int64_t process, const std::vector<Operation>& operations);

 private:
  std::string name_;
  int file_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();

  std::mutex mutex_;
  Event event_{};      // guarded by mutex_
  std::string line_;   // guarded by mutex_
  Continuation next_;  // guarded by mutex_
};

/// Repairs the file of a process that has ended, and returns the state to continue from.
[[nodiscard]] Continuation resume(const std::string& file);

/// Writes the same history as EDN.
void convert_to_edn(const std::string& json_file, const std::string& edn_file);

}  // namespace palimpsest::experiments::history
