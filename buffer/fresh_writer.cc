#include "buffer/fresh_writer.h"

#include <system_error>
#include <utility>

namespace palimpsest::buffer {

FreshWriter::FreshWriter(PageWriter& writer) : writer_(writer) {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): begin() writes
  }
}

FreshWriter::~FreshWriter() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
}

void FreshWriter::begin(std::span<const PageImage> pages) {
  if (!thread_.joinable()) {
    writer_.write_fresh(pages);
    return;
  }
  std::unique_lock lock(mutex_);
  await(lock);
  pages_ = pages;
  changed_.notify_all();
}

void FreshWriter::end() {
  std::unique_lock lock(mutex_);
  await(lock);
}

void FreshWriter::await(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return pages_.empty(); });
  if (failure_ != nullptr) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

// What is under way is finished also if it ends: the memory is the owner's.
void FreshWriter::work() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !pages_.empty(); });
    if (pages_.empty()) {
      return;
    }
    const std::span<const PageImage> pages = pages_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      writer_.write_fresh(pages);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = std::move(failure);
    pages_ = {};
    changed_.notify_all();
  }
}

}  // namespace palimpsest::buffer
