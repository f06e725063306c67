// Cycles of a dependency graph, each classed by the fewest kinds of edges it needs.
//
// A cycle without two adjacent rw edges is found in a graph with two nodes for each transaction:
// one entered by rw, which no rw leaves, and one entered otherwise. So the whole search is a few
// passes for strongly connected components (Tarjan 1972), linear in the edges; the paths for the
// report are searched within a component only, and for a bounded number of steps.
#pragma once

#include "tests/isolation/anomaly.h"
#include "tests/isolation/dependency_graph.h"
#include "tests/isolation/history.h"

namespace palimpsest::isolation {

/// Adds one finding for each component; looks for G2-item only if requested.
void find_cycles(const History& history, const DependencyGraph& graph, bool with_g2,
                 Findings& findings);

}  // namespace palimpsest::isolation
