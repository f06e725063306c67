#include "btree/unwritten_values.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/sync_point.h"

namespace palimpsest::btree {

namespace {

/// Images that are copied to lie side by side, and written, at once: at most.
constexpr std::size_t kCopiedBytesMax = std::size_t{1} << 20;

}  // namespace

UnwrittenValues::UnwrittenValues(buffer::PageWriter& writer, std::uint32_t page_size_bytes,
                                 std::size_t bytes_max)
    : writer_(writer), page_size_(page_size_bytes), bytes_max_(bytes_max) {}

void UnwrittenValues::add(const LargeValueDescriptor& value, AlignedMemory images) {
  std::unique_lock lock(mutex_);
  if (bytes_ + images.size_bytes() > bytes_max_) {
    lock.unlock();
    write_all();
    lock.lock();
  }
  const std::size_t bytes = images.size_bytes();
  values_.insert_or_assign(key_of(value), Value{.descriptor = value, .images = std::move(images)});
  bytes_ += bytes;
  count_.store(values_.size(), std::memory_order_release);
}

// Caller holds mutex_.
UnwrittenValues::Values::const_iterator UnwrittenValues::find(
    const LargeValueDescriptor& value) const {
  const auto found = values_.find(key_of(value));
  return found != values_.end() && found->second.descriptor == value ? found : values_.end();
}

bool UnwrittenValues::read(const LargeValueDescriptor& value, std::uint32_t block,
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

void UnwrittenValues::drop(const LargeValueDescriptor& value) noexcept {
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

// As a page in place, what fails is tried once more.
void UnwrittenValues::write_all() {
  const std::lock_guard turn(writing_);
  const std::vector<Value*> values = begin_writing();
  if (values.empty()) {
    return;
  }
  PALIMPSEST_SYNC_POINT("btree.unwritten.writing");
  try {
    try {
      write(values);
    } catch (const Error&) {
      write(values);
    }
  } catch (...) {
    end_writing(values, false);
    throw;
  }
  end_writing(values, true);
}

std::vector<UnwrittenValues::Value*> UnwrittenValues::begin_writing() {
  std::vector<Value*> values;
  const std::lock_guard lock(mutex_);
  values.reserve(values_.size());
  for (auto& [page, value] : values_) {
    value.is_being_written = true;
    values.push_back(&value);
  }
  return values;
}

void UnwrittenValues::end_writing(const std::vector<Value*>& values, bool written) noexcept {
  {
    const std::lock_guard lock(mutex_);
    for (Value* const value : values) {
      value->is_being_written = false;
      if (written) {
        bytes_ -= value->images.size_bytes();
        values_.erase(key_of(value->descriptor));
      }
    }
    count_.store(values_.size(), std::memory_order_release);
  }
  written_.notify_all();
}

// writing_ held. Readers look at the images meanwhile: it is the copies that are sealed.
void UnwrittenValues::write(const std::vector<Value*>& values) {
  if (copies_.data() == nullptr) {
    const std::size_t pages = std::min(kCopiedBytesMax, bytes_max_) / page_size_;
    copies_ = AlignedMemory::for_overwrite(pages * page_size_, page_size_);
  }
  std::vector<buffer::PageImage> pages;
  pages.reserve(copies_.size_bytes() / page_size_);
  for (const Value* const value : values) {
    for (std::uint32_t block = 0; block < value->descriptor.block_count(); ++block) {
      const MutableBytes copy = copies_.bytes().subspan(pages.size() * page_size_, page_size_);
      std::memcpy(copy.data(), value->images.data() + std::size_t{block} * page_size_, page_size_);
      pages.push_back({.id = value->descriptor.page_of(block), .bytes = copy});
      if (pages.size() == pages.capacity()) {
        write_some(pages);
      }
    }
  }
  write_some(pages);
}

void UnwrittenValues::write_some(std::vector<buffer::PageImage>& pages) {
  if (!pages.empty()) {
    writer_.write_fresh(pages);
    pages.clear();
  }
}

}  // namespace palimpsest::btree
