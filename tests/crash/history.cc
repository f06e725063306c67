#include "tests/crash/history.h"

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "engine/catalog/stored_definitions.h"
#include "tests/crash/table_workload.h"

namespace palimpsest::crash {
namespace {

constexpr std::size_t kDifferencesShown = 8;

std::uint64_t print_of(std::string_view tree, std::string_view key, std::string_view value) {
  const std::hash<std::string_view> hash;
  std::uint64_t seed = hash(tree);
  std::uint64_t mixed = splitmix64(seed) ^ hash(key);
  mixed = splitmix64(mixed) ^ hash(value);
  return splitmix64(mixed);
}

/// A sum over all trees and records, so that one change adds a difference.
std::uint64_t print_of(const State& state) {
  std::uint64_t sum = 0;
  for (const auto& [tree, content] : state) {
    sum += print_of(tree, "", "");
    for (const auto& [key, value] : content) {
      sum += print_of(tree, key, value);
    }
  }
  return sum;
}

/// Applies a change; returns the difference of the fingerprint.
std::uint64_t apply(const Change& change, State& state) {
  if (change.key.empty()) {
    state[change.tree];
    return print_of(change.tree, "", "");
  }
  Content& content = state[change.tree];
  std::uint64_t grown = 0;
  if (const auto old = content.find(change.key); old != content.end()) {
    grown -= print_of(change.tree, change.key, old->second);
    content.erase(old);
  }
  if (change.value) {
    grown += print_of(change.tree, change.key, *change.value);
    content.emplace(change.key, *change.value);
  }
  return grown;
}

std::string show(const Content& content, const std::string& key) {
  const auto record = content.find(key);
  return record == content.end()
             ? "absent"
             : fmt::format("{} bytes \"{}\"", record->second.size(), record->second.substr(0, 16));
}

}  // namespace

History::History(State base) : base_(std::move(base)), last_(base_) {
  prints_.push_back(print_of(last_));
}

void History::committing(std::vector<Change> changes) {
  std::uint64_t print = prints_.back();
  for (const Change& change : changes) {
    print += apply(change, last_);
  }
  prints_.push_back(print);
  commits_.push_back(std::move(changes));
  begun_.fetch_add(1);
}

State History::state_after(std::size_t count) const {
  State state = base_;
  for (std::size_t i = 0; i < count; ++i) {
    for (const Change& change : commits_[i]) {
      apply(change, state);
    }
  }
  return state;
}

std::optional<std::size_t> History::count_of(const State& found, Window window) const {
  const std::uint64_t print = print_of(found);
  for (std::size_t count = window.acknowledged; count <= window.begun; ++count) {
    if (prints_[count] == print) {
      return count;
    }
  }
  return std::nullopt;
}

std::string History::explain(const State& found, Window window) const {
  std::string best;
  std::size_t shortest = std::numeric_limits<std::size_t>::max();
  for (std::size_t count = window.acknowledged; count <= window.begun; ++count) {
    std::string text = difference(found, state_after(count));
    if (text.size() < shortest) {
      shortest = text.size();
      best = fmt::format("unlike what the first {} transactions leave ({} acknowledged, {} begun)",
                         count, window.acknowledged, window.begun) +
             text;
    }
  }
  const std::uint64_t print = print_of(found);
  for (std::size_t count = 0; count < prints_.size(); ++count) {
    if (prints_[count] == print) {
      best += fmt::format("\n  it is what the first {} leave", count);
    }
  }
  return best;
}

State state_of(engine::Engine& database) {
  State state;
  for (const txn::TreeCatalog::Entry& entry : database.catalog().entries()) {
    const bool is_of_tables = entry.name == engine::kTablesTree || entry.name == bulk::kBulksTree ||
                              engine::TreePool::is_name(entry.name);
    if (entry.id != txn::kCatalogTree && !is_of_tables) {
      state.emplace(entry.name, engine::test::content_of(database.catalog().tree(entry.id)));
    }
  }
  if (std::optional<Content> rows = rows_of(database, nullptr)) {
    state.emplace(kStateOfTable, std::move(*rows));
  }
  return state;
}

std::string difference(const State& found, const State& expected) {
  std::string text;
  std::size_t shown = 0;
  const auto note = [&](const std::string& line) {
    text += ++shown <= kDifferencesShown ? "\n  " + line : shown % 16 == 0 ? "." : "";
  };
  State both = found;
  for (const auto& [tree, content] : expected) {
    both[tree].insert(content.begin(), content.end());
  }
  for (const auto& [tree, content] : both) {
    if (!found.contains(tree) || !expected.contains(tree)) {
      note(fmt::format("tree {} {}", tree, found.contains(tree) ? "should not be" : "is missing"));
      continue;
    }
    for (const auto& [key, value] : content) {
      const std::string is = show(found.at(tree), key);
      const std::string should_be = show(expected.at(tree), key);
      if (is != should_be ||
          (found.at(tree).contains(key) && found.at(tree).at(key) != expected.at(tree).at(key))) {
        note(fmt::format("{}/{}: {}, not {}", tree, key, is, should_be));
      }
    }
  }
  return text;
}

}  // namespace palimpsest::crash
