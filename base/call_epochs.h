// Epochs of calls: an object that calls can no longer find is freed once every call that may have
// found it earlier has returned.
//
//   call     (E1) e = epoch   (E2) calls[e mod 2] of its stripe += 1   (E3) epoch == e, else undo
//            E2 and begin again   (E4) looks for an object    (E5) calls[e mod 2] -= 1
//   freeing  (R1) takes the object out of where calls look    (R2) left = epoch
//   thread   (R3) frees it when epoch >= left + 2
//   advance  (A1) e = epoch   (A2) calls[(e - 1) mod 2] is 0 in every stripe   (A3) epoch = e + 1
//
// Invariant: an object that a call has found at E4 is not freed before that call's E5.
// Argument: all steps are sequentially consistent. A call of epoch e that finds the object looks
// before R1, so its E3 comes before R2, and e <= left. While the call is inside, the epoch reaches
// e + 1 at most: the step to e + 2 must find calls[e mod 2] empty (A2) after the epoch was e + 1,
// which is after E3, and so after E2. A call that fails at E3 has looked at nothing; it only delays
// A2. So the epoch does not reach left + 2 >= e + 2 before E5.
// Progress: new calls count themselves in the other counter than the one an advance waits for. So
// an advance waits only for calls that were already inside, however many new ones arrive.
//
// Why not a reference count in the object: to take one, a call would have to touch the object
// first.
// Latching: none; nothing blocks. A call costs two additions to a cache line that other threads
// seldom use.
// Thread-safety: all functions, from any thread. A thread may be inside several calls at once.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/thread_number.h"

namespace palimpsest {

class CallEpochs {
 public:
  /// One call, from enter() until this object is destroyed or leave() is called.
  class Call {
   public:
    /// No call.
    Call() = default;
    Call(Call&& other) noexcept : calls_(std::exchange(other.calls_, nullptr)) {}
    Call& operator=(Call&& other) noexcept {
      std::swap(calls_, other.calls_);
      return *this;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { leave(); }

    void leave() noexcept {
      if (calls_ != nullptr) {
        std::exchange(calls_, nullptr)->fetch_sub(1);  // (E5)
      }
    }

   private:
    friend class CallEpochs;
    explicit Call(std::atomic<std::uint64_t>& calls) noexcept : calls_(&calls) {}

    std::atomic<std::uint64_t>* calls_ = nullptr;
  };

  CallEpochs() = default;
  CallEpochs(const CallEpochs&) = delete;
  CallEpochs& operator=(const CallEpochs&) = delete;

  [[nodiscard]] Call enter() noexcept {
    Stripe& stripe = stripes_[thread_number() % kStripes];
    for (;;) {
      const std::uint64_t epoch = epoch_.load();                       // (E1)
      std::atomic<std::uint64_t>& calls = stripe.calls.at(epoch % 2);  // (E2)
      calls.fetch_add(1);
      if (epoch_.load() == epoch) [[likely]] {  // (E3)
        return Call(calls);
      }
      calls.fetch_sub(1);
    }
  }

  /// (R2): the epoch to remember after an object was taken out of where calls look.
  [[nodiscard]] std::uint64_t now() const noexcept { return epoch_.load(); }
  /// (R3): whether all calls that may have found an object taken out at epoch `left` have returned.
  [[nodiscard]] bool have_left(std::uint64_t left) noexcept {
    for (;;) {
      std::uint64_t epoch = epoch_.load();  // (A1)
      if (epoch >= left + 2) {
        return true;
      }
      const bool is_empty = std::ranges::all_of(stripes_, [&](const Stripe& stripe) {
        return stripe.calls.at((epoch + 1) % 2).load() == 0;  // (A2)
      });
      if (!is_empty) {
        return false;
      }
      static_cast<void>(epoch_.compare_exchange_strong(epoch, epoch + 1));  // (A3)
    }
  }

 private:
  static constexpr std::size_t kStripes = 64;

  struct alignas(64) Stripe {
    std::array<std::atomic<std::uint64_t>, 2> calls{};  ///< by epoch, modulo 2
  };

  alignas(64) std::atomic<std::uint64_t> epoch_{2};
  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace palimpsest
