// What a database reports about itself while it runs: levels, messages, and the function that
// receives them (Options::log).
//
// A message is about an event that no call returns: what opening found, a fallback, a transaction
// that was cancelled, work that the background could not do. An error that a call throws is not
// reported, except the first one after which the database cannot be written any more. Nothing is
// reported per row, per transaction or per page. docs/api.md lists the components.
// Thread-safety: plain values. A message, and all that it refers to, exists until the function that
//                received it returns.
// Failure: text_of() throws std::bad_alloc.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace palimpsest {

enum class LogLevel : std::uint8_t {
  debug = 1,  ///< the engine's own work: each checkpoint, each phase of recovery
  info,       ///< opening, recovery, closing: a few messages each time
  /// It works, but slower, with less than it was promised, or at the cost of a transaction that was
  /// cancelled.
  warning,
  error,  ///< it cannot be written any more, or could not be closed
  off,    ///< no message has this level: as Options::log_level, it suppresses all
};

/// "debug", "info", ...
[[nodiscard]] std::string_view name_of(LogLevel level) noexcept;

using LogValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::string_view>;

struct LogField {
  std::string_view key;  ///< lower case; the unit comes last: "duration_ms", "log_bytes"
  LogValue value;
};

struct LogMessage {
  LogLevel level = LogLevel::info;
  std::string_view component;          ///< the part of the engine: "checkpoint", "recovery", ...
  std::string_view message;            ///< one text for each kind of event, without a line end
  std::span<const LogField> fields{};  ///< what differs from one event to the next
};

/// One line without an end: `checkpoint: checkpoints lag behind the log replay_bytes=1048576`. Text
/// values with other characters than letters, digits and `_-./:+` are in quotes, with `"`, `\` and
/// control characters escaped. The level is not in it.
[[nodiscard]] std::string text_of(const LogMessage& message);

/// Receives the messages of a database, one at a time, from a thread that the database has for it.
/// No latch of the database is held meanwhile, so the function may block: the engine goes on, and
/// up to 1024 messages wait; the loss of further ones is a message of its own, with their number.
/// open() and close() wait until all that was reported before they return, or throw, is delivered.
/// The function must not call the database, as close() would wait for it. An exception that it
/// throws is ignored. If several databases have one function, their threads call it concurrently.
/// In a child of fork() it is not called.
using LogFunction = std::function<void(const LogMessage&)>;

}  // namespace palimpsest
