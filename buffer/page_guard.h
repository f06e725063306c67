// Guards: a latched page; the type of the guard is its latch mode.
//
//   OptimisticPage   reads without writing anything shared; what was read counts once validated
//   SharedPage       excludes writers
//   ExclusivePage    the only way to change a page; knows whether readers must notice
//
// `OptimisticPage::read(f)` runs f on the page's bytes, which may be torn by a concurrent writer,
// and lets the result out only after validation. f bounds every offset, does not throw and does not
// allocate; it returns values, never pointers or views into the page.
//
// Under ThreadSanitizer (PALIMPSEST_TSAN) an OptimisticPage holds the shared latch, so that the
// rest of the code can be checked without suppressions. Therefore no thread may wait for I/O,
// frames or another page above it while it holds one, in any build.
// Thread-safety: a guard belongs to one thread. No destructor validates or throws.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/attempt.h"
#include "base/bytes.h"
#include "base/hybrid_latch.h"
#include "base/sync_point.h"
#include "base/thread_annotations.h"
#include "buffer/frame.h"

namespace palimpsest::buffer {

#ifdef PALIMPSEST_TSAN
inline constexpr bool kOptimisticTakesShared = true;
#else
inline constexpr bool kOptimisticTakesShared = false;
#endif

/// A result that cannot point into the page it was read from.
template <class T>
concept LeavesPage = !std::is_pointer_v<T> && !std::same_as<T, ByteView> &&
                     !std::same_as<T, ConstBytes> && !std::same_as<T, MutableBytes>;

/// Holds the shared latch of a page.
class SharedPage {
 public:
  SharedPage() = default;
  /// Adopts a shared latch already held.
  SharedPage(Frame& frame, const std::byte* page) noexcept : frame_(&frame), page_(page) {}
  SharedPage(SharedPage&& other) noexcept
      : frame_(std::exchange(other.frame_, nullptr)), page_(other.page_) {}
  SharedPage& operator=(SharedPage other) noexcept {
    std::swap(frame_, other.frame_);
    page_ = other.page_;
    return *this;
  }
  ~SharedPage() { release(); }

  [[nodiscard]] bool holds() const noexcept { return frame_ != nullptr; }
  [[nodiscard]] const std::byte* page() const noexcept { return page_; }
  [[nodiscard]] Frame& frame() const noexcept { return *frame_; }

  void release() noexcept PALIMPSEST_NO_ANALYSIS {
    if (frame_ != nullptr) {
      std::exchange(frame_, nullptr)->latch.unlock_shared();
    }
  }

 private:
  Frame* frame_ = nullptr;
  const std::byte* page_ = nullptr;
};

/// Holds the exclusive latch of a page.
class ExclusivePage {
 public:
  ExclusivePage() = default;
  /// Adopts an exclusive latch already held; `waited`: how it was acquired.
  ExclusivePage(Frame& frame, std::byte* page, Waited waited = Waited::no) noexcept
      : frame_(&frame), page_(page), waited_(waited) {}
  ExclusivePage(ExclusivePage&& other) noexcept
      : frame_(std::exchange(other.frame_, nullptr)), page_(other.page_), waited_(other.waited_) {}
  ExclusivePage& operator=(ExclusivePage other) noexcept {
    std::swap(frame_, other.frame_);
    page_ = other.page_;
    waited_ = other.waited_;
    return *this;
  }
  ~ExclusivePage() { release(); }

  /// Whether another thread held the latch when this one requested it.
  [[nodiscard]] bool was_contended() const noexcept { return waited_ == Waited::yes; }
  [[nodiscard]] bool holds() const noexcept { return frame_ != nullptr; }
  [[nodiscard]] Frame& frame() const noexcept { return *frame_; }
  [[nodiscard]] const std::byte* page() const noexcept { return page_; }
  /// The bytes for writing; from here on the page must be written before it is evicted.
  [[nodiscard]] std::byte* modify() noexcept {
    frame_->mark_dirty();
    return page_;
  }

  /// The version that optimistic readers find once this guard is released.
  [[nodiscard]] std::uint64_t version_after_release() const noexcept {
    return frame_->latch.version_after_unlock();
  }

  void release() noexcept PALIMPSEST_NO_ANALYSIS {
    if (frame_ != nullptr) {
      PALIMPSEST_SYNC_POINT("buffer.page.changed");
      std::exchange(frame_, nullptr)->latch.unlock_exclusive();
    }
  }

  /// For changes that optimistic readers need not notice: their versions stay valid.
  void release_unchanged() noexcept PALIMPSEST_NO_ANALYSIS {
    if (frame_ != nullptr) {
      PALIMPSEST_SYNC_POINT("buffer.page.unchanged");
      std::exchange(frame_, nullptr)->latch.unlock_exclusive_unchanged();
    }
  }

