#include "btree/large/deferred_values.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/sync_point.h"

namespace palimpsest::btree {

namespace {

/// The most bytes of images that are copied side by side and written at once.
constexpr std::size_t kCopiedBytesMax = std::size_t{1} << 20;

}  // namespace

DeferredValues::DeferredValues(buffer::PageWriter& writer, std::uint32_t page_size_bytes,
                               std::size_t bytes_max)
    : writer_(writer), page_size_(page_size_bytes), bytes_max_(bytes_max) {
  const std::size_t pages = std::min(kCopiedBytesMax, bytes_max_) / page_size_;
  copies_ = AlignedMemory::for_overwrite(pages * page_size_, page_size_);
  pages_.reserve(pages);
  transfers_.reserve(pages);
}

void DeferredValues::add(const LargeValueDescriptor& value, AlignedMemory images) {
  const std::size_t bytes = images.size_bytes();
  make_room(bytes);
  const std::lock_guard lock(mutex_);
  const bool is_new =
      values_.try_emplace(key_of(value), Value{.descriptor = value, .images = std::move(images)})
          .second;
  check(is_new, "pages of a value that is still to be written belong to that value alone");
  bytes_ += bytes;
  count_.store(values_.size(), std::memory_order_release);
}

// If several threads find no room, one writes, and the rest then find room.
void DeferredValues::make_room(std::size_t bytes) {
  const auto has_room = [&] {
    const std::lock_guard lock(mutex_);
    return bytes_ + bytes <= bytes_max_;
  };
  if (has_room()) {
    return;
  }
  const std::lock_guard turn(writing_);
  if (!has_room()) {
    write_what_is_here();
  }
}

// The caller holds mutex_.
DeferredValues::Values::const_iterator DeferredValues::find(
    const LargeValueDescriptor& value) const {
  const auto found = values_.find(key_of(value));
  return found != values_.end() && found->second.descriptor == value ? found : values_.end();
}

bool DeferredValues::read(const LargeValueDescriptor& value, std::uint32_t block,
                          FunctionRef<void(const std::byte*)> take) const {
  if (count_.load(std::memory_order_acquire) == 0) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  const auto found = find(value);
  if (found == values_.end()) {
    return false;
  }
  take(found->second.images.data() + std::size_t{block} * page_size_);
  return true;
}

bool DeferredValues::has(const LargeValueDescriptor& value) const {
  return read(value, 0, [](const std::byte*) {});
}

void DeferredValues::drop(const LargeValueDescriptor& value) noexcept {
  std::unique_lock lock(mutex_);
  auto found = find(value);
  while (found != values_.end() && found->second.is_being_written) {
    PALIMPSEST_SYNC_POINT("btree.unwritten.dropping");
    written_.wait(lock);
    found = find(value);
  }
  if (found != values_.end()) {
    bytes_ -= found->second.images.size_bytes();
    values_.erase(found);
    count_.store(values_.size(), std::memory_order_release);
  }
}

// A round waits for a thread that is writing, even if nothing else is left to write (2).
void DeferredValues::write_all() {
  const std::lock_guard turn(writing_);
  write_what_is_here();
}

// The caller holds writing_. A failed write is tried once more, as for pages written in place.
void DeferredValues::write_what_is_here() {
  begin_writing();
  PALIMPSEST_SYNC_POINT("btree.unwritten.writing");
  try {
    try {
      write_copies();
    } catch (const Error&) {
      write_copies();
    }
  } catch (...) {
    end_writing(false);
    throw;
  }
  end_writing(true);
}

void DeferredValues::begin_writing() noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [page, value] : values_) {
    value.is_being_written = true;
  }
}

void DeferredValues::end_writing(bool written) noexcept {
  Values done;  // their memory is freed without the mutex
  {
    const std::lock_guard lock(mutex_);
    for (auto next = values_.begin(); next != values_.end();) {
      const auto value = next++;
      if (std::exchange(value->second.is_being_written, false) && written) {
        bytes_ -= value->second.images.size_bytes();
        done.insert(values_.extract(value));
      }
    }
    count_.store(values_.size(), std::memory_order_release);
  }
  written_.notify_all();
}

/// The next value that is being written, in file order.
const DeferredValues::Value* DeferredValues::next_to_write(PageId after) const {
  const std::lock_guard lock(mutex_);
  const auto next = std::find_if(values_.upper_bound(after), values_.end(),
                                 [](const auto& entry) { return entry.second.is_being_written; });
  return next == values_.end() ? nullptr : &next->second;
}

// The caller holds writing_. Readers may read the images meanwhile, so the copies are sealed.
void DeferredValues::write_copies() {
  pages_.clear();
  for (const Value* value = next_to_write(kNoPage); value != nullptr;
       value = next_to_write(key_of(value->descriptor))) {
    for (std::uint32_t block = 0; block < value->descriptor.block_count(); ++block) {
      const MutableBytes copy = copies_.bytes().subspan(pages_.size() * page_size_, page_size_);
      std::memcpy(copy.data(), value->images.data() + std::size_t{block} * page_size_, page_size_);
      pages_.push_back({.id = value->descriptor.page_of(block), .bytes = copy});
      if (pages_.size() == pages_.capacity()) {
        write_some();
      }
    }
  }
  write_some();
}

void DeferredValues::write_some() {
  if (!pages_.empty()) {
    writer_.write_fresh(pages_, transfers_);
    pages_.clear();
  }
}

}  // namespace palimpsest::btree
