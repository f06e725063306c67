#include "tools/palimpsest/closed_files.h"

#include <fmt/format.h>

#include "engine/engine.h"
#include "tools/palimpsest/directories.h"

namespace palimpsest::tools {
bool is_refusal(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::not_closed_cleanly:
    case ErrorCode::locked:
    case ErrorCode::not_found:
    case ErrorCode::not_a_database:
    case ErrorCode::permission_denied:
    case ErrorCode::unsupported_version:
    case ErrorCode::out_of_memory:
    case ErrorCode::io_error: return true;
    default: return false;
  }
}

void throw_no_database(const io::Device& device, ErrorCode code, std::string_view why) {
  throw Error(code, fmt::format("\"{}\" does not hold a database: {}", device.path(), why));
}

void require_page_file(io::Device& device) {
  if (!device.exists(buffer::kPageFileName)) {
    throw_no_database(device, ErrorCode::not_found,
                      fmt::format("there is no file \"{}\"", buffer::kPageFileName));
  }
}

void require_nothing_to_replay(const wal::LogStore& log) {
  if (has_to_be_replayed(log)) {
    throw Error(ErrorCode::not_closed_cleanly,
                fmt::format("{}: the log says that the database was not closed cleanly",
                            log.segments().directory()));
  }
}

io::Device& require_log(DatabaseView& view, const ClosedOptions& options) {
  if (view.log == nullptr) {
    view.log = open_log_directory(options.directory, options.log_directory);
  }
  return *view.log;
}

ClosedFiles::ClosedFiles(const ClosedOptions& options) : view_(view_of(options)) {
  open_pages();
  open_log(options);
  database_->open_space();
  database_->open_catalog(options.memory_mib << 20U);
}

/// A file that is not a page file, beside a log, is a damaged page file.
void ClosedFiles::open_pages() {
  require_page_file(*view_.pages);
  try {
    database_.emplace(*view_.pages);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_a_database) {
      throw;
    }
    if (view_.log == nullptr) {
      throw_no_database(*view_.pages, error.code(), error.what());
    }
    throw Error(ErrorCode::corruption, error.what());
  }
}

/// A log of another database is damage, unless the caller has named the log's directory.
void ClosedFiles::open_log(const ClosedOptions& options) {
  io::Device& device = require_log(view_, options);
  try {
    require_log_control(device);
  } catch (const Error& error) {
    throw Error(ErrorCode::corruption, error.what());
  }
  log_.emplace(wal::LogStore::open(device, {}, true));
  if (log_->control().state().uuid != database_->file().header().uuid) {
    throw Error(options.log_directory.empty() ? ErrorCode::corruption : ErrorCode::not_found,
                fmt::format("{}: the log belongs to another database", device.path()));
  }
  require_nothing_to_replay(*log_);
}

}  // namespace palimpsest::tools
