// The engine's messages to its operator, through a sink the user can replace.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace palimpsest {

enum class LogLevel : std::uint8_t { info = 1, warning, error };

/// Receives one message without a line end. Called from any thread, possibly concurrently; must not
/// throw.
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// Writes "palimpsest: warning: ..." as one line to standard error.
[[nodiscard]] LogSink stderr_log_sink();

}  // namespace palimpsest
