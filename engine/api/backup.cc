#include "palimpsest/backup.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "palimpsest/database.h"
#include "palimpsest/error.h"

#include "base/io/device.h"
#include "base/io/open_device.h"
#include "base/log_sink.h"
#include "engine/api/database_state.h"
#include "engine/api/visiting.h"

namespace palimpsest {

namespace {

/// A copy there would be lost with the database, and would be taken for a part of it.
void refuse_within(const std::string& path, const std::string& own) {
  if (io::lies_within(path, own)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("\"{}\" lies in \"{}\", the database's own directory: a backup is made "
                            "in a directory of its own, outside of it",
                            path, own));
  }
}

}  // namespace

BackupReport Database::backup(const std::filesystem::path& directory,
                              const BackupOptions& options) const {
  const detail::DatabaseState& database = state();
  detail::Visiting::refuse_within(database);
  const std::string path = directory.string();
  refuse_within(path, database.pages->path());
  if (database.log != nullptr) {
    refuse_within(path, database.log->path());
  }
  const bool was_there = io::may_be_there(path);
  const auto into =
      io::open_device(path, {.create = true, .log = [](LogLevel, std::string_view) {}});
  const auto remove_made = [&] {
    if (!was_there) {
      io::remove_empty_directory(path);
    }
  };
  try {
    return database.engine->back_up(*into, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::locked) {  // then another one is made there
      remove_made();
    }
    throw;
  } catch (...) {
    remove_made();
    throw;
  }
}

}  // namespace palimpsest
