// A database with its log, opened for subcommands that only read it: nothing is changed, and a
// database that was not closed cleanly is recovered in memory (database_view.h).
//
// Failure: Error. is_refusal() distinguishes refusals (in use, never finished, absent, no database,
//          not readable, its log elsewhere) from damage.
// Thread-safety: belongs to one thread.
#pragma once

#include <optional>
#include <string_view>

#include "palimpsest/error.h"

#include "base/io/device.h"
#include "engine/offline_database.h"
#include "tools/palimpsest/database_view.h"
#include "wal/log_store.h"

namespace palimpsest::tools {

/// Whether the error means that the database cannot be read now, and not that it is damaged.
[[nodiscard]] bool is_refusal(ErrorCode code) noexcept;

[[noreturn]] void throw_no_database(const io::Device& device, ErrorCode code, std::string_view why);

/// Throws not_found if there is no page file.
void require_page_file(io::Device& device);

/// The log's directory. Throws as open_log_directory() if there is none.
[[nodiscard]] io::Device& require_log(DatabaseView& view, const ClosedOptions& options);

/// Throws not_closed_cleanly if the log says so, or has records to replay; and errors of reading
/// it.
void require_nothing_to_replay(const wal::LogStore& log);

/// An open database: pages, space map, catalog, log.
class ClosedFiles {
 public:
  explicit ClosedFiles(const ClosedOptions& options);

  [[nodiscard]] engine::OfflineDatabase& database() noexcept { return *database_; }
  [[nodiscard]] const wal::LogStore& log() const noexcept { return *log_; }
  [[nodiscard]] const DatabaseView& view() const noexcept { return view_; }

 private:
  void open_pages();
  void open_log(const ClosedOptions& options);

  DatabaseView view_;
  std::optional<engine::OfflineDatabase> database_;
  std::optional<wal::LogStore> log_;
};

}  // namespace palimpsest::tools
