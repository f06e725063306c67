// The statements of a transaction on the rows of one table: a list of functions.
//
// A statement reads what it is going to replace, so that its steps can name that: with a snapshot
// by key; otherwise it claims the row first, after which no other transaction changes it. Failure:
// as Worker; Error as the engine's.
#pragma once

#include <span>

#include "tests/everything/worker.h"

namespace palimpsest::everything {

/// Runs any one of them, on a table that the scope may use.
void any_statement(Worker& worker, Scope& scope);

/// Erases all rows, and inserts so many in the order of their keys.
void refill(Worker& worker, Scope& scope, const Target& target, std::int64_t rows);

/// The number of statements, and their names.
[[nodiscard]] std::size_t statement_count();
[[nodiscard]] const char* statement_name(std::size_t number);

}  // namespace palimpsest::everything
