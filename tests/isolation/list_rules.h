// The rules for lists that are appended to, and the dependencies that follow from them.
//
// The longest read of a key is the order of its versions; every other read is a prefix of it.
// Committed elements that are not in it come after it. A transaction of unknown commit status has
// committed if certain other transactions have read its writes (real_time.h); without a reader
// nothing follows.
#pragma once

#include "tests/isolation/anomaly.h"
#include "tests/isolation/dependency_graph.h"
#include "tests/isolation/history.h"

namespace palimpsest::isolation {

void check_lists(const History& history, DependencyGraph& graph, Findings& findings);

}  // namespace palimpsest::isolation
