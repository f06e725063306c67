// Remembers, beside the pages of a database, where its log is, if that is another directory: so
// that opening it without Options::log_directory reports where the log is, rather than that there
// is no database.
//
// The path is shown to users and never followed: directories are moved, and the log is where the
// options say.
// On disk: a file "log-directory" beside the page file, one block of kBlockBytes: the absolute path
// as text, then zeros. It is written under another name, synced and renamed.
// Thread-safety: none; used while a database is opened, with its directory locked.
#pragma once

#include <string>
#include <string_view>

#include "base/io/device.h"

namespace palimpsest::engine {

inline constexpr std::string_view kLogPlaceName = "log-directory";

/// The directory of the log when the database was last opened to write; empty: beside the pages, or
/// unknown.
[[nodiscard]] std::string remembered_log_place(io::Device& pages);

/// Remembers the log's directory. Ignores errors: the path is only shown.
void remember_log_place(io::Device& pages, const io::Device& log) noexcept;

/// Throws log_not_found: there is a database in `pages`, and no log of it in the directory `asked`.
[[noreturn]] void refuse_missing_log(io::Device& pages, std::string_view asked);
/// As refuse_missing_log(), if there is no log.
void require_log(io::Device& pages, io::Device& log);

}  // namespace palimpsest::engine
