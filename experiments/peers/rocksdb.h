// RocksDB's calls, as the benchmarks make them: bytes in and out, and errors thrown.
//
// Thread-safety: stateless.
#pragma once

#include <fmt/format.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <stdexcept>

#include "base/bytes.h"

namespace palimpsest::experiments::rocks {

/// Throws RocksDB's message unless the status is good; `what` was to be done.
inline void ensure(const rocksdb::Status& status, const char* what) {
  if (!status.ok()) {
    throw std::runtime_error(fmt::format("rocksdb: {}: {}", what, status.ToString()));
  }
}

[[nodiscard]] inline rocksdb::Slice slice_of(ByteView bytes) {
  return {bytes.data(), bytes.size()};
}

[[nodiscard]] inline ByteView view_of(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

}  // namespace palimpsest::experiments::rocks
