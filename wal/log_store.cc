#include "wal/log_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "palimpsest/error.h"

namespace palimpsest::wal {
namespace {

/// Segments count from 1, so that no position is 0.
constexpr std::uint64_t kFirstSegment = 1;
constexpr std::uint64_t kSegmentsMax = std::numeric_limits<std::uint32_t>::max();

void check_options(const LogFileOptions& options) {
  if (options.segment_bytes < kSegmentBytesMin || options.segment_bytes > kSegmentBytesMax ||
      options.segment_bytes % kSegmentHeaderBytes != 0) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("log segments of {} bytes: the size must be a multiple of {} from {} to {}",
                    options.segment_bytes, kSegmentHeaderBytes, kSegmentBytesMin,
                    kSegmentBytesMax));
  }
  const std::uint64_t first = options.first_segment_bytes;
  if (first != 0 && (first < kSegmentBytesMin || first > options.segment_bytes ||
                     first % kSegmentHeaderBytes != 0)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("first log segments of {} bytes: the size must be a multiple of {} "
                            "from {} to {}, the size of all further segments",
                            first, kSegmentHeaderBytes, kSegmentBytesMin, options.segment_bytes));
  }
  if (options.segments_max < LogStore::kSegmentsMin) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} log segments: at least {} are needed", options.segments_max,
                            LogStore::kSegmentsMin));
  }
}

/// The bound that the options set, in segments of the log's own size.
std::uint32_t segments_max(const LogFileOptions& options, std::uint64_t segment_bytes) {
  const std::uint64_t count = options.segments_max * options.segment_bytes / segment_bytes;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(count, LogStore::kSegmentsMin, kSegmentsMax));
}

/// Size of a log's smallest files. A read-only opening need not know it, and considers all files
/// that may be segments.
std::uint64_t first_segment_bytes(const LogFileOptions& options, std::uint64_t segment_bytes,
                                  bool read_only) {
  const std::uint64_t said = options.first_segment_bytes;
  return std::min(said == 0 && read_only ? kSegmentBytesMin : said, segment_bytes);
}

std::unique_ptr<Segments> open_segments(io::Device& device, const LogControl& control,
                                        const LogFileOptions& options, bool read_only) {
  const Segments::Options described{
      .segment_bytes = control.state().segment_bytes,
      .first_segment_bytes = first_segment_bytes(options, control.state().segment_bytes, read_only),
      .segments_max = segments_max(options, control.state().segment_bytes),
      .alignment_bytes = control.alignment_bytes(),
      .uuid = control.state().uuid};
  return std::make_unique<Segments>(device, described, read_only);
}

}  // namespace

// The control file comes last: without it there is no log.
LogStore LogStore::create(io::Device& device, const Uuid& uuid, const LogFileOptions& options) {
  check_options(options);
  if (device.exists(kControlFileName)) {
    throw Error(ErrorCode::already_exists, fmt::format("{}: a log exists already", device.path()));
  }
  const std::uint64_t start = kFirstSegment * options.segment_bytes + kSegmentHeaderBytes;
  ControlState state{.uuid = uuid,
                     .segment_bytes = options.segment_bytes,
                     .incarnation = Incarnation{0},
                     .start = {.position = StreamPosition{start}, .sequence = BatchSequence{1}},
                     .clean = true,
                     .note = {}};
  const Segments::Options described{.segment_bytes = options.segment_bytes,
                                    .first_segment_bytes = options.first_segment_bytes,
                                    .segments_max = options.segments_max,
                                    .alignment_bytes = kSegmentHeaderBytes,
                                    .uuid = uuid};
  {
    Segments segments(device, described, false);
    segments.keep_only(kFirstSegment, kFirstSegment - 1);  // left by an interrupted creation
    segments.make_all(kSegmentsMin, !options.zeros_beside);
    segments.begin(kFirstSegment);
    segments.sync(kFirstSegment);
  }
  auto control = LogControl::create(device, state);
  auto segments = open_segments(device, *control, options, false);
  if (options.zeros_beside) {
    segments->zero_beside();
  }
  return {std::move(control), std::move(segments), std::nullopt};
}

// The control file goes last: until then it says to which database the log belongs.
void LogStore::remove(io::Device& device) {
  Segments::remove_all(device);
  device.sync_directory();  // segments without a control file would belong to no log
  LogControl::remove(device);
  device.sync_directory();
}

LogStore LogStore::open(io::Device& device, const LogFileOptions& options, bool read_only) {
  check_options(options);
  auto control = LogControl::open(device, read_only);
  std::optional<StreamHardener> hardener;
  if (!read_only) {
    hardener.emplace(device, control->state());
  }
  auto segments = open_segments(device, *control, options, read_only);
  if (!read_only) {
    segments->sync_all();
  }
  return {std::move(control), std::move(segments), std::move(hardener)};
}

void LogStore::harden(const LogEnd& end) {
  if (hardener_) {
    hardener_->harden(*control_, *segments_, end);
    hardener_.reset();
  }
}

}  // namespace palimpsest::wal
