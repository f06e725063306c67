// What must hold of registers, and what depends on what.
//
// Of a register's versions only that order is known which transactions prove that read one and
// wrote the next. Values are written once.
#pragma once

#include "tests/isolation/anomaly.h"
#include "tests/isolation/dependency_graph.h"
#include "tests/isolation/history.h"

namespace palimpsest::isolation {

void check_registers(const History& history, DependencyGraph& graph, Findings& findings);

}  // namespace palimpsest::isolation
