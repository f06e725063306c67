// Where the log of a database lies, remembered beside its pages if it lies elsewhere: so that
// opening it without Options::log_directory says where the log is, and does not look as if there
// were no database.
//
// It is told to users and never followed: directories are moved, and a log is found where the
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

/// The directory in which the log lay when the database was last opened to write; empty: beside the
/// pages, or not known.
[[nodiscard]] std::string remembered_log_place(io::Device& pages);

/// Remembers that the log lies where it does. What goes wrong is ignored: it is told, not needed.
void remember_log_place(io::Device& pages, const io::Device& log) noexcept;

/// Throws log_not_found: there is a database in `pages`, and no log of it in the directory `asked`.
[[noreturn]] void refuse_missing_log(io::Device& pages, std::string_view asked);
/// Throws that if there is no log.
void require_log(io::Device& pages, io::Device& log);

}  // namespace palimpsest::engine
