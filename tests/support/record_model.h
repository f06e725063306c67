// The expected contents of a tree changed by several writers, in the simplest form: a map from keys
// to values, and a map from keys to the active writers that have changed them.
//
// Thread-safety: none.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "versioning/entry.h"

namespace palimpsest::test {

struct RecordModel {
  std::map<std::string, std::string> records;
  std::map<std::string, versioning::WriterId> holders;
  std::set<std::string> keys_ever;

  /// The other active writer that has changed the record, if any.
  [[nodiscard]] std::optional<versioning::WriterId> conflicting_writer(
      const std::string& key, versioning::WriterId me) const {
    const auto holder = holders.find(key);
    return holder == holders.end() || holder->second == me ? std::nullopt
                                                           : std::optional(holder->second);
  }
  void put(const std::string& key, const std::string& value, versioning::WriterId writer) {
    records[key] = value;
    holders[key] = writer;
    keys_ever.insert(key);
  }
  void remove(const std::string& key, versioning::WriterId writer) {
    records.erase(key);
    holders[key] = writer;
  }
  void end(versioning::WriterId writer) {
    std::erase_if(holders, [&](const auto& holder) { return holder.second == writer; });
  }
};

}  // namespace palimpsest::test
