// A database that was closed, with its log, as the subcommands that look at it open it: nothing is
// changed, and what is not closed cleanly is refused.
//
// Failure: Error. is_refusal() tells what says that it cannot be looked at now (in use, not closed
//          cleanly, absent, no database, not readable, its log elsewhere) from damage.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/error.h"

#include "base/io/device.h"
#include "engine/closed_database.h"
#include "wal/log_store.h"

namespace palimpsest::tools {

/// What such a subcommand is told of the database.
struct ClosedOptions {
  std::string directory;
  std::string log_directory;  ///< empty: beside the pages
  bool json = false;
  std::uint64_t memory_mib = 64;  ///< for pages
};

/// Whether this says that the database cannot be looked at now, and not that it is damaged.
[[nodiscard]] bool is_refusal(ErrorCode code) noexcept;

[[noreturn]] void throw_no_database(const io::Device& device, ErrorCode code, std::string_view why);

/// Throws not_found if there is no page file.
void require_page_file(io::Device& device);

/// Throws not_closed_cleanly if the log says so, or has anything to be replayed; what reading it
/// throws.
void require_nothing_to_replay(const wal::LogStore& log);

/// All of it open: pages, space map, catalog, log.
class ClosedFiles {
 public:
  explicit ClosedFiles(const ClosedOptions& options);

  [[nodiscard]] engine::ClosedDatabase& database() noexcept { return *database_; }
  [[nodiscard]] const wal::LogStore& log() const noexcept { return *log_; }

 private:
  void open_pages(const ClosedOptions& options);
  void open_log(const ClosedOptions& options);

  std::unique_ptr<io::Device> pages_device_;
  std::unique_ptr<io::Device> log_device_;
  std::optional<engine::ClosedDatabase> database_;
  std::optional<wal::LogStore> log_;
};

}  // namespace palimpsest::tools
