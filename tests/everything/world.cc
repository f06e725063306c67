#include "tests/everything/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace palimpsest::everything {
namespace {

using Steps = std::vector<const Step*>;

/// Follows the replacements from the state before.
class Chain {
 public:
  Chain(const Steps& steps, std::string what) : what_(std::move(what)), left_(steps.size()) {
    for (const Step* const step : steps) {
      if (step->before == 0) {
        made_.push_back(step);
      } else if (!after_.emplace(step->before, step).second) {
        throw std::runtime_error(fmt::format("{}: {:x} was replaced twice, by {:x} and {:x}", what_,
                                             step->before, after_.at(step->before)->after.id,
                                             step->after.id));
      }
    }
  }
  /// The last step; null: none has changed it.
  const Step* end(Id before) {
    const Step* last = before != 0 ? follow(before) : nullptr;
    bool is_there = before != 0 && (last == nullptr || last->after.id != 0);
    for (const Step* const made : made_) {
      --left_;
      const Step* const replaced = follow(made->after.id);
      const Step* const end = replaced != nullptr ? replaced : made;
      if (end->after.id != 0) {
        if (is_there) {
          throw std::runtime_error(fmt::format("{}: made twice", what_));
        }
        is_there = true;
        last = end;
      } else if (!is_there) {
        last = end;
      }
    }
    if (left_ != 0) {
      throw std::runtime_error(
          fmt::format("{}: {} changes are built on some that are not there", what_, left_));
    }
    return last;
  }

 private:
  const Step* follow(Id id) {
    const Step* last = nullptr;
    for (auto next = after_.find(id); id != 0 && next != after_.end(); next = after_.find(id)) {
      last = next->second;
      id = last->after.id;
      --left_;
    }
    return last;
  }

  std::string what_;
  std::unordered_map<Id, const Step*> after_;
  Steps made_;
  std::size_t left_;
};

/// The committed steps, by what they change.
struct Committed {
  std::array<Steps, kTables> tables;
  std::array<std::array<Steps, kIndexes>, kTables> indexes;
  std::array<std::map<std::int64_t, Steps>, kTables> rows;
};

void sort_in(const Step& step, Committed& into) {
  switch (step.kind) {
    case Step::Kind::row: into.rows[step.table][step.key].push_back(&step); return;
    case Step::Kind::index: into.indexes[step.table][step.index].push_back(&step); return;
    default: into.tables[step.table].push_back(&step); return;
  }
}

Committed committed(const Shared& shared, const Positions& positions,
                    std::optional<std::uint32_t> looker) {
  Committed all;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    const ThreadJournal& journal = shared.threads[thread];
    for (std::uint64_t number = journal.before + 1; number <= positions[thread]; ++number) {
      const Entry& entry = journal.at(number);
      const bool is_left_out = looker && (entry.is_loose || (entry.is_alone && thread != *looker));
      if (entry.outcome == CommitOutcome::given_up || is_left_out) {
        continue;
      }
      for (std::uint32_t at = entry.steps_begin; at < entry.steps_end; ++at) {
        sort_in(journal.steps[at], all);
      }
    }
  }
  return all;
}

ExtraColumns columns_after(const ExtraColumns& before, const Step& step) {
  ExtraColumns columns = before;
  if (step.kind == Step::Kind::add_column) {
    columns.push_back({step.column, step.fill});
  } else if (step.kind == Step::Kind::drop_column) {
    std::erase_if(columns, [&](const ExtraColumn& column) { return column.id == step.column; });
  }
  return columns;
}

/// The columns of each schema, in any order of the steps that replace them.
void note_schemas(const Committed& all, std::map<Id, ExtraColumns>& schemas) {
  for (const Steps& steps : all.tables) {
    std::unordered_map<Id, Steps> after;
    std::vector<Id> known;
    for (const Step* const step : steps) {
      if (step->before == 0) {
        schemas[step->after.id];
        known.push_back(step->after.id);
      } else {
        after[step->before].push_back(step);
        if (schemas.contains(step->before)) {
          known.push_back(step->before);
        }
      }
    }
    while (!known.empty()) {
      const Id id = known.back();
      known.pop_back();
      for (const Step* const step : after[id]) {
        if (step->after.id != 0 && !schemas.contains(step->after.id)) {
          schemas[step->after.id] = columns_after(schemas.at(id), *step);
          known.push_back(step->after.id);
        }
      }
    }
  }
}

void change_definition(TableModel& table, const Steps& steps, const std::string& name) {
  const Step* const last = Chain(steps, fmt::format("table \"{}\"", name)).end(table.schema);
  if (last == nullptr) {
    return;
  }
  if (last->made != table.made || last->after.id == 0) {
    table = TableModel{};  // it was dropped, if it was there
  }
  table.schema = last->after.id;
  table.made = last->after.id == 0 ? 0 : last->made;
}

void change_indexes(TableModel& table, const std::array<Steps, kIndexes>& steps,
                    const std::string& name) {
  for (std::uint32_t index = 0; index < kIndexes; ++index) {
    Steps mine = steps[index];
    std::erase_if(mine, [&](const Step* step) { return step->made != table.made; });
    Chain chain(mine, fmt::format("index {} of \"{}\"", index, name));
    if (const Step* const last = chain.end(table.indexes[index])) {
      table.indexes[index] = last->after.id;
    }
  }
}

void change_rows(TableModel& table, const std::map<std::int64_t, Steps>& changed,
                 const std::string& name) {
  for (const auto& [key, steps] : changed) {
    Steps mine = steps;
    std::erase_if(mine, [&](const Step* step) { return step->made != table.made; });
    const auto row = table.rows.find(key);
    Chain chain(mine, fmt::format("row {} of \"{}\"", key, name));
    const Step* const last = chain.end(row == table.rows.end() ? 0 : row->second.id);
    if (last == nullptr) {
      continue;
    }
    if (last->after.id == 0) {
      table.rows.erase(key);
    } else {
      table.rows[key] = last->after;
    }
  }
}

}  // namespace

std::string table_name(std::uint32_t table) {
  return is_shared(table)  ? fmt::format("shared_{}", table - 2 * kThreads)
         : is_loose(table) ? fmt::format("loose_{}", table - kThreads)
                           : fmt::format("own_{}", table);
}

std::string marker_name(std::uint32_t thread, bool loose) {
  return fmt::format("{}_{}", loose ? "loose_marker" : "marker", thread);
}

std::size_t World::rows() const {
  std::size_t rows = 0;
  for (const TableModel& table : tables) {
    rows += table.rows.size();
  }
  return rows;
}

World advanced(const World& before, const Shared& shared, const Positions& positions,
               std::optional<std::uint32_t> looker) {
  World world = before;
  const Committed all = committed(shared, positions, looker);
  note_schemas(all, world.schemas);
  for (std::uint32_t table = 0; table < kTables; ++table) {
    if (!is_known(table, looker)) {
      continue;
    }
    const std::string name = table_name(table);
    change_definition(world.tables[table], all.tables[table], name);
    change_indexes(world.tables[table], all.indexes[table], name);
    change_rows(world.tables[table], all.rows[table], name);
  }
  world.numbers = positions;
  return world;
}

}  // namespace palimpsest::everything
