// A database, with its log, as the subcommands that look at it open it: nothing is changed, and
// what was not closed cleanly is recovered in memory (database_view.h).
//
// Failure: Error. is_refusal() tells what says that it cannot be looked at now (in use, never
//          finished, absent, no database, not readable, its log elsewhere) from damage.
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

/// Whether this says that the database cannot be looked at now, and not that it is damaged.
[[nodiscard]] bool is_refusal(ErrorCode code) noexcept;

[[noreturn]] void throw_no_database(const io::Device& device, ErrorCode code, std::string_view why);

/// Throws not_found if there is no page file.
void require_page_file(io::Device& device);

/// The log's directory. Throws what open_log_directory() does if there is none.
[[nodiscard]] io::Device& require_log(DatabaseView& view, const ClosedOptions& options);

/// Throws not_closed_cleanly if the log says so, or has anything to be replayed; what reading it
/// throws.
void require_nothing_to_replay(const wal::LogStore& log);

/// All of it open: pages, space map, catalog, log.
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
