// WiredTiger's calls, as the benchmarks make them: bytes in and out, and errors thrown.
//
// Thread-safety: stateless.
#pragma once

#include <fmt/format.h>
#include <wiredtiger.h>

#include <stdexcept>

#include "base/bytes.h"

namespace palimpsest::experiments::wiredtiger {

/// Throws WiredTiger's message if the code is not 0; `what` was to be done.
inline void ensure(int code, const char* what) {
  if (code != 0) {
    throw std::runtime_error(fmt::format("wiredtiger: {}: {}", what, wiredtiger_strerror(code)));
  }
}

[[nodiscard]] inline WT_ITEM item_of(ByteView bytes) {
  WT_ITEM item = {};
  item.data = bytes.data();
  item.size = bytes.size();
  return item;
}

[[nodiscard]] inline ByteView view_of(const WT_ITEM& item) {
  return {static_cast<const char*>(item.data), item.size};
}

}  // namespace palimpsest::experiments::wiredtiger
