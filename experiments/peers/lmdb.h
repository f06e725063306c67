// LMDB's calls, as the benchmarks make them: bytes in and out, and errors thrown.
//
// Thread-safety: stateless.
#pragma once

#include <fmt/format.h>
#include <lmdb.h>

#include <stdexcept>

#include "base/bytes.h"

namespace palimpsest::experiments::lmdb {

/// Throws LMDB's message unless the code says success; `what` was to be done.
inline void ensure(int code, const char* what) {
  if (code != MDB_SUCCESS) {
    throw std::runtime_error(fmt::format("lmdb: {}: {}", what, mdb_strerror(code)));
  }
}

/// LMDB only reads what is given to it.
[[nodiscard]] inline MDB_val value_of(ByteView bytes) {
  return {.mv_size = bytes.size(), .mv_data = const_cast<char*>(bytes.data())};
}

[[nodiscard]] inline ByteView view_of(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

}  // namespace palimpsest::experiments::lmdb
