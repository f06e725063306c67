#include "palimpsest/backup.h"

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

BackupReport Database::backup(const std::filesystem::path& directory,
                              const BackupOptions& options) const {
  const detail::DatabaseState& database = state();
  detail::Visiting::refuse_within(database);
  const std::string path = directory.string();
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
