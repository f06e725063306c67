// What must be the same for a load to go on where another one has ended: its files, and the options
// by which they become sorted rows.
//
// A file is known by path, size, time of its last change, and a checksum of its first and last
// bytes. What is judged only after sorting (limits, duplicates), and how the load runs, may change.
// Failure: Error io_error, not_found if a file cannot be read. Thread-safety: functions of values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/load/load.h"

namespace palimpsest::load {

/// Something that must be the same, and what it is; no line ends in either.
struct LoadCondition {
  std::string name{};
  std::string value{};

  friend bool operator==(const LoadCondition&, const LoadCondition&) = default;
};

/// `schema`: text of the table's, given, chosen or there; `makes_table`: it is not there.
[[nodiscard]] std::vector<LoadCondition> conditions_of(const LoadOptions& options,
                                                       const std::string& schema, bool makes_table);

/// What the first difference is, for a message; nothing if all are the same.
[[nodiscard]] std::optional<std::string> difference(std::span<const LoadCondition> before,
                                                    std::span<const LoadCondition> now);

}  // namespace palimpsest::load
