#include "base/sync_point.h"

#ifdef PALIMPSEST_SYNC_POINTS

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"

namespace palimpsest {

struct SyncHook::Entry {
  std::string name;
  std::function<void()> action;
  std::atomic<std::uint64_t> hits{0};
  std::uint32_t running = 0;  ///< threads inside action; guarded by the registry's mutex
};

namespace {

/// The hooks installed in this process. `mutex` guards all but `installed_count`.
template <class Entry>
struct Registry {
  std::atomic<std::size_t> installed_count{0};
  std::mutex mutex;
  std::condition_variable ended;  ///< some action has returned
  std::vector<std::shared_ptr<Entry>> hooks;
};

template <class Entry>
Registry<Entry>& registry() {
  static Registry<Entry> instance;  // see the header: only in builds with sync points
  return instance;
}

/// From the environment: one thread in so many is delayed; 0: none.
std::uint64_t noise() noexcept {
  static const std::uint64_t one_in = [] {
    const char* const text = std::getenv("PALIMPSEST_SYNC_NOISE");
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  }();
  return one_in;
}

/// Long enough for other threads to take a few steps, or to complete whole operations.
void hold_up(std::uint64_t one_in) noexcept {
  thread_local Random random(std::random_device{}());
  if (!random.one_in(one_in)) {
    return;
  }
  if (random.one_in(8)) {
    std::this_thread::sleep_for(std::chrono::microseconds(random.between(50, 500)));
  } else {
    const auto until = std::chrono::steady_clock::now() +
                       std::chrono::nanoseconds(random.below(std::uint64_t{1} << random.below(15)));
    while (std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
    }
  }
}

}  // namespace

void sync_point_reached(std::string_view name) noexcept {
  if (const std::uint64_t one_in = noise(); one_in != 0) [[unlikely]] {
    hold_up(one_in);
  }
  auto& all = registry<SyncHook::Entry>();
  if (all.installed_count.load(std::memory_order_acquire) == 0) {
    return;
  }
  std::vector<std::shared_ptr<SyncHook::Entry>> due;
  {
    const std::lock_guard lock(all.mutex);
    std::ranges::copy_if(all.hooks, std::back_inserter(due),
                         [&](const auto& hook) { return hook->name == name; });
    for (const auto& hook : due) {
      ++hook->running;
    }
  }
  for (const auto& hook : due) {
    hook->hits.fetch_add(1, std::memory_order_relaxed);
    hook->action();
    {
      const std::lock_guard lock(all.mutex);
      --hook->running;
    }
    all.ended.notify_all();
  }
}

SyncHook::SyncHook(std::string_view name, std::function<void()> action)
    : entry_(std::make_shared<Entry>()) {
  entry_->name = name;
  entry_->action = std::move(action);
  auto& all = registry<Entry>();
  const std::lock_guard lock(all.mutex);
  all.hooks.push_back(entry_);
  all.installed_count.store(all.hooks.size(), std::memory_order_release);
}

SyncHook::~SyncHook() {
  auto& all = registry<Entry>();
  std::unique_lock lock(all.mutex);
  std::erase(all.hooks, entry_);
  all.installed_count.store(all.hooks.size(), std::memory_order_release);
  all.ended.wait(lock, [&] { return entry_->running == 0; });
}

std::uint64_t SyncHook::hits() const noexcept {
  return entry_->hits.load(std::memory_order_relaxed);
}

SyncBarrier::SyncBarrier(std::string_view name) : hook_(name, [this] { stop_first(); }) {}

SyncBarrier::~SyncBarrier() {
  release();
}

void SyncBarrier::stop_first() {
  std::unique_lock lock(mutex_);
  if (std::exchange(reached_, true)) {
    return;
  }
  changed_.notify_all();
  changed_.wait(lock, [this] { return released_; });
}

void SyncBarrier::wait_until_reached() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return reached_; });
}

void SyncBarrier::release() {
  const std::lock_guard lock(mutex_);
  released_ = true;
  changed_.notify_all();
}

}  // namespace palimpsest

#endif
