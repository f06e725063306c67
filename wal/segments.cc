#include "wal/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <iterator>
#include <optional>
#include <ranges>
#include <string_view>
#include <system_error>
#include <utility>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/io/require_alignment.h"
#include "base/sync_point.h"
#include "wal/batch_copy.h"

namespace palimpsest::wal {
namespace {

constexpr std::string_view kPrefix = "log-";
constexpr std::uint32_t kIndexMax = 1'000'000;  ///< files with larger numbers are not ours
constexpr std::size_t kZeroBytes = std::size_t{1} << 20U;
/// A file with less than this share of the log is not worth the sync that passing it costs.
constexpr std::uint64_t kOutgrownShare = 8;

std::string file_name(std::uint32_t index) {
  return fmt::format("{}{:04}", kPrefix, index);
}

/// The index in a segment file's name; nothing if it is not such a name.
std::optional<std::uint32_t> index_of(std::string_view name) noexcept {
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  name.remove_prefix(kPrefix.size());
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool whole = error == std::errc{} && end == name.data() + name.size();
  return whole && index > 0 && index <= kIndexMax ? std::optional(index) : std::nullopt;
}

std::string plain_name(const io::File& file) {
  return file.name().substr(file.name().rfind('/') + 1);
}

/// What a file with a segment's name contains.
enum class Content : std::uint8_t {
  empty = 1,  ///< nothing or zeros: spare, or unfinished
  segment,    ///< its header says that it is one
  damaged,    ///< its header is unreadable, but the rest is a segment's
  foreign,    ///< some other file
};

Content content_of(io::File& file, MutableBytes block) {
  if (file.size_bytes() < block.size()) {
    return file.size_bytes() == 0 ? Content::empty : Content::foreign;
  }
  file.read(0, block);
  if (decode_segment_header(block) || decode_batch_copy(block)) {
    return Content::segment;
  }
  if (is_zero(block)) {
    return Content::empty;
  }
  if (has_segment_magic(block)) {
    return Content::damaged;
  }
  if (file.size_bytes() < 2 * block.size()) {
    return Content::foreign;
  }
  file.read(block.size(), block);
  return peek_batch(block, kBatchBytesMax) ? Content::damaged : Content::foreign;
}

/// Writes zeros to everything behind the header, so that later writes change no metadata of the
/// file system. One batch for all pieces: one after the other they would take several times as
/// long.
void write_zeros(io::File& file, std::uint64_t bytes) {
  const AlignedMemory zeros(std::min<std::uint64_t>(kZeroBytes, bytes), kSegmentHeaderBytes);
  std::vector<io::Transfer> pieces;
  for (std::uint64_t at = kSegmentHeaderBytes; at < bytes; at += pieces.back().data.size()) {
    const std::uint64_t size = std::min<std::uint64_t>(bytes - at, zeros.size_bytes());
    pieces.push_back(
        {.kind = io::Transfer::Kind::write, .offset_bytes = at, .data = zeros.bytes().first(size)});
  }
  file.run(pieces);
  for (const io::Transfer& piece : pieces) {
    if (piece.error != 0) {
      file.throw_error_of(piece);
    }
  }
}

/// Whether a whole header may be that of one of these segments.
bool is_sane(const SegmentHeader& header, std::uint64_t segment_bytes_max) noexcept {
  return header.number > 0 && header.number <= kCounterMax / segment_bytes_max &&
         header.segment_bytes > kSegmentHeaderBytes && header.segment_bytes <= segment_bytes_max &&
         header.segment_bytes % kSegmentHeaderBytes == 0 && raw(header.begin) <= kCounterMax &&
         raw(header.begin) % kSegmentHeaderBytes == 0;
}

[[noreturn]] void throw_missing(const io::Device& device, std::uint64_t number) {
  throw Error(ErrorCode::corruption,
              fmt::format("{}: log segment number {} is missing", device.path(), number));
}

Segments::Options with_first(Segments::Options options) noexcept {
  if (options.first_segment_bytes == 0) {
    options.first_segment_bytes = options.segment_bytes;
  }
  return options;
}

}  // namespace

Segments::Segments(io::Device& device, const Options& options, bool read_only)
    : device_(device), options_(with_first(options)) {
  check(options.segment_bytes % kSegmentHeaderBytes == 0 &&
            options.first_segment_bytes % kSegmentHeaderBytes == 0 && options.segments_max >= 2,
        "a log has at least two segments, of whole blocks");
  take_stock(read_only);
}

Segments::~Segments() {
  if (zeroing_.joinable()) {
    zeroing_.join();
  }
}

void Segments::take_stock(bool read_only) {
  const io::OpenMode mode = read_only ? io::OpenMode::read_only : io::OpenMode::read_write;
  const AlignedMemory block(kSegmentHeaderBytes, kSegmentHeaderBytes);
  for (const std::string& name : device_.list()) {
    const auto index = index_of(name);
    if (!index) {
      continue;
    }
    next_name_ = std::max(next_name_, *index + 1);
    SharedFile file = device_.open(name, mode, false);
    io::require_alignment(*file, kSegmentHeaderBytes);
    const bool is_largest = file->size_bytes() >= options_.segment_bytes;
    const bool is_whole = file->size_bytes() >= options_.first_segment_bytes;
    const Content content = is_largest ? Content::segment : content_of(*file, block.bytes());
    const bool is_segment = content == Content::segment || content == Content::damaged;
    if (is_segment || (content == Content::empty && is_whole)) {
      take(std::move(file), block.bytes());
    } else if (content == Content::empty && !read_only) {
      file.reset();
      device_.remove(name);
    }
  }
  require_apart();
}

// Throws corruption if two segments overlap in the stream.
void Segments::require_apart() const {
  const InUse* before = nullptr;
  for (const auto& [number, segment] : in_use_) {
    if (before != nullptr && raw(segment.begin) < raw(before->begin) + before->bytes) {
      throw Error(ErrorCode::corruption,
                  fmt::format("log segments \"{}\" and \"{}\" say they begin at {} and {} in the "
                              "stream, and have {} and {} bytes",
                              before->file->name(), segment.file->name(), raw(before->begin),
                              raw(segment.begin), before->bytes, segment.bytes));
    }
    before = &segment;
  }
}

void Segments::remove_all(io::Device& device) {
  const AlignedMemory block(kSegmentHeaderBytes, kSegmentHeaderBytes);
  for (const std::string& name : device.list()) {
    if (!index_of(name)) {
      continue;
    }
    SharedFile file = device.open(name, io::OpenMode::read_only, false);
    const Content content = content_of(*file, block.bytes());
    if (content == Content::empty || content == Content::segment) {
      file.reset();
      device.remove(name);
    }
  }
}

void Segments::take(SharedFile file, MutableBytes block) {
  file->read(0, block);
  const auto header = decode_segment_header(block);
  const bool is_ours =
      header && header->uuid == options_.uuid && is_sane(*header, options_.segment_bytes);
  if (is_ours && file->size_bytes() < header->segment_bytes) {
    throw Error(ErrorCode::corruption,
                fmt::format("log segment \"{}\" has {} bytes, not {}", file->name(),
                            file->size_bytes(), header->segment_bytes));
  }
  const std::uint64_t bytes = std::min(
      file->size_bytes() / kSegmentHeaderBytes * kSegmentHeaderBytes, options_.segment_bytes);
  if (is_zero(block) || (header && !is_ours) || decode_batch_copy(block)) {
    spare_.push_back({.file = std::move(file), .bytes = bytes});
    return;
  }
  const std::uint64_t number =
      is_ours ? header->number : kCounterMax / options_.segment_bytes + in_use_.size() + 1;
  const StreamPosition begin = is_ours ? header->begin_of(options_.segment_bytes)
                                       : StreamPosition{number * options_.segment_bytes};
  const auto [other, is_new] = in_use_.emplace(
      number,
      InUse{.file = file, .begin = begin, .bytes = is_ours ? header->segment_bytes : bytes});
  if (!is_new) {
    throw Error(ErrorCode::corruption,
                fmt::format("log segments \"{}\" and \"{}\" both say they are number {}",
                            other->second.file->name(), file->name(), number));
  }
}

bool Segments::is_name(std::string_view name) noexcept {
  return index_of(name).has_value();
}

std::vector<std::uint64_t> Segments::numbers() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> numbers;
  numbers.reserve(in_use_.size());
  for (const auto& [number, segment] : in_use_) {
    numbers.push_back(number);
  }
  return numbers;
}

