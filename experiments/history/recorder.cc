#include "experiments/history/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace palimpsest::experiments::history {
namespace {

[[noreturn]] void refuse(const std::string& file, int error) {
  throw std::runtime_error(fmt::format("{}: {}", file, std::generic_category().message(error)));
}

int open_file(const std::string& name, int flags) {
  constexpr mode_t kMode = 0644;
  const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, kMode);
  if (file < 0) {
    refuse(name, errno);
  }
  return file;
}

std::ifstream read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) {
    refuse(name, ENOENT);
  }
  return file;
}

Event parse(const std::string& file, const std::string& line) {
  try {
    return parse_json(line);
  } catch (const MalformedEvent& error) {
    throw std::runtime_error(fmt::format("{}: {}: {}", file, error.what(), line));
  }
}

void count(Continuation& next, const Event& event) {
  next.index = std::max(next.index, event.index + 1);
  next.process = std::max(next.process, event.process + 1);
  next.time_ns = std::max(next.time_ns, event.time_ns);
  next.ok += event.type == EventType::ok ? 1U : 0U;
  next.unknown += event.type == EventType::info ? 1U : 0U;
  for (const Operation& operation : event.operations) {
    next.key = std::max(next.key, operation.key + 1);
    for (const std::int64_t value : operation.values) {
      next.value = std::max(next.value, value + 1);
    }
  }
}

}  // namespace

Recorder::Recorder(const std::string& file) : name_(file), file_(open_file(file, O_TRUNC)) {}

Recorder::Recorder(const std::string& file, const Continuation& from)
    : name_(file), file_(open_file(file, 0)), next_(from) {
  begin_ -= std::chrono::nanoseconds(from.time_ns);
}

Recorder::~Recorder() {
  ::close(file_);
}

std::int64_t Recorder::new_process() {
  const std::lock_guard lock(mutex_);
  return next_.process++;
}

void Recorder::record(EventType type, std::int64_t process,
                      const std::vector<Operation>& operations) {
  const std::lock_guard lock(mutex_);
  event_.type = type;
  event_.process = process;
  event_.index = next_.index++;
  event_.time_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                       std::chrono::steady_clock::now() - begin_)
                       .count();
  event_.operations = operations;
  line_.clear();
  append_json(line_, event_);
  const ssize_t written = ::write(file_, line_.data(), line_.size());
  if (written != static_cast<ssize_t>(line_.size())) {
    refuse(name_, written < 0 ? errno : ENOSPC);
  }
}

Continuation resume(const std::string& file) {
  Continuation next;
  std::map<std::int64_t, Event> open;
  std::uintmax_t whole_bytes = 0;
  {
    std::ifstream lines = read_file(file);
    for (std::string line; std::getline(lines, line) && !lines.eof();) {
      Event event = parse(file, line);
      whole_bytes += line.size() + 1;
      count(next, event);
      if (event.type == EventType::invoke) {
        open[event.process] = std::move(event);
      } else {
        open.erase(event.process);
      }
    }
  }
  std::filesystem::resize_file(file, whole_bytes);
  std::ofstream more(file, std::ios::binary | std::ios::app);
  std::string line;
  for (auto& [process, event] : open) {
    event.type = EventType::info;
    event.index = next.index;
    event.time_ns = next.time_ns;
    count(next, event);
    line.clear();
    append_json(line, event);
    more << line;
  }
  if (!more.flush()) {
    refuse(file, EIO);
  }
  return next;
}

void convert_to_edn(const std::string& json_file, const std::string& edn_file) {
  std::ifstream lines = read_file(json_file);
  std::ofstream converted(edn_file, std::ios::binary | std::ios::trunc);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    text.clear();
    append_edn(text, parse(json_file, line));
    converted << text;
  }
  if (!converted.flush()) {
    refuse(edn_file, EIO);
  }
}

}  // namespace palimpsest::experiments::history
