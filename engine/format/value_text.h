// Values, keys and rows in printable form for messages: (7, "Ada", 12.50, null).
//
// Texts and bytes are in quotes, and cut if they are long; invalid UTF-8 and control characters are
// written as \x1B.
// Thread-safety: pure functions. Failure: only bad_alloc; safe for any bytes.
#pragma once

#include <span>
#include <string>

#include "palimpsest/key.h"
#include "palimpsest/value.h"

#include "base/bytes.h"
#include "engine/format/key_codec.h"

namespace palimpsest::engine {

/// Most bytes of a text that are shown.
inline constexpr std::size_t kShownBytesMax = 100;

[[nodiscard]] std::string text_of_value(const Value& value);
[[nodiscard]] std::string text_of_values(std::span<const Value> values);
/// For a stored key: its columns, or its bytes in quotes if it is damaged.
[[nodiscard]] std::string text_of_key(const KeyCodec& codec, ByteView key);
/// For a key given by a caller.
[[nodiscard]] std::string text_of_key(const KeyCodec& codec, const Key& key);

}  // namespace palimpsest::engine