Segments::Place Segments::place_at(StreamPosition at) const noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : in_use_ | std::views::reverse) {  // the last one is wanted most often
    const Place place = shown(entry);
    if (at < place.begin) {
      continue;
    }
    return at < place.end() ? place
                            : Place{.number = place.number + 1,
                                    .begin = place.end(),
                                    .bytes = options_.segment_bytes};
  }
  const std::uint64_t first = in_use_.empty() ? 1 : in_use_.begin()->first;
  return {.number = first - 1,
          .begin = StreamPosition{raw(at) / options_.segment_bytes * options_.segment_bytes},
          .bytes = options_.segment_bytes};
}

Segments::Place Segments::place(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto entry = in_use_.find(number);
  if (entry == in_use_.end()) {
    throw_missing(device_, number);
  }
  return shown(*entry);
}

bool Segments::has(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return in_use_.contains(number);
}

std::uint32_t Segments::files() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(in_use_.size() + spare_.size());
}

std::uint64_t Segments::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_locked();
}

std::uint64_t Segments::bytes_locked() const noexcept {
  std::uint64_t bytes = 0;
  for (const Spare& spare : spare_) {
    bytes += spare.bytes;
  }
  for (const auto& [number, segment] : in_use_) {
    bytes += segment.bytes;
  }
  return bytes;
}

