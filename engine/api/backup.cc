#include "palimpsest/backup.h"

#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "palimpsest/database.h"
#include "palimpsest/error.h"

#include "base/io/device.h"
#include "base/io/open_device.h"
#include "base/log_sink.h"
#include "engine/api/database_state.h"

namespace palimpsest {

BackupReport Database::backup(const std::filesystem::path& directory,
                              const BackupOptions& options) const {
  const detail::DatabaseState& database = state();
  std::error_code unknown;
  const bool was_there = std::filesystem::exists(directory, unknown) || unknown;
  const auto into = io::open_device(directory.string(),
                                    {.create = true, .log = [](LogLevel, std::string_view) {}});
  const auto remove_made = [&] {
    if (!was_there) {
      std::filesystem::remove(directory, unknown);  // it is empty
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
