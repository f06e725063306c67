#include "tests/isolation/history_checker.h"

#include <fmt/format.h>

#include "tests/isolation/cycles.h"
#include "tests/isolation/dependency_graph.h"
#include "tests/isolation/list_rules.h"
#include "tests/isolation/register_rules.h"

namespace palimpsest::isolation {

Verdict check_history(const History& history, Level level) {
  Verdict verdict{.transactions = history.size()};
  for (TransactionNumber i = 0; i < history.size(); ++i) {
    verdict.committed += history.at(i).commit_status == CommitStatus::committed ? 1U : 0U;
  }
  DependencyGraph graph(history.size());
  if (history.has_registers()) {
    check_registers(history, graph, verdict.findings);
  } else {
    check_lists(history, graph, verdict.findings);
  }
  graph.finish();
  verdict.edges = graph.edges();
  find_cycles(history, graph, level == Level::serializable, verdict.findings);
  return verdict;
}

std::string text_of(const Verdict& verdict, Level level) {
  return fmt::format("{} transactions, {} committed, {} dependencies: {} violations\n{}",
                     verdict.transactions, verdict.committed, verdict.edges,
                     verdict.findings.count_forbidden(level), verdict.findings.text(level));
}

}  // namespace palimpsest::isolation
