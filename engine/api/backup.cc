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
#include "engine/api/copy_place.h"
#include "engine/api/database_state.h"
#include "engine/api/visiting.h"

namespace palimpsest {

void detail::refuse_within_own(std::string_view what, const std::string& path,
                               const std::string& own) {
  if (io::lies_within(path, own) && !io::lies_within(own, path)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("\"{}\" lies in \"{}\", the database's own directory: {} needs a "
                            "directory of its own, outside of it",
                            path, own, what));
  }
}

namespace {

void refuse_own(const detail::DatabaseState& database, const std::string& path) {
  detail::refuse_within_own("a backup", path, database.pages->path());
  if (database.log != nullptr) {
    detail::refuse_within_own("a backup", path, database.log->path());
  }
}

}  // namespace

BackupReport Database::backup(const std::filesystem::path& directory,
                              const BackupOptions& options) const {
  const detail::DatabaseState& database = state();
  detail::Visiting::refuse_within(database);
  const std::string path = directory.string();
  const bool was_there = io::may_be_there(path);
  if (!was_there) {
    refuse_own(database, path);
  }
  const auto into = io::open_device(path, {.create = true, .log = {}});
  if (was_there) {  // a path that is no directory was refused as such
    refuse_own(database, path);
  }
  const auto remove_made = [&] {
    if (!was_there) {
      io::remove_empty_directory(path);
    }
  };
  try {
    return database.engine->back_up(*into, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::locked) {  // if so, another backup is made there
      remove_made();
    }
    throw;
  } catch (...) {
    remove_made();
    throw;
  }
}

}  // namespace palimpsest
