// What a transaction does with the rows of one table: a list of statements, each a function.
//
// A statement reads what it is going to replace, so that its steps can name that: with a snapshot
// by key; else it claims the row first, after which nobody else changes it.
// Failure: as Worker; Error as the engine's.
#pragma once

#include <span>

#include "tests/everything/worker.h"

namespace palimpsest::everything {

/// Any one of them, on a table that the scope may use.
void any_statement(Worker& worker, Scope& scope);

/// All rows go, and so many come in the order of their keys.
void refill(Worker& worker, Scope& scope, const Target& target, std::int64_t rows);

/// How many statements there are, and their names.
[[nodiscard]] std::size_t statement_count();
[[nodiscard]] const char* statement_name(std::size_t number);

}  // namespace palimpsest::everything
