#include "wal/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <iterator>
#include <optional>
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
constexpr std::uint32_t kIndexMax = 1'000'000;  ///< other files are not ours
constexpr std::size_t kZeroBytes = std::size_t{1} << 20U;

std::string file_name(std::uint32_t index) {
  return fmt::format("{}{:04}", kPrefix, index);
}

/// The index in a segment file's name.
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

/// What a file is that has a segment's name.
enum class Content : std::uint8_t {
  begun = 1,  ///< its making was interrupted: nothing is in it, or zeros
  segment,    ///< it says that it is one
  foreign,    ///< a file of this name that is somebody else's
};

Content content_of(io::File& file, MutableBytes block) {
  if (file.size_bytes() < block.size()) {
    return file.size_bytes() == 0 ? Content::begun : Content::foreign;
  }
  file.read(0, block);
  if (decode_segment_header(block) || decode_batch_copy(block)) {
    return Content::segment;
  }
  return is_zero(block) ? Content::begun : Content::foreign;
}

/// Writes everything behind the header once, so that later writes change no metadata of the file
/// system. All pieces are under way together: one after the other they would take several times as
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

}  // namespace

Segments::Segments(io::Device& device, const Options& options, bool read_only)
    : device_(device), options_(options) {
  check(options.segment_bytes % kSegmentHeaderBytes == 0 && options.segments_max >= 2,
        "segments have whole blocks, and there are two at least");
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
    const bool is_whole = file->size_bytes() >= options_.segment_bytes;
    const Content content = is_whole ? Content::segment : content_of(*file, block.bytes());
    if (content == Content::segment) {
      take(std::move(file), block.bytes());
    } else if (content == Content::begun && !read_only) {
      file.reset();
      device_.remove(name);
    }
  }
}

void Segments::remove_all(io::Device& device) {
  const AlignedMemory block(kSegmentHeaderBytes, kSegmentHeaderBytes);
  for (const std::string& name : device.list()) {
    if (!index_of(name)) {
      continue;
    }
    SharedFile file = device.open(name, io::OpenMode::read_only, false);
    if (content_of(*file, block.bytes()) != Content::foreign) {
      file.reset();
      device.remove(name);
    }
  }
}

void Segments::take(SharedFile file, MutableBytes block) {
  file->read(0, block);
  const auto header = decode_segment_header(block);
  const bool is_ours = header && header->uuid == options_.uuid && header->number > 0 &&
                       header->segment_bytes == options_.segment_bytes;
  if (is_ours && file->size_bytes() < options_.segment_bytes) {
    throw Error(ErrorCode::corruption,
                fmt::format("log segment \"{}\" has {} bytes, not {}", file->name(),
                            file->size_bytes(), options_.segment_bytes));
  }
  if (is_zero(block) || (header && !is_ours) || decode_batch_copy(block)) {
    spare_.push_back({std::move(file)});
    return;
  }
  const std::uint64_t number =
      is_ours ? header->number : kCounterMax / options_.segment_bytes + in_use_.size() + 1;
  const auto [other, is_new] = in_use_.emplace(number, file);
  if (!is_new) {
    throw Error(ErrorCode::corruption,
                fmt::format("log segments \"{}\" and \"{}\" both say they are number {}",
                            other->second->name(), file->name(), number));
  }
}

bool Segments::is_name(std::string_view name) noexcept {
  return index_of(name).has_value();
}

std::vector<std::uint64_t> Segments::numbers() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> numbers;
  numbers.reserve(in_use_.size());
  for (const auto& [number, file] : in_use_) {
    numbers.push_back(number);
  }
  return numbers;
}

bool Segments::has(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return in_use_.contains(number);
}

std::uint32_t Segments::files() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(in_use_.size() + spare_.size());
}

std::uint32_t Segments::spare() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(spare_.size());
}

void Segments::keep_only(std::uint64_t first, std::uint64_t last) {
  release_before(first);
  std::vector<SharedFile> behind;
  {
    const std::lock_guard lock(mutex_);
    for (auto entry = in_use_.upper_bound(last); entry != in_use_.end(); ++entry) {
      behind.push_back(entry->second);
    }
  }
  const AlignedMemory zeros(kSegmentHeaderBytes, kSegmentHeaderBytes);
  for (const SharedFile& file : behind) {
    file->write(0, zeros.bytes());
    file->sync();
  }
  const std::lock_guard lock(mutex_);
  for (SharedFile& file : behind) {
    spare_.push_back({std::move(file)});
  }
  in_use_.erase(in_use_.upper_bound(last), in_use_.end());
}

std::uint32_t Segments::release_before(std::uint64_t first) {
  const std::lock_guard lock(mutex_);
  const auto end = in_use_.lower_bound(first);
  const auto released = static_cast<std::uint32_t>(std::distance(in_use_.begin(), end));
  spare_.reserve(spare_.size() + released);
  for (auto entry = in_use_.begin(); entry != end; ++entry) {
    spare_.push_back({std::move(entry->second)});
  }
  in_use_.erase(in_use_.begin(), end);
  return released;
}

