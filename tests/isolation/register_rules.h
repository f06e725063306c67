// What must hold of registers, and what depends on what.
//
// Values are written once and never removed. What is known of the order of a register's versions:
// nothing comes first; who has read one and then writes makes a later one; and time (real_time.h):
// what was there when the writer of another version, or one that has read it, began, comes before
// that one. Of two blind writes at the same time that nobody tells apart either may be the later
// one, so that a cycle that needs their order is not found.
#pragma once

#include "tests/isolation/anomaly.h"
#include "tests/isolation/dependency_graph.h"
#include "tests/isolation/history.h"

namespace palimpsest::isolation {

void check_registers(const History& history, DependencyGraph& graph, Findings& findings);

}  // namespace palimpsest::isolation
