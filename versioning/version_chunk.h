// The memory of a version buffer: chunks of versions, in the order in which they are filled.
//
// version_buffer.h says which thread may read and write what. Thread-safety: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace palimpsest::versioning {

class VersionBuffer;

/// A chunk; its versions follow it in memory.
struct VersionChunk {
  VersionBuffer* owner = nullptr;
  VersionChunk* next = nullptr;
  VersionChunk* before = nullptr;
  std::uint32_t capacity = 0;
  std::uint32_t used = 0;
  std::uint32_t made = 0;     ///< versions in it
  std::uint32_t dropped = 0;  ///< versions in it that were dropped
  std::uint32_t number = 0;   ///< in the order in which they are used
};

/// Where a version begins, or the next one will.
struct VersionPlace {
  VersionChunk* chunk = nullptr;
  std::uint32_t offset = 0;

  friend bool operator==(const VersionPlace&, const VersionPlace&) = default;
};

/// How many versions a running transaction had made at some time, and where the next one goes.
struct VersionMark {
  VersionPlace place;
  std::size_t count = 0;
  std::size_t bytes = 0;
};

}  // namespace palimpsest::versioning