// 0 if the bound leaves no room for one.
std::uint64_t Segments::next_bytes(std::uint64_t there) const noexcept {
  const std::uint64_t wanted =
      std::clamp(there, options_.first_segment_bytes, options_.segment_bytes);
  const std::uint64_t room = bytes_max() - std::min(bytes_max(), there);
  const std::uint64_t bytes = std::min(wanted, room) / kSegmentHeaderBytes * kSegmentHeaderBytes;
  return bytes < options_.first_segment_bytes ? 0 : bytes;
}

std::uint32_t Segments::spare() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(spare_.size());
}

void Segments::keep_only(std::uint64_t first, std::uint64_t last) {
  release_before(first);
  std::vector<Spare> behind;
  {
    const std::lock_guard lock(mutex_);
    for (auto entry = in_use_.upper_bound(last); entry != in_use_.end(); ++entry) {
      behind.push_back({.file = entry->second.file, .bytes = entry->second.bytes});
    }
  }
  const AlignedMemory zeros(kSegmentHeaderBytes, kSegmentHeaderBytes);
  for (const Spare& spare : behind) {
    spare.file->write(0, zeros.bytes());
    spare.file->sync();
  }
  const std::lock_guard lock(mutex_);
  std::ranges::move(behind, std::back_inserter(spare_));
  in_use_.erase(in_use_.upper_bound(last), in_use_.end());
}

std::uint64_t Segments::release_before(std::uint64_t first) {
  const std::lock_guard lock(mutex_);
  const auto end = in_use_.lower_bound(first);
  spare_.reserve(spare_.size() + static_cast<std::size_t>(std::distance(in_use_.begin(), end)));
  std::uint64_t released = 0;
  for (auto entry = in_use_.begin(); entry != end; ++entry) {
    released += entry->second.bytes;
    spare_.push_back({.file = std::move(entry->second.file), .bytes = entry->second.bytes});
  }
  in_use_.erase(in_use_.begin(), end);
  return released;
}

void Segments::remove_surplus(std::uint64_t bytes_most) {
  for (;;) {
    std::string name;
    {
      const std::lock_guard lock(mutex_);
      const auto surplus = find_surplus(bytes_most);
      if (surplus == spare_.end()) {
        return;
      }
      bytes_most -= surplus->bytes;
      name = plain_name(*surplus->file);
      spare_.erase(surplus);
    }
    remove(std::span(&name, 1));
  }
}

