#include "tests/isolation/cycles.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace palimpsest::isolation {
namespace {

using Node = std::uint32_t;
using Component = std::vector<Node>;

constexpr unsigned kWw = 1;
constexpr unsigned kWwWr = 3;
constexpr unsigned kAll = 7;
/// The most steps of a search for one path, and the most searches in one component.
constexpr std::uint64_t kStepsMax = 1'000'000;
constexpr int kSearchesMax = 200;

/// The part of a graph that a search sees. In layers, node 2t+1 is transaction t entered by rw.
class View {
 public:
  View(const DependencyGraph& graph, unsigned kinds, bool layered)
      : graph_(graph), kinds_(kinds), layered_(layered) {}

  [[nodiscard]] Node nodes() const {
    return layered_ ? 2 * graph_.transactions() : graph_.transactions();
  }
  [[nodiscard]] TransactionNumber transaction(Node node) const {
    return layered_ ? node / 2 : node;
  }
  [[nodiscard]] std::span<const Edge> edges(Node node) const {
    return graph_.from(transaction(node));
  }
  /// The target of an edge from this node, if the view includes it.
  [[nodiscard]] std::optional<Node> follow(Node node, const Edge& edge) const {
    if ((static_cast<unsigned>(edge.kind) & kinds_) == 0) {
      return std::nullopt;
    }
    if (!layered_) {
      return edge.to;
    }
    const bool rw = edge.kind == EdgeKind::rw;
    if (rw && node % 2 == 1) {
      return std::nullopt;
    }
    return 2 * edge.to + (rw ? 1 : 0);
  }

 private:
  const DependencyGraph& graph_;
  unsigned kinds_;
  bool layered_;
};

/// Tarjan's algorithm, without recursion.
class ComponentSearch {
 public:
  explicit ComponentSearch(const View& view)
      : view_(view), order_(view.nodes()), lowest_(view.nodes()), on_stack_(view.nodes()) {}

  /// The components of more than one node.
  [[nodiscard]] std::vector<Component> run() {
    for (Node node = 0; node < view_.nodes(); ++node) {
      if (order_[node] == 0) {
        search(node);
      }
    }
    return std::move(found_);
  }

 private:
  struct Visit {
    Node node = 0;
    std::uint32_t next_edge = 0;
  };

  void search(Node root) {
    enter(root);
    while (!visits_.empty()) {
      Visit& visit = visits_.back();
      const auto edges = view_.edges(visit.node);
      if (visit.next_edge == edges.size()) {
        leave();
        continue;
      }
      const auto to = view_.follow(visit.node, edges[visit.next_edge++]);
      if (!to) {
        continue;
      }
      if (order_[*to] == 0) {
        enter(*to);
      } else if (on_stack_[*to]) {
        lowest_[visit.node] = std::min(lowest_[visit.node], order_[*to]);
      }
    }
  }
  void enter(Node node) {
    order_[node] = lowest_[node] = ++entered_;
    stack_.push_back(node);
    on_stack_[node] = true;
    visits_.push_back({.node = node});
  }
  void leave() {
    const Node node = visits_.back().node;
    visits_.pop_back();
    if (!visits_.empty()) {
      Node& above = lowest_[visits_.back().node];
      above = std::min(above, lowest_[node]);
    }
    if (lowest_[node] != order_[node]) {
      return;
    }
    Component component;
    do {
      component.push_back(stack_.back());
      on_stack_[stack_.back()] = false;
      stack_.pop_back();
    } while (component.back() != node);
    if (component.size() > 1) {
      found_.push_back(std::move(component));
    }
  }

  const View& view_;
  std::uint32_t entered_ = 0;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> lowest_;
  std::vector<bool> on_stack_;
  std::vector<Node> stack_;
  std::vector<Visit> visits_;
  std::vector<Component> found_;
};

struct PathStep {
  TransactionNumber from = 0;
  Edge edge{};
};
using Path = std::vector<PathStep>;

/// The shortest path within a component; empty if there is none, or it is too long.
class PathSearch {
 public:
  PathSearch(const View& view, const Component& component)
      : view_(view), members_(component.begin(), component.end()) {}

  [[nodiscard]] bool contains(Node node) const { return members_.contains(node); }

