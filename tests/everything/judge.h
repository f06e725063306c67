// Compares a database, or what one transaction sees of it, with the journals.
//
// First determines how far each thread has come: its marker contains the number of its last
// transaction with a marker; rows of its own table show later calls without a transaction. Then all
// tables must equal the world after exactly these transactions. Thread-safety: functions; they do
// not read what threads write meanwhile.
#pragma once

#include <optional>
#include <string>

#include "palimpsest/database.h"

#include "tests/everything/journal.h"
#include "tests/everything/world.h"

namespace palimpsest::everything {

/// What the comparison reads.
struct View {
  const Database& database;
  const Transaction* in = nullptr;  ///< null: what has been committed; no other thread runs
};

/// The position that each thread must have reached, and the last that it may have.
struct Bounds {
  Positions lower{};
  Positions upper{};
  std::optional<std::uint32_t> looker{};  ///< the thread that reads while the other ones go on

  /// After a life that was killed, or that closed its database.
  [[nodiscard]] static Bounds after(const Shared& shared, bool is_closed);
};

/// The differences; empty: none. `found`: how far each thread has come. `world`: the state at the
/// beginning of the life.
[[nodiscard]] std::string judged(const View& view, const World& world, const Shared& shared,
                                 const Bounds& bounds, Positions& found);

}  // namespace palimpsest::everything