// The first spare segment that may be removed: any one if the log is beyond its bound, else a small
// one that it has outgrown. mutex_ held.
std::vector<Segments::Spare>::iterator Segments::find_surplus(std::uint64_t bytes_most) {
  const std::uint64_t there = bytes_locked();
  const std::uint64_t outgrown = std::min(there / kOutgrownShare, options_.segment_bytes);
  const bool is_beyond = there > bytes_max();
  if (!is_beyond && in_use_.size() + spare_.size() <= kFilesMin) {
    return spare_.end();
  }
  return std::ranges::find_if(spare_, [&](const Spare& spare) {
    return !spare.is_bare && spare.bytes <= bytes_most && (is_beyond || spare.bytes < outgrown);
  });
}

std::uint64_t Segments::make_one(bool beyond_max) {
  const std::lock_guard making(making_);
  const std::uint64_t next = next_bytes(bytes());
  const std::uint64_t bytes = next == 0 && beyond_max ? options_.segment_bytes : next;
  if (bytes != 0) {
    make(1, 1, bytes);
  }
  return bytes;
}

void Segments::make_all(std::uint32_t count, bool zeroed) {
  const std::lock_guard making(making_);
  if (const std::uint32_t there = files(); there < count) {
    make(count - there, zeroed ? count - there : 1, options_.first_segment_bytes);
  }
}

/// All or none; the last `zeroed` of them with zeros. making_ held.
void Segments::make(std::uint32_t count, std::uint32_t zeroed, std::uint64_t bytes) {
  const std::uint32_t first_name = next_name_;
  std::vector<SharedFile> made;
  std::vector<std::string> names;
  made.reserve(count);
  names.reserve(count);
  try {
    while (made.size() < count) {
      while (device_.exists(file_name(next_name_))) {
        ++next_name_;  // a leftover that could not be removed; the next opening examines it
      }
      names.push_back(file_name(next_name_));
      made.push_back(device_.open(names.back(), io::OpenMode::create_new, false));
      io::require_alignment(*made.back(), kSegmentHeaderBytes);
      ++next_name_;
      made.back()->allocate(0, bytes);
    }
    for (const SharedFile& file : std::span(made).last(zeroed)) {
      write_zeros(*file, bytes);
    }
    for (const SharedFile& file : made) {
      file->sync();
    }
    device_.sync_directory();
    const std::lock_guard lock(mutex_);
    spare_.reserve(spare_.size() + count);
    for (std::uint32_t i = 0; i < count; ++i) {
      spare_.push_back({.file = made[i], .bytes = bytes, .is_bare = i + zeroed < count});
    }
  } catch (...) {
    names.resize(made.size());
    made.clear();
    remove(names);
    next_name_ = first_name;
    throw;
  }
}

void Segments::remove(std::span<const std::string> names) noexcept {
  for (const std::string& name : names) {
    try {
      device_.remove(name);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the first error tells more
    }
  }
}

void Segments::zero_beside() {
  {
    const std::lock_guard lock(mutex_);
    for (Spare& spare : spare_) {
      spare.is_bare = true;
    }
  }
  try {
    zeroing_ = std::thread([this] { zero_bare(); });
  } catch (const std::system_error&) {
    zero_bare();
  }
}

void Segments::zero_bare() noexcept {
  for (;;) {
    Spare zeroed;
    {
      const std::lock_guard lock(mutex_);
      const auto bare = std::ranges::find_if(spare_, &Spare::is_bare);
      if (bare == spare_.end()) {
        return;
      }
      zeroed = *bare;
    }
    PALIMPSEST_SYNC_POINT("wal.segments.zeroing");
    try {
      write_zeros(*zeroed.file, zeroed.bytes);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it reads as zeros anyway
    }
    {
      const std::lock_guard lock(mutex_);
      std::ranges::find(spare_, zeroed.file, &Spare::file)->is_bare = false;
    }
    zeroed_.notify_all();
  }
}