 private:
  Frame* frame_ = nullptr;
  std::byte* page_ = nullptr;
  Waited waited_ = Waited::no;
};

/// Remembers a page's latch version.
class OptimisticPage {
 public:
  OptimisticPage() = default;
  /// Waits while the page is exclusively latched.
  OptimisticPage(Frame& frame, std::byte* page) noexcept : frame_(&frame), page_(page) {
    if constexpr (kOptimisticTakesShared) {
      frame.latch.lock_shared();
    }
    version_ = frame.latch.optimistic();
  }
  OptimisticPage(OptimisticPage&& other) noexcept
      : frame_(std::exchange(other.frame_, nullptr)),
        page_(other.page_),
        version_(other.version_) {}
  OptimisticPage& operator=(OptimisticPage other) noexcept {
    std::swap(frame_, other.frame_);
    page_ = other.page_;
    version_ = other.version_;
    return *this;
  }
  ~OptimisticPage() { release(); }

  /// The page at a version remembered earlier; nothing if it has changed since (or is being
  /// changed).
  [[nodiscard]] static Attempt<OptimisticPage> at(
      Frame& frame, std::byte* page, std::uint64_t version) noexcept PALIMPSEST_NO_ANALYSIS {
    if constexpr (kOptimisticTakesShared) {
      if (!frame.latch.try_shared_at(version)) {
        return restart;
      }
    } else if (!frame.latch.validate(version)) {
      return restart;
    }
    return OptimisticPage(frame, page, version);
  }

  /// As the constructor, but gives up instead of waiting.
  [[nodiscard]] static Attempt<OptimisticPage> without_waiting(Frame& frame,
                                                               std::byte* page) noexcept {
    const auto version = frame.latch.try_optimistic();
    if (!version) {
      return restart;
    }
    return at(frame, page, *version);
  }

  /// Runs f(const std::byte* page) on bytes that may be torn; returns its result only if they were
  /// not.
  template <class F>
    requires LeavesPage<std::invoke_result_t<F, const std::byte*>>
  [[nodiscard]] auto read(F&& f) const noexcept
      -> Attempt<std::invoke_result_t<F, const std::byte*>> {
    auto result = f(static_cast<const std::byte*>(page_));
    PALIMPSEST_SYNC_POINT("buffer.page.read");
    if (!unchanged()) {
      return restart;
    }
    return result;
  }

  [[nodiscard]] bool holds() const noexcept { return frame_ != nullptr; }
  [[nodiscard]] bool unchanged() const noexcept { return frame_->latch.validate(version_); }
  [[nodiscard]] Frame& frame() const noexcept { return *frame_; }
  [[nodiscard]] std::byte* page() const noexcept { return page_; }
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  /// Becomes a shared latch if the page is still the same. Waits for an exclusive holder.
  [[nodiscard]] Attempt<SharedPage> to_shared() && noexcept PALIMPSEST_NO_ANALYSIS {
    Frame& frame = *frame_;
    PALIMPSEST_SYNC_POINT("buffer.page.to_shared");
    if constexpr (kOptimisticTakesShared) {
      frame_ = nullptr;
    } else {
      frame.latch.lock_shared();
    }
    SharedPage shared(frame, page_);
    if (!frame.latch.validate(version_)) {
      return restart;
    }
    return shared;
  }

  /// Becomes an exclusive latch if the page is still the same. Waits for other holders.
  [[nodiscard]] Attempt<ExclusivePage> to_exclusive() && noexcept PALIMPSEST_NO_ANALYSIS {
    Frame& frame = *frame_;
    release();
    PALIMPSEST_SYNC_POINT("buffer.page.to_exclusive");
    if (frame.latch.try_upgrade(version_)) {
      return ExclusivePage(frame, page_);
    }
    const Waited waited = frame.latch.lock_exclusive();
    ExclusivePage page(frame, page_, waited);
    if (!frame.latch.exclusive_at(version_)) {
      page.release_unchanged();
      return restart;
    }
    return page;
  }

  void release() noexcept PALIMPSEST_NO_ANALYSIS {
    if (frame_ != nullptr) {
      [[maybe_unused]] Frame* frame = std::exchange(frame_, nullptr);
      if constexpr (kOptimisticTakesShared) {
        frame->latch.unlock_shared();
      }
    }
  }

 private:
  OptimisticPage(Frame& frame, std::byte* page, std::uint64_t version) noexcept
      : frame_(&frame), page_(page), version_(version) {}

  Frame* frame_ = nullptr;
  std::byte* page_ = nullptr;
  std::uint64_t version_ = 0;
};

}  // namespace palimpsest::buffer
