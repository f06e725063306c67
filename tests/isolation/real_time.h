// What the order of events in time implies: from when on a write is visible to all, and which
// version of a key comes before which.
//
// A transaction has committed if it reported so, or if a committed one has read its writes. All of
// it is *there* when the first of these has ended: transactions that begin later see it. Nothing is
// known of a transaction of unknown commit status that no other has read. A version is there at the
// latest at one moment (its transaction is), and is *current* at some time after another (its
// writer, and all of its readers, have begun). So A comes before B if A is there before B is
// current for sure; two versions each of which comes before the other contradict a register
// (Gibbons, Korach, Testing Shared Memories, SIAM J. Comput. 1997: with values that are written
// once, time alone implies no more for one key). Every level promises this order, except `none`.
// Thread-safety: made once, then read.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "palimpsest/function_ref.h"

#include "tests/isolation/history.h"
#include "tests/isolation/writes.h"

namespace palimpsest::isolation {

/// An event's index plus one: 0 is before all events.
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
  /// The latest moment from which on all transactions see it.
  [[nodiscard]] Moment there(TransactionNumber transaction) const { return there_[transaction]; }

 private:
  const History& history_;
  std::vector<Moment> there_;
};

/// A version of a key, written by a committed transaction, or the initial one without a writer.
struct Version {
  KeyNumber key = 0;
  std::int64_t value = 0;
  std::optional<TransactionNumber> by{};
  Moment there = 0;    ///< at the latest
  Moment current = 0;  ///< at some time after
  std::optional<TransactionNumber> last_reader{};

  [[nodiscard]] bool is_before(const Version& other) const { return there < other.current; }
};

/// Two versions each of which comes before the other.
struct Contradiction {
  Version read{};    ///< still current when the other one was there
  Version missed{};  ///< while it was there
};

class VersionOrder {
 public:
  explicit VersionOrder(std::vector<Version> versions);

  [[nodiscard]] const std::vector<Version>& all() const noexcept { return versions_; }

  /// Versions that come after it and after no other that does; some more, if that is simpler.
  void each_next(const Version& version, FunctionRef<void(const Version&)> use) const;
  [[nodiscard]] std::vector<Contradiction> contradictions() const;

 private:
  std::vector<Version> versions_;  ///< by key and `current`
};

}  // namespace palimpsest::isolation
