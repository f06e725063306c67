// Logs of transactions on a simulated disk, and recovery's passes over them after a crash.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/large/large_value_format.h"
#include "engine/recovery/analysis.h"
#include "engine/recovery/redo.h"
#include "experiments/micro/logged_forest.h"
#include "tests/support/sim_disk.h"
#include "tests/wal/log_fixture.h"
#include "wal/transaction_log.h"

namespace palimpsest::engine::test {

inline constexpr std::uint32_t kPageSize = 4096;
inline constexpr wal::LogFileOptions kFiles{.segment_bytes = std::uint64_t{1} << 20U,
                                            .segments_max = 32};

/// A body of bytes.
using Body = std::vector<std::byte>;

/// Writes the transactions of a log, slot by slot.
class LogWriter {
 public:
  /// Makes the log, or continues behind its end as a new incarnation.
  explicit LogWriter(io::Device& device);

  /// The log of a slot, claimed on first use with all slots below.
  [[nodiscard]] wal::TransactionLog& of(std::uint32_t slot);
  [[nodiscard]] wal::test::OpenLog& log() noexcept { return log_; }

  /// Appends, with everything needed reserved before. Returns the GSN.
  Gsn change(std::uint32_t slot, const Body& body, Gsn at_least = Gsn{0});
  Gsn system(std::uint32_t slot, const Body& body, Gsn at_least = Gsn{0},
             wal::BodyKind kind = wal::BodyKind::tree);
  Gsn commit(std::uint32_t slot);
  /// Appends a compensation with this body; `undone_back`: distance to the change that it undoes.
  Gsn compensate(std::uint32_t slot, const Body& body, std::uint32_t undone_back);
  void rolled_back(std::uint32_t slot);
  /// Distance from the newest change of the slot's transaction to the one before it.
  [[nodiscard]] std::uint32_t back_of(std::uint32_t slot) const { return backs_.at(slot).back(); }
  /// As recovery does for another slot's transaction.
  void compensate_as(std::uint32_t slot, const wal::CompensationPrefix& prefix, const Body& body);
  void rolled_back_as(std::uint32_t slot, const wal::TransactionName& name);
  /// Makes everything appended durable, and includes it in the durable horizon.
  void harden();

 private:
  void reserve(std::uint32_t slot, std::size_t bytes);

  wal::test::OpenLog log_;
  std::vector<std::unique_ptr<wal::TransactionLog>> slots_;  ///< by slot
  std::map<std::uint32_t, std::vector<std::uint32_t>> backs_;
  std::map<std::uint32_t, Lsn> last_;
};

/// The analysis of the log in a directory. Space records are PageRuns as they lie in memory.
[[nodiscard]] RecoveryAnalysis analysis_of(io::Device& device, ProgressCallback progress = {});
/// The body of such a record.
[[nodiscard]] Body space_body(std::vector<buffer::PageRun> runs);

/// Opens log and page file of a directory, and runs both passes.
RedoStatistics recover(io::Device& device, const RedoOptions& options);

/// Compares the page file with the pages; the differences as text, "" if there are none.
[[nodiscard]] std::string differences(io::Device& device,
                                      const std::map<PageId, AlignedMemory>& expected);

}  // namespace palimpsest::engine::test
