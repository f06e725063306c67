// A log on a simulated disk, with self-describing records.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/clock.h"
#include "base/worker_slots.h"
#include "tests/support/sim_disk.h"
#include "wal/log.h"
#include "wal/log_reader.h"
#include "wal/log_store.h"

namespace palimpsest::wal::test {

inline constexpr RecordType kChange{1};
inline constexpr RecordType kCommit{2};
inline constexpr Uuid kUuid{1, 2, 3};

/// Small, so that segments are left and reused all the time.
inline constexpr LogFileOptions kSmallFiles{.segment_bytes = kSegmentBytesMin, .segments_max = 8};
inline LogOptions small_options() {
  return {.slot_log_bytes = 8192,
          .record_bytes_max = 2048,
          .batch_bytes_max = 8192,
          .on_filling = nullptr,
          .harden_pages = nullptr};
}

/// The payload of the n-th record of a slot: its number, then bytes that follow from both.
std::vector<std::byte> payload_of(SlotId slot, std::uint64_t number, std::size_t bytes);
/// The number in a payload; nothing if it is not one of payload_of(slot, ..).
std::optional<std::uint64_t> number_of(SlotId slot, ConstBytes payload);

/// A record as a test remembers it, or as the reader shows it.
struct Remembered {
  Incarnation incarnation{};
  SlotId slot{};
  std::uint64_t number = 0;
  Gsn gsn{};
  Lsn lsn{};
  RecordType type{};

  friend bool operator==(const Remembered&, const Remembered&) = default;
};

/// The result of a reader.
struct Found {
  LogEnd end;
  std::vector<Remembered> records;  ///< up to the cut
  std::vector<Remembered> beyond;   ///< beyond a cut
  std::vector<std::pair<Incarnation, Gsn>> cuts;
};

/// Thrown for a record that was never written.
struct UnknownRecord {};

/// Reads the whole log of a directory; unless it reads only, its result is durable afterwards.
/// Throws what the reader throws, or UnknownRecord.
Found read_log(io::Device& device, const LogFileOptions& files = kSmallFiles,
               bool read_only = true);

/// Appended records with GSN <= `acknowledged` that were not found, as text; "" if there is none.
std::string missing(const std::vector<Remembered>& appended, Gsn acknowledged, const Found& found);

/// An open log and its parts.
class OpenLog {
 public:
  /// Makes the log if there is none, or continues behind its end.
  explicit OpenLog(io::Device& device, const LogFileOptions& files = kSmallFiles,
                   const LogOptions& options = small_options());

  [[nodiscard]] Log& log() noexcept { return *log_; }
  [[nodiscard]] LogStore& store() noexcept { return *store_; }
  [[nodiscard]] Clock& clock() noexcept { return clock_; }
  [[nodiscard]] WorkerSlots& slots() noexcept { return slots_; }

  /// A claimed slot whose GSN is merged with the clock.
  SlotId claim();
  /// Appends the n-th record of a slot.
  Remembered change(SlotId slot, std::uint64_t number, std::size_t payload_bytes, Gsn at_least);
  Remembered commit(SlotId slot, std::uint64_t number);
  /// As change(), but meanwhile() runs in the middle of the append: the slot's GSN is taken and the
  /// record not published. It must not append to the same slot.
  Remembered change_while(SlotId slot, std::uint64_t number, std::size_t payload_bytes,
                          Gsn at_least, FunctionRef<void()> meanwhile);
  /// Moves replay's start behind all that is durable now.
  void forget();

 private:
  std::unique_ptr<LogStore> store_;
  Clock clock_;
  WorkerSlots slots_{64};
  std::unique_ptr<Log> log_;
};

}  // namespace palimpsest::wal::test
