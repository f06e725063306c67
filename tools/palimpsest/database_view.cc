#include "tools/palimpsest/database_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/error.h"

#include "base/io/overlay_device.h"
#include "base/log_sink.h"
#include "base/message_log.h"
#include "buffer/page_file.h"
#include "engine/engine.h"
#include "tools/load/message.h"
#include "tools/palimpsest/directories.h"
#include "wal/log_reader.h"

namespace palimpsest::tools {
namespace {

/// Whether there is an undamaged database that has to be recovered. False, without a message, if it
/// cannot be read.
bool has_to_be_recovered(const DatabaseView& view) {
  try {
    const auto file = buffer::PageFile::open(*view.pages, buffer::kPageFileName,
                                             {.read_only = true, .allow_unclean = true});
    const wal::LogStore log = wal::LogStore::open(*view.log, {}, true);
    const bool is_whole =
        file->catalog_root() != kNoPage && log.control().state().uuid == file->header().uuid;
    return is_whole && (!file->was_clean() || has_to_be_replayed(log));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::locked) {
      throw;
    }
    return false;
  }
}

void recover(const DatabaseView& view, const io::OverlayMemory& memory,
             const ClosedOptions& options) {
  engine::EngineOptions how;
  how.memory_bytes =
      std::max(options.memory_mib << 20U, engine::Engine::memory_bytes_min(buffer::kPageSizeMax));
  how.create_if_missing = false;
  how.background_threads = false;
  const LogLevel level = options.messages.level;
  const auto report =
      options.messages.function ? options.messages.function : stderr_log_sink(level);
  // Errors are those of the copy in memory, which is thrown away: they reach the caller as such.
  const MessageLog messages(
      [&report](const LogMessage& message) {
        if (message.level != LogLevel::error) {
          report(message);
        }
      },
      level);
  how.log = messages.sink();
  try {
    engine::Engine::open(*view.pages, *view.log, how)->close();
  } catch (const Error&) {
    if (!memory.has_refused()) {
      throw;
    }
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{}: the database was not closed cleanly, and has more to recover than "
                            "{} MiB can hold (--memory-mib)",
                            view.pages->path(), options.memory_mib));
  }
}

}  // namespace

bool has_to_be_replayed(const wal::LogStore& log) {
  const wal::ControlState& control = log.control().state();
  return !control.clean || wal::LogReader(log.segments(), control).find_end().batches != 0;
}

DatabaseView view_of(const ClosedOptions& options) {
  const auto memory = std::make_shared<io::OverlayMemory>(options.memory_mib << 20U);
  DatabaseView view;
  view.pages = std::make_unique<io::OverlayDevice>(open_quietly(options.directory), memory);
  if (view.pages->exists(buffer::kPageFileName)) {
    view.lock = view.pages->open(buffer::kPageFileName, io::OpenMode::read_only, true);
  }
  if (!has_log(options.directory, options.log_directory)) {
    return view;
  }
  view.log = std::make_unique<io::OverlayDevice>(
      open_log_directory(options.directory, options.log_directory), memory);
  if (view.lock != nullptr && has_to_be_recovered(view)) {
    recover(view, *memory, options);
    view.is_recovered = true;
  }
  return view;
}

void tell_if_recovered(const DatabaseView& view, const char* command) {
  if (view.is_recovered) {
    load::tell(fmt::format(
        "palimpsest {}: {} was not closed cleanly: it is shown as opening it will recover it\n",
        command, view.pages->path()));
  }
}

}  // namespace palimpsest::tools
