// The outcome of a write: done, or one of the expected ways in which it was not, which are no
// errors.
//
//   if (const Outcome outcome = accounts.insert(transaction, {7, "Ada"}); !outcome) {
//     log(outcome.text());          // table "account": key (7) exists
//   }
//   accounts.erase(transaction, {7}).require();  // throws unless done, for Database::run()
//
// Whatever the outcome, the transaction may go on; a write that is not done has changed nothing.
// Thread-safety: a plain value.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "palimpsest/error.h"

namespace palimpsest {

enum class OutcomeKind : std::uint8_t {
  done = 1,
  exists,    ///< there is a row with that key, or with these values in a unique index
  absent,    ///< no row has that key
  conflict,  ///< another transaction has changed it, and has not ended, or committed too
             ///< late for this one's snapshot: roll this one back and try again
};

class [[nodiscard]] Outcome {
 public:
  /// Where a write that is not done met its obstacle.
  struct Place {
    std::string table;
    std::string index;  ///< empty: the primary key
    std::string key;    ///< for people: (7, "Ada")
  };

  /// Done.
  Outcome() noexcept = default;
  Outcome(OutcomeKind kind, Place place);

  [[nodiscard]] OutcomeKind kind() const noexcept { return kind_; }
  [[nodiscard]] bool is_done() const noexcept { return kind_ == OutcomeKind::done; }
  [[nodiscard]] explicit operator bool() const noexcept { return is_done(); }
  [[nodiscard]] bool is_conflict() const noexcept { return kind_ == OutcomeKind::conflict; }

  /// The fields are empty if the write is done.
  [[nodiscard]] const Place& place() const noexcept;
  /// For people; "done" if it is done.
  [[nodiscard]] std::string text() const;

  /// Throws Error unless it is done: already_exists, not_found or conflict, on which
  /// Database::run() tries again.
  void require() const {
    if (!is_done()) [[unlikely]] {
      refuse();
    }
  }

 private:
  [[noreturn]] void refuse() const;

  OutcomeKind kind_ = OutcomeKind::done;
  std::shared_ptr<const Place> place_;
};

/// The outcome of erasing a range: all of its rows, or a conflict and none.
struct [[nodiscard]] ErasedRange {
  Outcome outcome{};
  std::uint64_t rows = 0;  ///< how many were erased

  /// The number of rows; throws as Outcome::require() unless it is done.
  std::uint64_t require() const {
    outcome.require();
    return rows;
  }
};

}  // namespace palimpsest