void Segments::remove_surplus(std::uint32_t most) {
  for (; most != 0; --most) {
    std::string name;
    {
      const std::lock_guard lock(mutex_);
      const auto ready =
          std::ranges::find_if(spare_, [](const Spare& spare) { return !spare.is_bare; });
      if (in_use_.size() + spare_.size() <= options_.segments_max || ready == spare_.end()) {
        return;
      }
      name = plain_name(*ready->file);
      spare_.erase(ready);
    }
    remove(std::span(&name, 1));
  }
}

bool Segments::make_one(bool beyond_max) {
  const std::lock_guard making(making_);
  if (files() >= options_.segments_max && !beyond_max) {
    return false;
  }
  make(1, 1);
  return true;
}

void Segments::make_all(std::uint32_t count, bool zeroed) {
  const std::lock_guard making(making_);
  if (const std::uint32_t there = files(); there < count) {
    make(count - there, zeroed ? count - there : 1);
  }
}

/// The last `zeroed` of them with their zeros. All or none.
void Segments::make(std::uint32_t count, std::uint32_t zeroed) {
  const std::uint32_t first_name = next_name_;
  std::vector<SharedFile> made;
  std::vector<std::string> names;
  made.reserve(count);
  names.reserve(count);
  try {
    while (made.size() < count) {
      while (device_.exists(file_name(next_name_))) {
        ++next_name_;  // one that failed and could not be removed: left to whoever opens the log
      }
      names.push_back(file_name(next_name_));
      made.push_back(device_.open(names.back(), io::OpenMode::create_new, false));
      io::require_alignment(*made.back(), kSegmentHeaderBytes);
      ++next_name_;
      made.back()->allocate(0, options_.segment_bytes);
    }
    for (const SharedFile& file : std::span(made).last(zeroed)) {
      write_zeros(*file, options_.segment_bytes);
    }
    for (const SharedFile& file : made) {
      file->sync();
    }
    device_.sync_directory();
    const std::lock_guard lock(mutex_);
    spare_.reserve(spare_.size() + count);
    for (std::uint32_t i = 0; i < count; ++i) {
      spare_.push_back({.file = made[i], .is_bare = i + zeroed < count});
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
    SharedFile file;
    {
      const std::lock_guard lock(mutex_);
      const auto bare = std::ranges::find_if(spare_, &Spare::is_bare);
      if (bare == spare_.end()) {
        return;
      }
      file = bare->file;
    }
    PALIMPSEST_SYNC_POINT("wal.segments.zeroing");
    try {
      write_zeros(*file, options_.segment_bytes);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it reads as zeros
    }
    {
      const std::lock_guard lock(mutex_);
      std::ranges::find(spare_, file, &Spare::file)->is_bare = false;
    }
    zeroed_.notify_all();
  }
}

// The newest one that is ready.
Segments::SharedFile Segments::take_spare(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  check(!spare_.empty(), "a spare segment is there before it is needed");
  const auto newest = [&] {
    return std::find_if(spare_.rbegin(), spare_.rend(),
                        [](const Spare& spare) { return !spare.is_bare; });
  };
  while (newest() == spare_.rend()) {
    PALIMPSEST_SYNC_POINT("wal.segments.awaited");
    zeroed_.wait(lock);
  }
  const auto taken = newest();
  SharedFile file = taken->file;
  in_use_.emplace(number, file);
  spare_.erase(std::prev(taken.base()));
  return file;
}

void Segments::begin(std::uint64_t number) {
  static_cast<void>(take_spare(number));
  write_header(number);
}

void Segments::write_header(std::uint64_t number) {
  const AlignedMemory block(kSegmentHeaderBytes, kSegmentHeaderBytes);
  encode_segment_header(number, options_.segment_bytes, options_.uuid, block.bytes());
  find(number)->write(0, block.bytes());
}

Segments::SharedFile Segments::find_spare(std::span<const std::string> kept) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(spare_, [&](const Spare& spare) {
    return !spare.is_bare && std::ranges::find(kept, plain_name(*spare.file)) == kept.end();
  });
  return found == spare_.end() ? nullptr : found->file;
}

std::string Segments::write_spare(ConstBytes bytes, std::span<const std::string> kept) {
  SharedFile file = find_spare(kept);
  if (file == nullptr) {
    static_cast<void>(make_one(true));
    file = find_spare(kept);
  }
  check(file != nullptr, "a segment just made is spare");
  file->write(0, bytes);
  file->sync();
  return plain_name(*file);
}

void Segments::write(StreamPosition at, ConstBytes bytes) {
  check(offset_of(at) + bytes.size() <= options_.segment_bytes, "no batch crosses a segment");
  find(number_of(at))->write(offset_of(at), bytes);
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
    for (const auto& [number, file] : in_use_) {
      files.push_back(file);
    }
  }
  for (const SharedFile& file : files) {
    file->sync();
  }
  device_.sync_directory();  // one that was just being made may be whole, but for its name
}

void Segments::read(StreamPosition at, MutableBytes into) const {
  find(number_of(at))->read(offset_of(at), into);
}

std::string Segments::place_of(StreamPosition at) const {
  const std::uint64_t number = number_of(at);
  return has(number) ? fmt::format("log segment \"{}\"", name_of(number))
                     : fmt::format("{}: log segment number {}, which no file says it is",
                                   device_.path(), number);
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
    throw Error(ErrorCode::corruption,
                fmt::format("{}: log segment number {} is missing", device_.path(), number));
  }
  return entry->second;
}

}  // namespace palimpsest::wal
