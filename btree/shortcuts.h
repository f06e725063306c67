// A list of the lower inner nodes of a tree, so that a walk can skip the nodes above them.
//
// Why: in memory, with a thousand lower inner nodes, most of a descent is spent in the two or three
// levels above them, which hardly ever change. All threads share one sorted list of the nodes of
// the lowest level that has at most kNodesMax nodes. Each has its frame, its latch version, and the
// *word* of its lower fence: the first eight of those bytes in which the fences differ from each
// other. Composite keys of numbers differ in few bytes, so a word mostly tells them apart.
//
// Splits, merges and evictions do not update the list, so it yields only guesses:
// - Proven: the node had the list's version when its fences were those on the list, and the key
//   lies strictly between them. If it still has that version, it covers the key.
// - Not proven: the key may lie in the node; the reader checks its fences (Descent::shortcut()).
//
// Invariants: (1) what was read of a list is proven only if the sequence is even and was the same
//                 before and after; the list is written in place while it is read;
//             (2) neighbours on a list are neighbours in the tree: a node that is not in memory, or
//                 was being changed, is listed without a frame;
//             (3) words in strict order are of keys in the same order, if both keys agree with
//                 `constant` in the bytes of `is_constant`: these are all bytes before the last
//                 byte of a word that are not in the word. A key that ends counts as followed by
//                 zeros, and as smaller.
// Readers write nothing. After a search without a good guess a list is made anew, at most every
// kRenewedEvery.
// Thread-safety: all functions, from any thread; of several threads that renew, all but one give
// up.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"

namespace palimpsest::btree {

class Shortcuts {
 public:
  static constexpr std::uint32_t kNodesMax = 1024;
  static constexpr std::chrono::milliseconds kRenewedEvery{100};

  /// A node, as collected for a list.
  struct Node {
    /// Its lower fence, or as much of it as fits.
    std::array<char, 48> lower{};
    std::uint32_t lower_len = 0;
    FrameIndex frame = kNoFrame;
    std::uint64_t version = 0;

    [[nodiscard]] ByteView fence() const noexcept { return {lower.data(), lower_len}; }
    /// Sets the fence to `first` followed by `second`, cut off.
    void set_fence(ByteView first, ByteView second) noexcept {
      const std::size_t head = std::min(first.size(), lower.size());
      const std::size_t tail = std::min(second.size(), lower.size() - head);
      std::copy_n(first.data(), head, lower.data());
      std::copy_n(second.data(), tail, lower.data() + head);
      lower_len = static_cast<std::uint32_t>(head + tail);
    }
  };
  struct Guess {
    FrameIndex frame = kNoFrame;  ///< kNoFrame: none
    bool is_proven = false;       ///< the node covers the key at this version
    std::uint64_t version = 0;
  };

  Shortcuts() = default;
  Shortcuts(const Shortcuts&) = delete;
  Shortcuts& operator=(const Shortcuts&) = delete;
  ~Shortcuts() { delete lists_.load(std::memory_order_relaxed); }

  [[nodiscard]] Guess guess(ByteView key) const noexcept;

  /// Whether a list may be made anew, after a search without a good guess. False while one is being
  /// made: the caller then uses the old list, or the root.
  [[nodiscard]] bool is_due() const noexcept {
    return !is_renewed_.test(std::memory_order_acquire) &&
           now_ms() >= due_ms_.load(std::memory_order_relaxed);
  }
  /// Makes a list of the span of Nodes that collect() returns, which satisfies (2). There is no
  /// list without memory for it, or if the words of more than a quarter of the nodes do not ascend.
  template <class Collect>
  void renew(Collect&& collect) noexcept {
    if (is_renewed_.test_and_set(std::memory_order_acquire)) {
      return;
    }
    set(collect());
    due_ms_.store(now_ms() + kRenewedEvery.count(), std::memory_order_relaxed);
    is_renewed_.clear(std::memory_order_release);
  }

 private:
  /// The leading bytes of a key that words are made of.
  static constexpr std::size_t kBytesLooked = 16;
  struct Looked {
    std::uint64_t low = 0;  ///< little-endian
    std::uint64_t high = 0;
  };
  struct Lists {
    std::array<std::atomic<std::uint64_t>, kNodesMax + 1> words{};
    std::array<std::atomic<std::uint64_t>, kNodesMax> versions{};
    std::array<std::atomic<FrameIndex>, kNodesMax> frames{};
  };
  /// How words are made of a key's bytes.
  struct Form {
    std::uint64_t places = ~std::uint64_t{0};  ///< key byte of each word byte, highest first; 0xFF:
                                               ///< 0
    Looked constant{};
    Looked is_constant{};
  };

  [[nodiscard]] static std::int64_t now_ms() noexcept;
  [[nodiscard]] static Looked look(ByteView key) noexcept;
  [[nodiscard]] static std::uint64_t word_of(const Looked& bytes, std::uint64_t places) noexcept;
  [[nodiscard]] static Form form_of(std::span<const Node> nodes) noexcept;
  void set(std::span<const Node> nodes) noexcept;
  void write(std::span<const Node> nodes, Lists& lists) noexcept;

  alignas(64) std::atomic<std::uint64_t> sequence_{0};  ///< odd: being written
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint64_t> places_{0};
  std::array<std::atomic<std::uint64_t>, 2> constant_{};
  std::array<std::atomic<std::uint64_t>, 2> is_constant_{};
  std::atomic<Lists*> lists_{nullptr};  ///< made once, owned
  std::atomic<std::int64_t> due_ms_{0};
  std::atomic_flag is_renewed_;
};

}  // namespace palimpsest::btree
