// A database's directories as the subcommands that look at it see them: as they are if it was
// closed cleanly, else as opening it would leave them, recovered in memory. Nothing is written to
// them.
//
// Nobody can write to the database while there is a view of it; others may look at it, too.
// Failure: Error as open_quietly() and the opening of a database (locked, corruption, ...);
//          out_of_memory if more has to be recovered than the memory for pages can hold.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/io/device.h"
#include "wal/log_store.h"

namespace palimpsest::tools {

/// What such a subcommand is told of the database.
struct ClosedOptions {
  std::string directory;
  std::string log_directory;  ///< empty: beside the pages
  bool json = false;
  std::uint64_t memory_mib = 64;  ///< for pages
};

struct DatabaseView {
  std::unique_ptr<io::Device> pages;
  std::unique_ptr<io::Device> log;  ///< null: there is none
  std::unique_ptr<io::File> lock;   ///< the page file; null: there is none
  bool is_recovered = false;        ///< it was not closed cleanly
};

/// Whether opening the database would replay any of its log. Throws what reading it throws.
[[nodiscard]] bool has_to_be_replayed(const wal::LogStore& log);

/// Of what cannot be read at all, the view is as it lies there: whoever looks at it meets the
/// damage.
[[nodiscard]] DatabaseView view_of(const ClosedOptions& options);

/// Tells on standard error, in the name of `command`, that it is a recovered one, if it is.
void tell_if_recovered(const DatabaseView& view, const char* command);

}  // namespace palimpsest::tools
