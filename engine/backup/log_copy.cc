#include "engine/backup/log_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "palimpsest/error.h"

#include "base/round_up.h"
#include "base/sync_point.h"
#include "wal/log_format.h"

namespace palimpsest::engine {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
/// A transfer unit that every device accepts.
constexpr std::uint64_t kBlockBytes = wal::kSegmentHeaderBytes;

}  // namespace

LogCopy::LogCopy(const wal::Segments& from, wal::ReplayStart::Pin& pin, io::Device& into,
                 const Uuid& uuid)
    : from_(from),
      pin_(pin),
      device_(into),
      uuid_(uuid),
      into_(into,
            {.segment_bytes = from.segment_bytes(),
             .segments_max = std::numeric_limits<std::uint32_t>::max(),
             .alignment_bytes = kBlockBytes,
             .uuid = uuid},
            false),
      at_(pin.state().start.position),
      memory_(kPieceBytes, kBlockBytes) {
  begin_segment(from_.place_at(at_));  // there is one, even if it is empty
}

void LogCopy::begin_segment(const wal::SegmentPlace& segment) {
  if (!into_.has(segment.number)) {
    into_.begin_copy_of(segment);
  }
}

std::uint64_t LogCopy::copy_up_to(wal::StreamPosition end) {
  std::uint64_t copied = 0;
  while (at_ < end) {
    const wal::SegmentPlace segment = from_.place_at(at_);
    const bool is_last = end < segment.end();
    const std::uint64_t limit = raw(is_last ? end : segment.end()) - raw(segment.begin);
    for (std::uint64_t at = raw(at_) - raw(segment.begin); at < limit;) {
      const std::uint64_t piece_end = std::min(limit, at / kBlockBytes * kBlockBytes + kPieceBytes);
      copy_piece(segment, at, piece_end);
      copied += piece_end - at;
      at = piece_end;
    }
    at_ = is_last ? end : wal::StreamPosition{raw(segment.end()) + wal::kSegmentHeaderBytes};
    pin_.move(at_);
  }
  return copied;
}

/// Copies whole blocks: repeats what precedes `begin` in its block, and writes zeros behind `end`.
void LogCopy::copy_piece(const wal::SegmentPlace& segment, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t first = begin / kBlockBytes * kBlockBytes;
  const wal::StreamPosition at{raw(segment.begin) + first};
  const MutableBytes piece = memory_.bytes().first(end - first);
  read(at, piece);
  PALIMPSEST_SYNC_POINT("engine.backup.log_read");
  if (!pin_.holds()) {
    refuse();
  }
  begin_segment(segment);
  const MutableBytes blocks = memory_.bytes().first(round_up(piece.size(), kBlockBytes));
  std::ranges::fill(blocks.subspan(piece.size()), std::byte{0});
  into_.write(at, blocks);
}

void LogCopy::read(wal::StreamPosition at, MutableBytes into) const {
  try {
    from_.read(at, into);
  } catch (const Error&) {
    if (!pin_.holds()) {
      refuse();
    }
    throw;
  }
}

void LogCopy::refuse() const {
  throw Error(ErrorCode::no_space,
              fmt::format("the log in {} had to be reused before it was copied: the backup is too "
                          "slow for a log of {} bytes",
                          from_.directory(), from_.bytes_max()));
}

void LogCopy::finish(wal::ControlState state) {
  into_.sync_all();
  state.uuid = uuid_;
  state.clean = false;
  wal::LogControl::create(device_, state).reset();
}

}  // namespace palimpsest::engine
