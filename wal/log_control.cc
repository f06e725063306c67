#include "wal/log_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <optional>
#include <utility>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/checksum.h"
#include "base/io/require_alignment.h"

namespace palimpsest::wal {
namespace {

constexpr std::array<char, 8> kMagic{'P', 'L', 'M', 'P', 'S', 'C', 'T', 'L'};
constexpr std::string_view kNewControlFileName = "log-control.new";
constexpr std::size_t kBlockBytes = 4096;
constexpr std::uint32_t kCopies = 3;
constexpr std::size_t kChecksumEnd = 16;

struct Block {
  std::array<char, 8> magic;
  std::uint64_t checksum;
  std::uint32_t format_version;
  std::uint32_t clean;
  Uuid uuid;
  std::uint64_t sequence;
  std::uint64_t segment_bytes;
  Incarnation incarnation;
  LogStart start;
  BatchSequence incarnation_begin;
  std::uint32_t note_bytes;
  std::uint32_t reserved;
};

static_assert(sizeof(LogStart) == 32);
static_assert(sizeof(Block) == 112 && offsetof(Block, start) == 64);
static_assert(sizeof(Block) + kControlNoteBytesMax <= kBlockBytes);

void encode(const ControlState& state, std::uint64_t sequence, MutableBytes into) noexcept {
  std::fill(into.begin(), into.end(), std::byte{0});
  Block block{.magic = kMagic,
              .checksum = 0,
              .format_version = kLogFormatVersion,
              .clean = state.clean ? 1U : 0U,
              .uuid = state.uuid,
              .sequence = sequence,
              .segment_bytes = state.segment_bytes,
              .incarnation = state.incarnation,
              .start = state.start,
              .incarnation_begin = state.incarnation_begin,
              .note_bytes = static_cast<std::uint32_t>(state.note.size()),
              .reserved = 0};
  std::memcpy(into.data() + sizeof block, state.note.data(), state.note.size());
  std::memcpy(into.data(), &block, sizeof block);
  block.checksum = checksum(into.subspan(kChecksumEnd));
  std::memcpy(into.data(), &block, sizeof block);
}

/// Nothing unless the copy is whole. The caller checks the version.
std::optional<Block> decode(ConstBytes copy) noexcept {
  Block block;
  std::memcpy(&block, copy.data(), sizeof block);
  const bool whole =
      block.magic == kMagic && block.checksum == checksum(copy.subspan(kChecksumEnd));
  return whole ? std::optional(block) : std::nullopt;
}

void validate(const Block& block, const std::string& file) {
  if (block.format_version != kLogFormatVersion) {
    throw Error(ErrorCode::unsupported_version,
                fmt::format("log control file \"{}\" has format version {}; this build reads {}",
                            file, block.format_version, kLogFormatVersion));
  }
  const std::uint64_t start = raw(block.start.position);
  const bool segments_fit = block.segment_bytes >= kSegmentBytesMin &&
                            block.segment_bytes <= kSegmentBytesMax &&
                            block.segment_bytes % kSegmentHeaderBytes == 0;
  const bool start_fits = segments_fit && start <= kCounterMax && start >= block.segment_bytes &&
                          start % kBatchAlignment == 0 &&
                          block.start.incarnation <= block.incarnation;
  const bool counters_fit =
      block.sequence <= kCounterMax && raw(block.incarnation) <= kCounterMax &&
      raw(block.incarnation_begin) <= kCounterMax && raw(block.start.sequence) <= kCounterMax;
  const bool sane =
      block.clean <= 1 && block.note_bytes <= kControlNoteBytesMax && start_fits && counters_fit;
  if (!sane) {
    throw Error(ErrorCode::corruption,
                fmt::format("log control file \"{}\": its fields contradict each other: segments "
                            "of {} bytes, start at {} with batch {}, incarnations {} and {}",
                            file, block.segment_bytes, start, raw(block.start.sequence),
                            raw(block.start.incarnation), raw(block.incarnation)));
  }
}

void remove_if_there(io::Device& device, std::string_view name) {
  if (device.exists(name)) {
    device.remove(name);
  }
}

/// Removes an unfinished new file. One that cannot be removed does no harm.
void try_remove_new_file(io::Device& device) noexcept {
  try {
    remove_if_there(device, kNewControlFileName);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the next opening tries again
  }
}

/// Writes all copies, numbered from `sequence` + 1 on, and makes them durable.
void write_new_file(io::Device& device, const ControlState& state, std::uint64_t sequence) {
  const auto file = device.open(kNewControlFileName, io::OpenMode::create_new, true);
  file->allocate(0, kCopies * kBlockBytes);
  const AlignedMemory area(kCopies * kBlockBytes, kBlockBytes);
  for (std::uint32_t copy = 0; copy < kCopies; ++copy) {
    encode(state, sequence + copy + 1, area.bytes().subspan(copy * kBlockBytes, kBlockBytes));
  }
  file->write(0, area.bytes());
  file->sync();
}

/// Makes the whole file under its other name, or leaves no file of that name.
void make_new_file(io::Device& device, const ControlState& state, std::uint64_t sequence) {
  remove_if_there(device, kNewControlFileName);  // left by an interrupted call
  try {
    write_new_file(device, state, sequence);
  } catch (const Error&) {
    try_remove_new_file(device);
    throw;
  }
}

}  // namespace

LogControl::LogControl(io::Device& device, std::unique_ptr<io::File> file, ControlState state,
                       std::uint64_t sequence, std::uint32_t next_copy)
    : device_(device),
      file_(std::move(file)),
      state_(std::move(state)),
      sequence_(sequence),
      next_copy_(next_copy),
      block_(kBlockBytes, kBlockBytes) {}

std::unique_ptr<LogControl> LogControl::create(io::Device& device, const ControlState& state) {
  if (device.exists(kControlFileName)) {
    throw Error(ErrorCode::already_exists, fmt::format("{}: a log exists already", device.path()));
  }
  make_new_file(device, state, 0);
  device.rename(kNewControlFileName, kControlFileName);
  device.sync_directory();
  return open(device, false);
}

void LogControl::remove(io::Device& device) {
  for (const std::string_view name : {kControlFileName, kNewControlFileName}) {
    remove_if_there(device, name);
  }
}

std::unique_ptr<LogControl> LogControl::open(io::Device& device, bool read_only) {
  const io::OpenMode mode = read_only ? io::OpenMode::read_only : io::OpenMode::read_write;
  auto file = device.open(kControlFileName, mode, true);
  io::require_alignment(*file, kBlockBytes);
  const AlignedMemory area(kCopies * kBlockBytes, kBlockBytes);
  if (file->size_bytes() < area.size_bytes()) {
    throw Error(ErrorCode::not_a_database,
                fmt::format("log control file \"{}\" has {} bytes, not {}", file->name(),
                            file->size_bytes(), area.size_bytes()));
  }
  if (!read_only) {
    try_remove_new_file(device);  // safe: making one requires the lock held here
    file->sync();                 // a killed process's writes may be in a cache only
  }
  file->read(0, area.bytes());
  std::optional<Block> newest;
  std::uint32_t next_copy = 0;
  std::uint32_t newest_copy = 0;
  std::uint64_t lowest = std::numeric_limits<std::uint64_t>::max();
  for (std::uint32_t copy = 0; copy < kCopies; ++copy) {
    const auto block = decode(area.bytes().subspan(copy * kBlockBytes, kBlockBytes));
    const std::uint64_t sequence = block ? block->sequence : 0;
    if (sequence < lowest) {
      lowest = sequence;
      next_copy = copy;
    }
    if (block && (!newest || sequence > newest->sequence)) {
      newest = block;
      newest_copy = copy;
    }
  }
  if (!newest) {
    throw Error(ErrorCode::corruption,
                fmt::format("log control file \"{}\": neither copy is whole", file->name()));
  }
  validate(*newest, file->name());
  const ConstBytes note =
      area.bytes().subspan(newest_copy * kBlockBytes + sizeof(Block), newest->note_bytes);
  ControlState state{.uuid = newest->uuid,
                     .segment_bytes = newest->segment_bytes,
                     .incarnation = newest->incarnation,
                     .incarnation_begin = newest->incarnation_begin,
                     .start = newest->start,
                     .clean = newest->clean == 1,
                     .note = std::string(as_view(note.data(), note.size()))};
  return std::unique_ptr<LogControl>(
      new LogControl(device, std::move(file), std::move(state), newest->sequence, next_copy));
}

// The old file stays unchanged until the new one is whole and its name is durable.
void LogControl::make_again() {
  try {
    make_new_file(device_, state_, sequence_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space) {
      throw;
    }
    write(state_);
    return;
  }
  device_.rename(kNewControlFileName, kControlFileName);
  device_.sync_directory();
  replaced_ = std::move(file_);
  file_ = device_.open(kControlFileName, io::OpenMode::read_write, true);
  sequence_ += kCopies;
  next_copy_ = 0;
}

void LogControl::write(const ControlState& next) {
  check(next.note.size() <= kControlNoteBytesMax,
        "a control note has at most the size of its field");
  encode(next, sequence_ + 1, block_.bytes());
  file_->write(next_copy_ * kBlockBytes, block_.bytes());
  file_->sync();
  state_ = next;
  ++sequence_;
  next_copy_ = (next_copy_ + 1) % kCopies;
}

}  // namespace palimpsest::wal
