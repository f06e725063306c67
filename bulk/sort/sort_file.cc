#include "bulk/sort/sort_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>

#include "palimpsest/error.h"

#include "base/check.h"
#include "bulk/sort/sort_memory.h"

namespace palimpsest::bulk {
namespace {

constexpr std::string_view kSuffix = ".tmp";

bool is_sort_file(std::string_view name, std::string_view prefix) noexcept {
  if (!name.starts_with(prefix) || !name.ends_with(kSuffix) ||
      name.size() <= prefix.size() + kSuffix.size()) {
    return false;
  }
  name.remove_prefix(prefix.size());
  name.remove_suffix(kSuffix.size());
  return std::ranges::all_of(name, [](char digit) { return digit >= '0' && digit <= '9'; });
}

}  // namespace

void remove_sort_files(io::Device& device, std::string_view prefix) {
  for (const std::string& name : device.list()) {
    if (is_sort_file(name, prefix)) {
      device.remove(name);
    }
  }
}

SortFile::SortFile(io::Device& device, std::string_view name, std::uint64_t used_bytes)
    : device_(device), stays_(true), end_(used_bytes) {
  if (used_bytes == 0 && device_.exists(name)) {
    device_.remove(name);
  }
  file_ = device_.open(name, used_bytes == 0 ? io::OpenMode::create_new : io::OpenMode::read_write,
                       false);
  if (const std::uint64_t bytes = file_->size_bytes(); bytes < used_bytes) {
    throw Error(ErrorCode::corruption, fmt::format("\"{}\" has {} bytes, its runs take {}",
                                                   file_->name(), bytes, used_bytes));
  }
  check(file_->alignment_bytes() <= kSortAlignmentBytes, "blocks of a sort suit the device");
}

std::uint64_t SortFile::take(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (auto part = vacant_.begin(); part != vacant_.end(); ++part) {
    const auto [offset, vacant_bytes] = *part;
    if (vacant_bytes >= bytes) {
      vacant_.erase(part);
      if (vacant_bytes > bytes) {
        vacant_.emplace(offset + bytes, vacant_bytes - bytes);
      }
      return offset;
    }
  }
  if (file_ == nullptr) {
    make();
  }
  // A vacant part at the end is extended.
  const auto last = vacant_.empty() ? vacant_.end() : std::prev(vacant_.end());
  const bool at_end = last != vacant_.end() && last->first + last->second == end_;
  const std::uint64_t offset = at_end ? last->first : end_;
  file_->allocate(end_, offset + bytes - end_);
  if (at_end) {
    vacant_.erase(last);
  }
  end_ = offset + bytes;
  return offset;
}

void SortFile::give_back(std::uint64_t offset_bytes, std::uint64_t bytes) {
  if (stays_) {
    return;
  }
  const std::lock_guard lock(mutex_);
  auto part = vacant_.emplace(offset_bytes, bytes).first;
  if (const auto next = std::next(part);
      next != vacant_.end() && next->first == part->first + part->second) {
    part->second += next->second;
    vacant_.erase(next);
  }
  if (part != vacant_.begin()) {
    const auto before = std::prev(part);
    if (before->first + before->second == part->first) {
      before->second += part->second;
      vacant_.erase(part);
    }
  }
}

void SortFile::sync() {
  if (file_ != nullptr) {
    file_->sync();
    device_.sync_directory();
  }
}

std::uint64_t SortFile::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

// Concurrent sorts in one directory use different numbers.
void SortFile::make() {
  constexpr int kNumberMax = 10'000;
  for (int number = 1; number <= kNumberMax; ++number) {
    if (make_as(fmt::format("{}{}{}", prefix_, number, kSuffix))) {
      return;
    }
  }
  throw Error(ErrorCode::already_exists,
              fmt::format("{}: all names from {}1{} to {}{}{} are in use", device_.path(), prefix_,
                          kSuffix, prefix_, kNumberMax, kSuffix));
}

/// Tries once more to remove a file; if it fails again, the file is removed when the database is
/// opened.
void SortFile::remove_or_leave(const std::string& name) noexcept {
  try {
    device_.remove(name);
  } catch (const std::exception&) {  // it is empty
  }
}

/// False if there is a file of that name.
bool SortFile::make_as(const std::string& name) {
  try {
    file_ = device_.open(name, io::OpenMode::create_new, false);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::already_exists) {
      return false;
    }
    throw;
  }
  try {
    device_.remove(name);
  } catch (const Error&) {
    file_.reset();
    remove_or_leave(name);
    throw;
  }
  check(file_->alignment_bytes() <= kSortAlignmentBytes, "blocks of a sort suit the device");
  return true;
}

}  // namespace palimpsest::bulk
