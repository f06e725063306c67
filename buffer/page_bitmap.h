// The space map's bits in memory: which pages are taken. Lock-free; knows nothing of files.
//
// Bits stand in stretches of equal length (one map page each), 64 to a word. A stretch also has a
// summary bit per word: "may have a clear bit, and no stripe holds it". A stripe takes bits from
// the word it holds; when that is full it takes over another by clearing its summary bit, lowest
// word first. Callers with different stripes thus share neither bits nor, but for the ends of
// words, cache lines, and one caller gets neighbouring bits. Rejected: one cursor for all (a shared
// counter on every allocation) and a clear-bit counter per stretch (the same).
//
// Invariants: (1) a bit is handed out by the one thread that changed it from 0 to 1.
//             (2) a word with a clear bit has its summary bit set or is held by a stripe: release
//                 sets the summary bit after it clears the bit, a stripe clears the summary bit
//                 before it looks at the word. Hints may still err towards "full" where two callers
//                 share a stripe; take_anywhere searches every word.
//             (3) the first bit of a stretch is never clear (its map page); nor are bits that were
//                 never released. So runs of clear bits never cross stretches, and no caller needs
//                 to know where the file ends.
//             (4) a change sets its stretch's dirty flag after the bit; take_dirty clears the flag
//                 before the caller copies the words: a change that one flush misses, the next one
//                 writes.
// Latching: none. add_stretch and claim_clear_tail are called by one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace palimpsest::buffer {

/// Bits from `first` up to but not including `end`.
struct BitRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;

  [[nodiscard]] std::uint64_t size() const noexcept { return end - first; }
  friend bool operator==(const BitRange&, const BitRange&) = default;
};

class PageBitmap {
 public:
  static constexpr std::uint32_t kStripes = 64;

  /// `stretch_bits` is a multiple of 64.
  explicit PageBitmap(std::uint64_t stretch_bits);
  ~PageBitmap();
  PageBitmap(const PageBitmap&) = delete;
  PageBitmap& operator=(const PageBitmap&) = delete;

  /// Appends a stretch, dirty and with no clear bit. Throws std::bad_alloc.
  void add_stretch();
  [[nodiscard]] std::uint64_t stretches() const noexcept {
    return stretch_count_.load(std::memory_order_acquire);
  }

  /// Takes a clear bit through the stripe's word and the summary bits.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint32_t stripe) noexcept;
  /// Takes the lowest clear bit, searching every word.
  [[nodiscard]] std::optional<std::uint64_t> take_anywhere() noexcept;
  /// Takes the lowest clear bit within a range.
  [[nodiscard]] std::optional<std::uint64_t> take_lowest(BitRange within) noexcept;
  /// Makes all stripes release their words: each takes over the lowest offered word next.
  void let_go_of_words() noexcept;
  /// Takes all bits of the range, or none if one of them is not clear.
  [[nodiscard]] bool try_claim(BitRange range) noexcept;
  /// Clears bits; first bits of stretches within the range stay set. False if some were clear
  /// already: then the map that was loaded, or the caller, is wrong.
  bool release(BitRange range) noexcept;

  /// Clears bit first + i for each i < count where bit i of `value` is 0.
  void release_zeros(std::uint64_t first, std::uint64_t value, std::uint64_t count) noexcept;
  /// Sets bits, whatever they were, and marks their stretches as changed.
  void fill(BitRange range) noexcept;

  [[nodiscard]] bool is_set(std::uint64_t bit) const noexcept;
  /// The 64 bits from 64 * `word`.
  [[nodiscard]] std::uint64_t word(std::uint64_t word) const noexcept { return at(word).load(); }

  /// Clear runs that hold `bits` bits together: one run if one is long enough (the first from
  /// `from` on, or else the first of all), otherwise the longest, at most `max_runs`; empty if they
  /// are too short. A look, not a claim.
  [[nodiscard]] std::vector<BitRange> find_clear_runs(std::uint64_t bits, std::uint32_t max_runs,
                                                      std::uint64_t from = 0) const;
  /// As find_clear_runs(), but only below `end`.
  [[nodiscard]] std::vector<BitRange> find_clear_runs_below(std::uint64_t end, std::uint64_t bits,
                                                            std::uint32_t max_runs) const;
  /// Takes all clear bits right before `end` and returns them; a stretch of which only the first
  /// bit is set counts as clear as a whole. Leaves the bits below `keep` alone.
  [[nodiscard]] BitRange claim_clear_tail(std::uint64_t end, std::uint64_t keep) noexcept;

  /// Whether the stretch changed since the last call.
  [[nodiscard]] bool take_dirty(std::uint64_t stretch) noexcept;
  void set_dirty(std::uint64_t stretch) noexcept;

  /// A number of each stretch, for the owner's use, that only rises; at first 0.
  void raise_stamp(std::uint64_t stretch, std::uint64_t to) noexcept;
  [[nodiscard]] std::uint64_t stamp(std::uint64_t stretch) const noexcept;

 private:
  using Word = std::atomic<std::uint64_t>;
  struct Stretch;
  struct alignas(64) Stripe {
    std::atomic<std::uint64_t> word{0};  ///< number of the word it holds, plus 1; 0 none
  };

  [[nodiscard]] Stretch& stretch_at(std::uint64_t stretch) const noexcept;
  [[nodiscard]] Word& at(std::uint64_t word) const noexcept;
  [[nodiscard]] std::uint64_t words() const noexcept { return stretches() * stretch_words_; }
  [[nodiscard]] std::optional<std::uint64_t> try_take(std::uint64_t word) noexcept;
  [[nodiscard]] std::optional<std::uint64_t> next_offered(std::uint64_t from) const noexcept;
  [[nodiscard]] std::uint64_t find_next(std::uint64_t from, bool set) const noexcept;
  [[nodiscard]] BitRange next_clear_run(std::uint64_t from) const noexcept;
  [[nodiscard]] bool accept(std::uint64_t word) noexcept;
  void offer(std::uint64_t word) noexcept;
  void changed(std::uint64_t word) noexcept;
  [[nodiscard]] bool release_bits(std::uint64_t word, std::uint64_t bits) noexcept;

  /// Segment k holds 2^k stretches, so that none ever moves.
  static constexpr std::uint32_t kSegments = 40;

  const std::uint64_t stretch_words_;
  std::array<std::atomic<Stretch*>, kSegments> segments_{};
  std::atomic<std::uint64_t> stretch_count_{0};
  /// No word below it had its summary bit set at the last look; a hint.
  alignas(64) std::atomic<std::uint64_t> search_from_{0};
  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace palimpsest::buffer
