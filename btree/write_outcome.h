// The result of a write with a writer: done, refused, or in conflict with another writer.
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
  /// Whether the key existed. An insert is done if it did not, an update or a removal if it did, an
  /// upsert in either case. Meaningless with a conflict: whether the key exists is then undecided.
  bool existed = false;
  std::optional<Conflict> conflict;
};

/// A record to be inserted.
struct NewRecord {
  ByteView key;
  ByteView value;
};

/// Whether there are enough records to append them as new leaves (bulk/append.h), which are made
/// durable before the tree names them, instead of inserting them.
[[nodiscard]] inline bool is_worth_a_run(std::span<const NewRecord> records) noexcept {
  constexpr std::size_t kRunBytesMin = std::size_t{1} << 18U;
  std::size_t bytes = 0;
  for (auto record = records.begin(); record != records.end() && bytes < kRunBytesMin; ++record) {
    bytes += record->key.size() + record->value.size();
  }
  return bytes >= kRunBytesMin;
}

/// The result for several records, in their order: how many were inserted, and why not the next
/// one.
struct [[nodiscard]] ManyWritten {
  std::size_t done = 0;
  WriteOutcome refused;
};

}  // namespace palimpsest::btree
