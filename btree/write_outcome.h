// What comes of a write on behalf of a writer: done, refused, or in conflict with another writer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "versioning/entry.h"

namespace palimpsest::btree {

/// Another writer has changed the record and has not ended. An expected outcome: nothing has
/// changed, and the caller decides whether to wait, to try again or to give up.
struct Conflict {
  std::string key;
  versioning::WriterId with = versioning::kNoWriter;
};

struct [[nodiscard]] WriteOutcome {
  /// Whether the key was there: an insert is done if it was not, an update or a removal if it was,
  /// an upsert in either case. Meaningless with a conflict: whether the key is there is not decided
  /// yet.
  bool existed = false;
  std::optional<Conflict> conflict;
};

/// A record to be inserted.
struct NewRecord {
  ByteView key;
  ByteView value;
};

/// Whether records are many enough to be appended as leaves of their own (BTree::append()), which
/// are made durable before the tree names them, rather than to be inserted.
[[nodiscard]] inline bool is_worth_a_run(std::span<const NewRecord> records) noexcept {
  constexpr std::size_t kRunBytesMin = std::size_t{1} << 18U;
  std::size_t bytes = 0;
  for (auto record = records.begin(); record != records.end() && bytes < kRunBytesMin; ++record) {
    bytes += record->key.size() + record->value.size();
  }
  return bytes >= kRunBytesMin;
}

/// Of several records, in their order: how many were inserted, and why not the one after them.
struct [[nodiscard]] ManyWritten {
  std::size_t done = 0;
  WriteOutcome refused;
};

}  // namespace palimpsest::btree
