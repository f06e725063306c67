// Identifiers of the log as types of their own.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace palimpsest::wal {

/// A place in the stream of segments: segment number * segment size + offset in the segment. Never
/// reused, although segments are. 0 is no place.
enum class StreamPosition : std::uint64_t {};

/// Number of a batch of the stream, from 1, without gaps.
enum class BatchSequence : std::uint64_t {};

/// Counts the openings of a database for writing, from 1. What an incarnation wrote is replayed up
/// to the durable GSN it stated last.
enum class Incarnation : std::uint64_t {};

/// What a record is; opaque to the log, 0 never occurs.
enum class RecordType : std::uint8_t {};

inline constexpr StreamPosition kNowhere{0};

}  // namespace palimpsest::wal
