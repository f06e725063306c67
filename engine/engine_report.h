// What the log says of a database as a whole: that it was opened and what was found, recovered,
// closed.
//
// Thread-safety: functions of values. Failure: nothing is thrown; without memory nothing is said.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/io/device.h"
#include "base/log_sink.h"
#include "buffer/page_file.h"
#include "engine/recovery/transaction_table.h"
#include "wal/log_reader.h"
#include "wal/log_store.h"

namespace palimpsest::engine {

struct EngineOptions;
struct RecoveryOutcome;

/// Measures how long opening or closing takes.
class ReportedTime {
 public:
  [[nodiscard]] std::int64_t milliseconds() const noexcept {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 begun_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

/// What was opened.
struct OpenedReport {
  const io::Device& pages;
  const io::Device& log;
  const buffer::PageFile& file;
  const wal::LogStore& store;
  const EngineOptions& options;
  const RecoveryOutcome& recovery;
  bool is_new = false;
  const ReportedTime& time;
};

void report_opened(const LogSink& to, const OpenedReport& report) noexcept;
/// Before replay: the part of the log that is read again.
void report_recovery(const LogSink& to, const io::Device& pages, const wal::LogStore& store,
                     const wal::LogEnd& end) noexcept;
/// After analysis: the transactions that will be undone.
void report_losers(const LogSink& to, const std::vector<LoserTransaction>& losers) noexcept;
void report_recovered(const LogSink& to, const io::Device& pages,
                      const RecoveryOutcome& outcome) noexcept;
void report_closed(const LogSink& to, const io::Device& pages, const ReportedTime& time) noexcept;
/// The destructor, which throws nothing, could not close it.
void report_not_closed(const LogSink& to, const io::Device& pages, const char* cause) noexcept;

}  // namespace palimpsest::engine
