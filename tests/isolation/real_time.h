// What time says of a history: since when what was written is there for all, and which version of
// a key comes before which.
//
// A transaction has committed if it said so, or if one that has committed read what it wrote. It
// is there, all of it, when the first of these has ended: whoever begins later sees it. Of one of
// unknown commit status that nobody has read nothing is known.
// A version is there at the latest at one moment (its transaction is), and is the current one at
// some time after another (its writer has begun, and so has everybody who has read it). So A comes
// before B if A is there before B is current for sure; two versions that come before each other
// have been seen as no register can be (Gibbons, Korach, Testing Shared Memories, SIAM J. Comput.
// 1997: with values that are written once, time alone says no more of one key).
// Every level promises this time, except `none`.
// Thread-safety: made once, then read.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "palimpsest/function_ref.h"

#include "tests/isolation/history.h"
#include "tests/isolation/writes.h"

namespace palimpsest::isolation {

/// An event's index and one: 0 is before all events.
using Moment = std::uint64_t;
inline constexpr Moment kNever = ~Moment{0};

class RealTime {
 public:
  RealTime(const History& history, Writes& writes);

  [[nodiscard]] bool has_committed(TransactionNumber transaction) const {
    return there_[transaction] != kNever;
  }
  [[nodiscard]] Moment begun(TransactionNumber transaction) const {
    return history_.at(transaction).begun + 1;
  }
  /// From when on everybody sees it, at the latest.
  [[nodiscard]] Moment there(TransactionNumber transaction) const { return there_[transaction]; }

 private:
  const History& history_;
  std::vector<Moment> there_;
};

/// Of a key, written by a transaction that has committed; or, by nobody, what was there before.
struct Version {
  KeyNumber key = 0;
  std::int64_t value = 0;
  std::optional<TransactionNumber> by{};
  Moment there = 0;    ///< at the latest
  Moment current = 0;  ///< at some time after
  std::optional<TransactionNumber> last_reader{};

  [[nodiscard]] bool is_before(const Version& other) const { return there < other.current; }
};

/// Two versions that come before each other.
struct Contradiction {
  Version read{};    ///< still, when the other one was there
  Version missed{};  ///< with that
};

class VersionOrder {
 public:
  explicit VersionOrder(std::vector<Version> versions);

  [[nodiscard]] const std::vector<Version>& all() const noexcept { return versions_; }

  /// Those that come after it and after no other that does; some more, if that is simpler.
  void each_next(const Version& version, FunctionRef<void(const Version&)> use) const;
  [[nodiscard]] std::vector<Contradiction> contradictions() const;

 private:
  std::vector<Version> versions_;  ///< by key and `current`
};

}  // namespace palimpsest::isolation
