#include "tools/load/database_place.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "palimpsest/error.h"

namespace palimpsest::load {
namespace {

// docs/file-formats.md
constexpr const char* kPageFileName = "pages";

bool has_pages(const DatabasePlace& place) {
  std::error_code none;
  return std::filesystem::exists(place.pages / kPageFileName, none);
}

/// What is said of pages without a log.
Error no_log(const DatabasePlace& place) {
  if (place.log.empty()) {
    return {ErrorCode::not_found,
            fmt::format("{}: no log beside the pages; --log-directory says where it is",
                        place.pages.string())};
  }
  return {ErrorCode::not_found, fmt::format("{}: no log is there, of the database {}",
                                            place.log.string(), place.pages.string())};
}

}  // namespace

Database open_database(const DatabasePlace& place, Options options) {
  options.log_directory = place.log;
  options.log = place.messages.function;
  options.log_level = place.messages.level;
  try {
    return Database::open(place.pages, options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::log_not_found) {
      throw no_log(place);
    }
    throw;
  }
}

Database make_database(const DatabasePlace& place, Options options) {
  std::error_code ignored;  // what follows tells
  const bool was_there = std::filesystem::exists(place.pages, ignored);
  const bool log_was_there = place.log.empty() || std::filesystem::exists(place.log, ignored);
  try {
    return open_database(place, std::move(options));
  } catch (const Error&) {
    if (!was_there) {
      std::filesystem::remove_all(place.pages, ignored);
    }
    if (!log_was_there) {
      std::filesystem::remove_all(place.log, ignored);
    }
    throw;
  }
}

Database open_to_read(const DatabasePlace& place, std::uint64_t memory_bytes) {
  try {
    return open_database(place, {.memory_bytes = memory_bytes, .read_only = true});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) {
      throw;
    }
    try {
      return open_database(place, {.memory_bytes = memory_bytes, .create_if_missing = false});
    } catch (const Error& second) {
      throw Error(error.code(), fmt::format("{}; {}", error.what(), second.what()));
    }
  }
}

std::optional<Database> find_database(const DatabasePlace& place, Options options) {
  options.create_if_missing = false;
  try {
    return open_database(place, std::move(options));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found || has_pages(place)) {
      throw;
    }
    return std::nullopt;
  }
}

}  // namespace palimpsest::load
