#include "engine/engine_report.h"

#include <exception>
#include <string>

#include "engine/engine.h"
#include "engine/version_share.h"

namespace palimpsest::engine {
namespace {

std::string_view found_by(const OpenedReport& report) noexcept {
  if (report.is_new) {
    return "nothing";
  }
  return report.recovery.was_needed ? "not closed cleanly" : "closed cleanly";
}

}  // namespace

void report_opened(const LogSink& to, const OpenedReport& report) noexcept {
  if (!to) {
    return;
  }
  try {
    const std::uint64_t version_bytes = report.options.version_bytes_max;
    const std::uint64_t memory_bytes = report.options.memory_bytes;
    log_to(to, LogLevel::info, component::kDatabase, "the database is open",
           {{"path", report.pages.path()},
            {"found", found_by(report)},
            {"duration_ms", report.time.milliseconds()},
            {"memory_bytes", memory_bytes},
            {"version_bytes_max",
             version_bytes != 0 ? version_bytes : default_version_bytes(memory_bytes)},
            {"format", std::uint64_t{report.file.header().format_version}},
            {"page_bytes", std::uint64_t{report.file.page_size_bytes()}},
            {"pages", report.file.page_count()},
            {"device", report.pages.description()},
            {"log_path", report.log.path()},
            {"log_bytes", report.store.segments().bytes()},
            {"log_bytes_max", report.store.segments().bytes_max()},
            {"log_device", report.log.description()}});
  } catch (const std::exception&) {
    return;
  }
}

void report_recovery(const LogSink& to, const io::Device& pages, const wal::LogStore& store,
                     const wal::LogEnd& end) noexcept {
  log_to(to, LogLevel::info, component::kRecovery,
         "the database was not closed cleanly: it is recovered from its log",
         {{"path", pages.path()},
          {"from_position", raw(store.control().state().start.position)},
          {"to_position", raw(end.position)},
          {"log_bytes", end.bytes}});
}

void report_losers(const LogSink& to, const std::vector<LoserTransaction>& losers) noexcept {
  for (const LoserTransaction& loser : losers) {
    log_to(to, LogLevel::debug, component::kRecovery, "a transaction had not ended: it is undone",
           {{"slot", std::uint64_t{raw(loser.name.slot)}}, {"first_lsn", raw(loser.name.first)}});
  }
}

void report_recovered(const LogSink& to, const io::Device& pages,
                      const RecoveryOutcome& outcome) noexcept {
  log_to(to, LogLevel::info, component::kRecovery, "the database is recovered",
         {{"path", pages.path()},
          {"log_bytes", outcome.log_bytes},
          {"changes_applied", outcome.changes_applied},
          {"losers_undone", outcome.losers},
          {"analysis_ms", std::int64_t{outcome.analysis.count()}},
          {"redo_ms", std::int64_t{outcome.redo.count()}},
          {"undo_ms", std::int64_t{outcome.undo.count()}}});
}

void report_closed(const LogSink& to, const io::Device& pages, const ReportedTime& time) noexcept {
  if (to) {
    log_to(to, LogLevel::info, component::kDatabase, "the database is closed",
           {{"path", pages.path()}, {"duration_ms", time.milliseconds()}});
  }
}

void report_not_closed(const LogSink& to, const io::Device& pages, const char* cause) noexcept {
  if (to) {
    log_to(to, LogLevel::error, component::kDatabase,
           "the database could not be closed: the next opening recovers it",
           {{"path", pages.path()}, {"cause", std::string_view(cause)}});
  }
}

}  // namespace palimpsest::engine
