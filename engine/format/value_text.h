// Values, keys and rows as people read them in messages: (7, "Ada", 12.50, null).
//
// Texts and bytes are in quotes, cut where they are long; what is no UTF-8 and what a terminal
// would obey is written as \x1B.
// Thread-safety: pure functions. Failure: none but bad_alloc; any bytes are safe.
#pragma once

#include <span>
#include <string>

#include "palimpsest/key.h"
#include "palimpsest/value.h"

#include "base/bytes.h"
#include "engine/format/key_codec.h"

namespace palimpsest::engine {

/// Bytes of a text that are shown at most.
inline constexpr std::size_t kShownBytesMax = 100;

[[nodiscard]] std::string text_of_value(const Value& value);
[[nodiscard]] std::string text_of_values(std::span<const Value> values);
/// Of a key as it is stored: its columns, or its bytes in quotes if it is damaged.
[[nodiscard]] std::string text_of_key(const KeyCodec& codec, ByteView key);
/// Of a key as a caller names it.
[[nodiscard]] std::string text_of_key(const KeyCodec& codec, const Key& key);

}  // namespace palimpsest::engine
