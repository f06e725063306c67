// What must hold of lists that are appended to, and what depends on what.
//
// The longest read of a key is the order of its versions; every other one is a beginning of it.
// What has committed and is not in it comes after it. Whether one of unknown commit status has
// committed is known by those who have read it (real_time.h); of one that nobody has read nothing
// follows.
#pragma once

#include "tests/isolation/anomaly.h"
#include "tests/isolation/dependency_graph.h"
#include "tests/isolation/history.h"

namespace palimpsest::isolation {

void check_lists(const History& history, DependencyGraph& graph, Findings& findings);

}  // namespace palimpsest::isolation
