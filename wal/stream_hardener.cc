#include "wal/stream_hardener.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "palimpsest/error.h"

#include "base/checksum.h"
#include "base/round_up.h"
#include "wal/log_format.h"

namespace palimpsest::wal {
namespace {

/// Whether the copy may belong to this log and is not void.
bool is_plausible(const BatchCopy& copy, const ControlState& control) {
  return copy.uuid == control.uuid && copy.incarnation >= control.incarnation &&
         copy.segment.number != 0 && copy.segment.bytes <= control.segment_bytes &&
         Segments::is_name(copy.file);
}

bool are_equal(ConstBytes a, ConstBytes b) {
  return std::memcmp(a.data(), b.data(), b.size()) == 0;
}

/// Throws corruption unless the part is what the reader has judged: whole batches, each naming the
/// one before. `checksum` is that of the batch before the part; on return, of its last one.
void require_unchanged(const Segments& segments, const StreamPart& part, ConstBytes bytes,
                       std::uint64_t& checksum) {
  for (std::uint64_t at = 0; at < bytes.size();) {
    const ConstBytes rest = bytes.subspan(at);
    const auto header = rest.size() < sizeof(BatchHeader) ? std::optional<BatchHeader>()
                                                          : peek_batch(rest, rest.size());
    if (!header || header->previous_checksum != checksum || !verify_batch(*header, rest)) {
      const StreamPosition place{raw(part.begin) + at};
      throw Error(ErrorCode::corruption,
                  fmt::format("{}: the batch at offset {} has changed since it was first read",
                              segments.place_of(part.begin), segments.offset_of(place)));
    }
    checksum = header->checksum;
    at += header->batch_bytes;
  }
}

}  // namespace

StreamHardener::StreamHardener(io::Device& device, const ControlState& control) {
  if (control.clean) {
    return;
  }
  std::vector<Found> found = find_copies(device, control);
  std::ranges::sort(found, {},
                    [](const Found& one) { return std::tuple(one.copy.position, one.copy.turn); });
  StreamPosition restored = kNowhere;
  for (const Found& one : found) {
    next_turn_ = std::max(next_turn_, one.copy.turn + 1);
    if (one.copy.position != restored && restore(device, control, one)) {
      restored = one.copy.position;
      kept_.push_back(one.name);
    }
  }
}

std::vector<StreamHardener::Found> StreamHardener::find_copies(io::Device& device,
                                                               const ControlState& control) {
  std::vector<Found> found;
  const AlignedMemory block(kCopyHeaderBytes, kCopyHeaderBytes);
  for (std::string& name : device.list()) {
    if (!Segments::is_name(name)) {
      continue;
    }
    const auto file = device.open(name, io::OpenMode::read_only, false);
    const std::uint64_t size = file->size_bytes();
    if (size < kCopyHeaderBytes) {
      continue;
    }
    file->read(0, block.bytes());
    auto copy = decode_batch_copy(block.bytes());
    if (copy && is_plausible(*copy, control) && copy->bytes <= size - kCopyHeaderBytes) {
      found.push_back({.name = std::move(name), .copy = std::move(*copy)});
    }
  }
  return found;
}

// False if the copy is unfinished: the power failed while it was made. Bytes behind the batches are
// not compared: if they differ, batches were appended since, and the copy is void whatever the
// control file says.
bool StreamHardener::restore(io::Device& device, const ControlState& control, const Found& found) {
  const BatchCopy& copy = found.copy;
  const AlignedMemory copied(kSegmentHeaderBytes + copy.bytes, kSegmentHeaderBytes);
  const MutableBytes header = copied.bytes().first(kSegmentHeaderBytes);
  const MutableBytes content = copied.bytes().subspan(kSegmentHeaderBytes);
  device.open(found.name, io::OpenMode::read_only, false)->read(kCopyHeaderBytes, content);
  if (checksum(content) != copy.content_checksum || !device.exists(copy.file)) {
    return false;
  }
  const std::uint64_t offset = raw(copy.position) - raw(copy.segment.begin);
  encode_segment_header(copy.segment, control.uuid, header);
  const auto file = device.open(copy.file, io::OpenMode::read_write, false);
  const AlignedMemory there(copied.size_bytes(), kSegmentHeaderBytes);
  file->read(0, there.bytes().first(kSegmentHeaderBytes));
  file->read(offset, there.bytes().subspan(kSegmentHeaderBytes));
  const std::size_t compared_bytes = there.size_bytes() - copy.tail_bytes;
  if (!are_equal(there.bytes().first(compared_bytes), copied.bytes().first(compared_bytes))) {
    file->write(0, header);
    file->write(offset, content);
    file->sync();
  }
  return true;
}

void StreamHardener::harden(LogControl& control, Segments& segments, const LogEnd& end) {
  if (control.state().clean && end.unstated.empty()) {
    return;
  }
  control.make_again();
  segments.release_before(segments.number_of(control.state().start.position));
  std::uint64_t checksum = end.stated_checksum;
  for (const StreamPart& part : end.unstated) {
    write_again(control.state(), segments, part, checksum);
  }
}

// Rewrites whole blocks, including neighbouring bytes that the device cannot leave out.
void StreamHardener::write_again(const ControlState& control, Segments& segments,
                                 const StreamPart& part, std::uint64_t& previous_checksum) {
  const SegmentPlace segment = segments.place_at(part.begin);
  const StreamPosition begin{raw(part.begin) / kCopyHeaderBytes * kCopyHeaderBytes};
  const std::uint64_t bytes = round_up(raw(part.end), kCopyHeaderBytes) - raw(begin);
  const AlignedMemory memory(kCopyHeaderBytes + bytes, kCopyHeaderBytes);
  const MutableBytes content = memory.bytes().subspan(kCopyHeaderBytes);
  segments.read(begin, content);
  require_unchanged(segments, part,
                    content.subspan(raw(part.begin) - raw(begin), raw(part.end) - raw(part.begin)),
                    previous_checksum);
  encode_batch_copy({.uuid = control.uuid,
                     .incarnation = control.incarnation,
                     .turn = next_turn_++,
                     .position = begin,
                     .bytes = bytes,
                     .tail_bytes = static_cast<std::uint32_t>(raw(begin) + bytes - raw(part.end)),
                     .content_checksum = checksum(content),
                     .file = segments.file_of(segment.number),
                     .segment = segment},
                    memory.bytes().first(kCopyHeaderBytes));
  kept_.push_back(segments.write_spare(memory.bytes(), kept_));
  segments.write_header(segment.number);
  segments.write(begin, content);
  segments.sync(segment.number);
}

}  // namespace palimpsest::wal
