// Identifiers of the log as distinct types.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace palimpsest::wal {

/// A position in the stream of segments: that of the segment's first byte + the offset in the
/// segment (segments.h). Never reused, although segments are. 0 is no position.
enum class StreamPosition : std::uint64_t {};

/// Number of a batch in the stream, from 1, without gaps.
enum class BatchSequence : std::uint64_t {};

/// Counts the openings of a database for writing, from 1. Recovery replays an incarnation's records
/// up to the durable GSN that it stated last.
enum class Incarnation : std::uint64_t {};

/// The kind of a record; opaque to the log, never 0.
enum class RecordType : std::uint8_t {};

inline constexpr StreamPosition kNowhere{0};

}  // namespace palimpsest::wal
