// Compares a database, or what one transaction sees of it, with the journals.
//
// First how far each thread has come: its marker says the number of its last transaction that has
// one, and rows of its own table which calls without a transaction have come after that. Then all
// tables are to be what the world is with these transactions and no others.
// Thread-safety: functions; what threads write meanwhile is no part of what they look at.
#pragma once

#include <optional>
#include <string>

#include "palimpsest/database.h"

#include "tests/everything/journal.h"
#include "tests/everything/world.h"

namespace palimpsest::everything {

/// What is looked at.
struct View {
  const Database& database;
  const Transaction* in = nullptr;  ///< null: what has been committed; nobody else is there
};

/// Where each thread must have come to, and may have.
struct Bounds {
  Positions lower{};
  Positions upper{};
  std::optional<std::uint32_t> looker{};  ///< the thread that looks while others go on

  /// After a life that was killed, or closed its database.
  [[nodiscard]] static Bounds after(const Shared& shared, bool is_closed);
};

/// What is not as it has to be; empty: nothing. `found`: how far each thread has come. `world`: at
/// the beginning of the life.
[[nodiscard]] std::string judged(const View& view, const World& world, const Shared& shared,
                                 const Bounds& bounds, Positions& found);

}  // namespace palimpsest::everything