  [[nodiscard]] Path run(Node from, Node to) const {
    struct Came {
      Node from = 0;
      Edge edge{};
    };
    std::unordered_map<Node, Came> came;
    std::vector<Node> queue{from};
    std::uint64_t steps = 0;
    for (std::size_t i = 0; i < queue.size() && steps < kStepsMax && !came.contains(to); ++i) {
      for (const Edge& edge : view_.edges(queue[i])) {
        const auto next = view_.follow(queue[i], edge);
        ++steps;
        if (next && contains(*next) &&
            came.try_emplace(*next, Came{.from = queue[i], .edge = edge}).second) {
          queue.push_back(*next);
        }
      }
    }
    Path path;
    if (!came.contains(to)) {
      return path;
    }
    Node node = to;
    do {
      const Came& step = came.at(node);
      path.push_back({.from = view_.transaction(step.from), .edge = step.edge});
      node = step.from;
    } while (node != from);
    std::ranges::reverse(path);
    return path;
  }

 private:
  const View& view_;
  std::unordered_set<Node> members_;
};

std::string text_of(const History& history, const Path& cycle) {
  std::string text;
  for (const PathStep& step : cycle) {
    text += fmt::format("T{} -{} of key {}-> ", step.from, name_of(step.edge.kind),
                        history.key(step.edge.key));
  }
  text += fmt::format("T{}", cycle.front().from);
  for (const PathStep& step : cycle) {
    text += "\n    " + history.text(step.from);
  }
  return text;
}

class CycleFinder {
 public:
  CycleFinder(const History& history, const DependencyGraph& graph, Findings& findings)
      : history_(history), graph_(graph), findings_(findings) {}

  void find_g0() {
    const View view(graph_, kWw, false);
    for (const Component& component : ComponentSearch(view).run()) {
      const PathSearch search(view, component);
      report(Anomaly::g0, search.run(component.front(), component.front()));
    }
  }
  void find_g1c() {
    const View view(graph_, kWwWr, false);
    for (const Component& component : ComponentSearch(view).run()) {
      each_closing(view, view, component, EdgeKind::wr, [&](const Path& cycle) {
        report(Anomaly::g1c, cycle);
        return true;
      });
    }
  }
  /// G-single and G-SI.
  void find_g_si() {
    const View layers(graph_, kAll, true);
    const View without_rw(graph_, kWwWr, true);
    for (const Component& component : ComponentSearch(layers).run()) {
      bool done = false;
      const auto report_as = [&](Anomaly anomaly) {
        return [&, anomaly](const Path& cycle) {
          report(anomaly, cycle);
          return done = true;
        };
      };
      each_closing(layers, without_rw, component, EdgeKind::rw, report_as(Anomaly::g_single));
      if (!done) {
        each_closing(layers, layers, component, EdgeKind::rw, report_as(Anomaly::g_si));
      }
    }
  }
  void find_g2() {
    const View view(graph_, kAll, false);
    for (const Component& component : ComponentSearch(view).run()) {
      each_closing(view, view, component, EdgeKind::rw, [&](const Path& cycle) {
        if (!has_neighbours(cycle)) {
          return false;  // found before
        }
        report(Anomaly::g2_item, cycle);
        return true;
      });
    }
  }

 private:
  /// Whether two rw edges are adjacent.
  static bool has_neighbours(const Path& cycle) {
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const Edge& next = cycle[(i + 1) % cycle.size()].edge;
      if (cycle.size() > 1 && cycle[i].edge.kind == EdgeKind::rw && next.kind == EdgeKind::rw) {
        return true;
      }
    }
    return false;
  }

  /// Cycles of one edge of that kind and a path back in `back`, until `use` says enough.
  template <class Use>
  void each_closing(const View& view, const View& back, const Component& component, EdgeKind kind,
                    const Use& use) {
    const PathSearch search(back, component);
    int searches = 0;
    for (const Node node : component) {
      for (const Edge& edge : view.edges(node)) {
        const auto to = edge.kind == kind ? view.follow(node, edge) : std::nullopt;
        if (!to || !search.contains(*to)) {
          continue;
        }
        if (++searches > kSearchesMax) {
          return;
        }
        Path cycle = search.run(*to, node);
        if (cycle.empty()) {
          continue;
        }
        cycle.push_back({.from = view.transaction(node), .edge = edge});
        if (use(cycle)) {
          return;
        }
      }
    }
  }

  void report(Anomaly anomaly, const Path& cycle) {
    findings_.add(anomaly, findings_.wants(anomaly) && !cycle.empty() ? text_of(history_, cycle)
                                                                      : std::string());
  }

  const History& history_;
  const DependencyGraph& graph_;
  Findings& findings_;
};

}  // namespace

void find_cycles(const History& history, const DependencyGraph& graph, bool with_g2,
                 Findings& findings) {
  CycleFinder finder(history, graph, findings);
  finder.find_g0();
  finder.find_g1c();
  finder.find_g_si();
  if (with_g2) {
    finder.find_g2();
  }
}

}  // namespace palimpsest::isolation
