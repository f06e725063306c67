// Encodes several whole keys of the caller to the bytes that trees are searched by
// (encoded_keys.h).
//
// Failure: as KeySpace::whole(); std::bad_alloc. Thread-safety: immutable.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/key.h"

#include "base/bytes.h"
#include "engine/table/encoded_keys.h"

namespace palimpsest::engine {

class KeyList {
 public:
  /// Keys that are already encoded outlive this.
  KeyList(const KeySpace& space, std::span<const Key> keys);
  KeyList(const KeyList&) = delete;
  KeyList& operator=(const KeyList&) = delete;

  [[nodiscard]] std::span<const ByteView> keys() const noexcept { return keys_; }

 private:
  void encode(const KeySpace& space, std::span<const Key> keys);

  std::string bytes_;  ///< of keys that were encoded here
  std::vector<ByteView> keys_;
};

}  // namespace palimpsest::engine
