// The rules for registers, and the dependencies that follow from them.
//
// Values are written once and never removed. Known about the order of a register's versions: the
// empty one is first; a transaction that reads a version and then writes makes a later one; and
// time (real_time.h): a version that was there when the writer of another version, or a reader of
// that one, began, comes before that one. Of two concurrent blind writes that no read distinguishes
// either may be the later one, so that a cycle that needs their order is not found.
#pragma once

#include "tests/isolation/anomaly.h"
#include "tests/isolation/dependency_graph.h"
#include "tests/isolation/history.h"

namespace palimpsest::isolation {

void check_registers(const History& history, DependencyGraph& graph, Findings& findings);

}  // namespace palimpsest::isolation
