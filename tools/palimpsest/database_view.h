// A database's directories for subcommands that only read: unchanged if it was closed cleanly, else
// recovered in memory, as opening it would leave them. Nothing is written to them.
//
// No process can write to the database while there is a view of it; other processes may read it,
// too.
// Failure: Error as open_quietly() and the opening of a database (locked, corruption, ...);
//          out_of_memory if recovery needs more than the memory for pages.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/io/device.h"
#include "tools/load/database_place.h"
#include "wal/log_store.h"

namespace palimpsest::tools {

/// Where such a subcommand finds the database.
struct ClosedOptions {
  std::string directory;
  std::string log_directory;  ///< empty: beside the pages
  bool json = false;
  std::uint64_t memory_mib = 64;  ///< for pages
  load::MessagePlace messages{};
};

struct DatabaseView {
  std::unique_ptr<io::Device> pages;
  std::unique_ptr<io::Device> log;  ///< null: there is none
  std::unique_ptr<io::File> lock;   ///< the page file; null: there is none
  bool is_recovered = false;        ///< it was not closed cleanly
};

/// Whether opening the database would replay any of its log. Throws errors of reading it.
[[nodiscard]] bool has_to_be_replayed(const wal::LogStore& log);

/// If the database cannot be read at all, the view shows it unchanged: its reader meets the damage.
[[nodiscard]] DatabaseView view_of(const ClosedOptions& options);

/// If the view is a recovered one, says so on standard error, in the name of `command`.
void tell_if_recovered(const DatabaseView& view, const char* command);

}  // namespace palimpsest::tools
