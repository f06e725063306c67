// How the parts of the engine report what happens: to a sink that they are given.
//
// A part reports under whatever latches it holds, so the sinks that a database gives to its parts
// only queue (message_log.h). The other sinks write, and are for programs and tests that use a part
// by itself.
// Thread-safety: log_to() and the sinks, from any thread.
// Failure: log_to() throws nothing.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "palimpsest/log.h"

namespace palimpsest {

/// Empty: nothing is reported.
using LogSink = LogFunction;

/// LogMessage::component; docs/api.md says what each reports.
namespace component {
inline constexpr std::string_view kBulk = "bulk";
inline constexpr std::string_view kCheckpoint = "checkpoint";
inline constexpr std::string_view kDatabase = "database";
inline constexpr std::string_view kDevice = "device";
inline constexpr std::string_view kLog = "log";
inline constexpr std::string_view kMessages = "messages";
inline constexpr std::string_view kPages = "pages";
inline constexpr std::string_view kRecovery = "recovery";
inline constexpr std::string_view kSpace = "space";
inline constexpr std::string_view kTables = "tables";
inline constexpr std::string_view kTransaction = "transaction";
}  // namespace component

/// Reports an event. What the sink throws is ignored: the message is lost.
void log_to(const LogSink& sink, LogLevel level, std::string_view component,
            std::string_view message, std::initializer_list<LogField> fields = {}) noexcept;

/// Writes messages of at least this level as lines to standard error: "palimpsest: warning: ...".
[[nodiscard]] LogSink stderr_log_sink(LogLevel level_min = LogLevel::warning);

/// Appends messages of at least this level as lines to the file, with date and time. Throws Error
/// io_error, naming the file, if it cannot be opened.
[[nodiscard]] LogSink file_log_sink(const std::string& path, LogLevel level_min);

}  // namespace palimpsest
