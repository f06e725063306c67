// What calls of a tree pass between its parts.
#pragma once

#include <cstdint>
#include <optional>

#include "btree/large_value_format.h"
#include "btree/leaf_node.h"
#include "buffer/page_guard.h"
#include "versioning/entry.h"

namespace palimpsest::btree {

/// A record that was looked for; its value is elsewhere.
struct Found {
  bool exists = false;
  std::uint16_t flags = kPlainRecord;
  bool has_versions = false;  ///< perhaps; the rest is void then
};

enum class WriteMode : std::uint8_t { insert = 1, upsert, update };

struct Written {
  bool existed = false;
  std::optional<LargeValueDescriptor> freed{};  ///< nobody can find it any more
  versioning::WriterId rival = versioning::kNoWriter;
};

/// A value to be changed in place; the leaf is not held if it must not be.
struct LatchedValue {
  buffer::ExclusivePage leaf;
  SearchResult at;
  Written written;
};

}  // namespace palimpsest::btree
