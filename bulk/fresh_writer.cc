#include "bulk/fresh_writer.h"

#include <system_error>
#include <utility>

#include "base/sync_point.h"

namespace palimpsest::bulk {

FreshWriter::FreshWriter(buffer::PageWriter& writer) : writer_(writer) {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): put() does the work
  }
}

FreshWriter::~FreshWriter() {
  drop();
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    begun_.notify_one();
    thread_.join();
  }
}

void FreshWriter::begin(std::span<const buffer::PageImage> pages) {
  if (!pages.empty()) {
    put(pages);
  }
}

void FreshWriter::begin_harden() {
  put({});
}

void FreshWriter::put(Pages pages) {
  if (!thread_.joinable()) {
    perform(pages);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    under_way_.push_back(pages);
  }
  begun_.notify_one();
}

void FreshWriter::perform(Pages pages) {
  if (pages.empty()) {
    writer_.harden();
  } else {
    writer_.write_fresh(pages);
  }
}

// After a failure, waits until nothing is under way: the owner then reuses the memory of all
// pieces.
void FreshWriter::await(std::size_t most) {
  std::unique_lock lock(mutex_);
  while (under_way_.size() > (failure_ == nullptr ? most : 0)) {
    PALIMPSEST_SYNC_POINT("buffer.fresh.awaited");
    done_.wait(lock);
  }
  if (failure_ != nullptr) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void FreshWriter::drop() noexcept {
  std::unique_lock lock(mutex_);
  drops_ = true;
  PALIMPSEST_SYNC_POINT("buffer.fresh.dropping");
  done_.wait(lock, [&] { return under_way_.empty(); });
  drops_ = false;
  failure_ = nullptr;
}

void FreshWriter::work() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return ends_ || !under_way_.empty(); });
    if (under_way_.empty()) {
      return;
    }
    if (!drops_ && failure_ == nullptr) {
      const Pages pages = under_way_.front();
      lock.unlock();
      std::exception_ptr failure;
      try {
        perform(pages);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      failure_ = std::move(failure);
    }
    under_way_.pop_front();
    done_.notify_one();
  }
}

}  // namespace palimpsest::bulk
