// Where a database is: its pages, and its log, which may lie elsewhere (Options::log_directory).
//
// Failure: Error as Database::open(); where there are pages, and nowhere a log, not_found, which
//          says how it is told where the log is.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "palimpsest/database.h"

namespace palimpsest::load {

/// Where what a database reports goes: Options::log and Options::log_level.
struct MessagePlace {
  LogFunction function{};
  LogLevel level = LogLevel::warning;
};

struct DatabasePlace {
  std::filesystem::path pages{};  ///< the database's directory
  std::filesystem::path log{};    ///< of its log; empty: beside the pages
  MessagePlace messages{};
};

/// `options` as of Database::open(), but for the log's directory and messages, which the place
/// says.
[[nodiscard]] Database open_database(const DatabasePlace& place, Options options);

/// The same; of a directory that was not there, and no database could be made in, nothing stays.
[[nodiscard]] Database make_database(const DatabasePlace& place, Options options);

/// Opens one that is there to be read (Options::read_only), so that nothing is written where it is;
/// to write, if a crash has left more to recover than fits into memory.
/// `memory_bytes`: as of Options; 0: as databases have by default.
[[nodiscard]] Database open_to_read(const DatabasePlace& place, std::uint64_t memory_bytes = 0);

/// Makes none; nothing if there is none.
[[nodiscard]] std::optional<Database> find_database(const DatabasePlace& place, Options options);

}  // namespace palimpsest::load