// Takes the largest spare segment that is not bare, of several the newest: the fewer segments the
// stream passes, the fewer syncs.
void Segments::take_spare(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  check(!spare_.empty(), "a spare segment is there before it is needed");
  const auto largest = [&] {
    auto found = spare_.end();
    for (auto spare = spare_.begin(); spare != spare_.end(); ++spare) {
      if (!spare->is_bare && (found == spare_.end() || spare->bytes >= found->bytes)) {
        found = spare;
      }
    }
    return found;
  };
  while (largest() == spare_.end()) {
    PALIMPSEST_SYNC_POINT("wal.segments.awaited");
    zeroed_.wait(lock);
  }
  const auto taken = largest();
  const StreamPosition begin = in_use_.empty() ? StreamPosition{number * options_.segment_bytes}
                                               : shown(*in_use_.rbegin()).end();
  in_use_.emplace(number, InUse{.file = taken->file, .begin = begin, .bytes = taken->bytes});
  spare_.erase(taken);
}

void Segments::begin(std::uint64_t number) {
  take_spare(number);
  write_header(number);
}

void Segments::begin_copy_of(const Place& other) {
  {
    const std::lock_guard making(making_);
    make(1, 1, other.bytes);
  }
  {
    const std::lock_guard lock(mutex_);
    in_use_.emplace(
        other.number,
        InUse{.file = std::move(spare_.back().file), .begin = other.begin, .bytes = other.bytes});
    spare_.pop_back();
  }
  write_header(other.number);
}

void Segments::write_header(std::uint64_t number) {
  const AlignedMemory block(kSegmentHeaderBytes, kSegmentHeaderBytes);
  const Place its = place(number);
  encode_segment_header({.number = number, .begin = its.begin, .bytes = its.bytes}, options_.uuid,
                        block.bytes());
  find(number)->write(0, block.bytes());
}

Segments::SharedFile Segments::find_spare(std::uint64_t bytes,
                                          std::span<const std::string> kept) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(spare_, [&](const Spare& spare) {
    return !spare.is_bare && spare.bytes >= bytes &&
           std::ranges::find(kept, plain_name(*spare.file)) == kept.end();
  });
  return found == spare_.end() ? nullptr : found->file;
}

std::string Segments::write_spare(ConstBytes bytes, std::span<const std::string> kept) {
  SharedFile file = find_spare(bytes.size(), kept);
  if (file == nullptr) {
    const std::lock_guard making(making_);
    make(1, 1, std::max<std::uint64_t>(bytes.size(), options_.first_segment_bytes));
    file = find_spare(bytes.size(), kept);
  }
  check(file != nullptr, "a segment just made is spare");
  file->write(0, bytes);
  file->sync();
  return plain_name(*file);
}

void Segments::write(StreamPosition at, ConstBytes bytes) {
  const Place its = place_at(at);
  check(raw(at) + bytes.size() <= raw(its.end()), "no batch crosses a segment");
  find(its.number)->write(raw(at) - raw(its.begin), bytes);
}

void Segments::sync(std::uint64_t number) {
  find(number)->sync();
}

void Segments::sync_all() {
  std::vector<SharedFile> files;
  {
    const std::lock_guard lock(mutex_);
    for (const Spare& spare : spare_) {
      files.push_back(spare.file);
    }
    for (const auto& [number, segment] : in_use_) {
      files.push_back(segment.file);
    }
  }
  for (const SharedFile& file : files) {
    file->sync();
  }
  device_.sync_directory();  // files may be whole but for their names
}

void Segments::read(StreamPosition at, MutableBytes into) const {
  const Place its = place_at(at);
  find(its.number)->read(raw(at) - raw(its.begin), into);
}

std::string Segments::place_of(StreamPosition at) const {
  const std::uint64_t number = number_of(at);
  return has(number)
             ? fmt::format("log segment \"{}\"", name_of(number))
             : fmt::format("{}: log segment number {} (no file has it)", device_.path(), number);
}

std::string Segments::file_of(std::uint64_t number) const {
  return plain_name(*find(number));
}

std::string Segments::name_of(std::uint64_t number) const {
  return find(number)->name();
}

Segments::SharedFile Segments::find(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto entry = in_use_.find(number);
  if (entry == in_use_.end()) {
    throw_missing(device_, number);
  }
  return entry->second.file;
}

}  // namespace palimpsest::wal
