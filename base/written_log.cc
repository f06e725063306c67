// The sinks that write lines, by spdlog: the only source that uses it (docs/decisions/059-log.md).
//
// Loggers are made by hand: spdlog's registry, and its sinks for the console, have mutexes of the
// whole process, which a child of fork() could find locked for ever.
#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>
#include <mutex>
#include <utility>

#include "palimpsest/error.h"

#include "base/log_sink.h"

namespace palimpsest {
namespace {

constexpr const char* kName = "palimpsest";
constexpr const char* kLine = "%n: %l: %v";
constexpr const char* kLineWithTime = "%Y-%m-%d %H:%M:%S.%e %z %n[%P]: %l: %v";

spdlog::level::level_enum level_of(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: break;
  }
  return spdlog::level::off;
}

/// One line at a time, by a mutex of its own.
class Lines {
 public:
  Lines(spdlog::sink_ptr sink, const char* pattern, LogLevel level_min)
      : logger_(kName, std::move(sink)) {
    logger_.set_pattern(pattern);
    logger_.set_level(level_of(level_min));
    logger_.flush_on(spdlog::level::trace);
  }
  void write(const LogMessage& message) {
    const spdlog::level::level_enum level = level_of(message.level);
    if (!logger_.should_log(level)) {
      return;
    }
    const std::string text = text_of(message);
    const std::lock_guard lock(mutex_);
    logger_.log(level, spdlog::string_view_t(text.data(), text.size()));
  }

 private:
  std::mutex mutex_;
  spdlog::logger logger_;
};

LogSink sink_of(std::shared_ptr<Lines> lines) {
  return [lines = std::move(lines)](const LogMessage& message) { lines->write(message); };
}

}  // namespace

LogSink stderr_log_sink(LogLevel level_min) {
  return sink_of(
      std::make_shared<Lines>(std::make_shared<spdlog::sinks::stderr_sink_st>(), kLine, level_min));
}

LogSink file_log_sink(const std::string& path, LogLevel level_min) {
  try {
    return sink_of(std::make_shared<Lines>(
        std::make_shared<spdlog::sinks::basic_file_sink_st>(path), kLineWithTime, level_min));
  } catch (const spdlog::spdlog_ex& error) {
    throw Error(ErrorCode::io_error,
                fmt::format("the log \"{}\" cannot be opened: {}", path, error.what()));
  }
}

}  // namespace palimpsest
