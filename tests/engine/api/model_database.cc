#include "tests/engine/api/model_database.h"

#include <algorithm>

namespace palimpsest::test {

const ModelRow* ModelTable::at(const ModelKey& key, Time time) const {
  const auto found = rows_.find(key);
  if (found == rows_.end()) {
    return nullptr;
  }
  const auto after = found->second.upper_bound(time);
  if (after == found->second.begin()) {
    return nullptr;
  }
  const std::optional<ModelRow>& row = std::prev(after)->second;
  return row ? &*row : nullptr;
}

const ModelRow* ModelTable::newest(const ModelKey& key) const {
  return at(key, ~Time{0});
}

Time ModelTable::changed(const ModelKey& key) const {
  const auto found = rows_.find(key);
  return found == rows_.end() ? 0 : found->second.rbegin()->first;
}

Time ModelTable::touched(const ModelKey& key) const {
  const auto found = touched_.find(key);
  return found == touched_.end() ? 0 : found->second;
}

Time ModelTable::touched(std::int64_t number) const {
  const auto found = touched_numbers_.find(number);
  return found == touched_numbers_.end() ? 0 : found->second;
}

ModelRows ModelTable::rows(Time time) const {
  ModelRows rows;
  for (const auto& [key, versions] : rows_) {
    if (const ModelRow* const row = at(key, time)) {
      rows.emplace_hint(rows.end(), key, *row);
    }
  }
  return rows;
}

std::set<ModelKey> ModelTable::keys_with(std::int64_t number) const {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? std::set<ModelKey>() : found->second;
}

void ModelTable::commit(const ModelKey& key, const std::optional<ModelRow>& row, Time time) {
  rows_[key][time] = row;
}

void ModelTable::commit_touched(const ModelChanges& changes, Time time) {
  for (const ModelKey& key : changes.touched) {
    touched_[key] = time;
  }
  for (const std::int64_t number : changes.touched_numbers) {
    touched_numbers_[number] = time;
  }
}

const ModelRow* ModelTransaction::see(ModelTable& table, const ModelKey& key, Time now) const {
  if (const auto mine = changes.find(&table); mine != changes.end()) {
    if (const auto row = mine->second.rows.find(key); row != mine->second.rows.end()) {
      return row->second ? &*row->second : nullptr;
    }
  }
  return table.at(key, sees_up_to(now));
}

ModelRows ModelTransaction::see_all(ModelTable& table, Time now) const {
  ModelRows rows = table.rows(sees_up_to(now));
  if (const auto mine = changes.find(&table); mine != changes.end()) {
    for (const auto& [key, row] : mine->second.rows) {
      rows.erase(key);
      if (row) {
        rows.emplace(key, *row);
      }
    }
  }
  return rows;
}

ModelAnswer ask_row(ModelTable& table, const ModelTransaction& by,
                    const std::vector<ModelTransaction*>& others, const ModelKey& key) {
  ModelAnswer answer;
  for (ModelTransaction* const other : others) {
    if (const auto theirs = other->changes.find(&table); theirs != other->changes.end()) {
      answer.must_fail |= theirs->second.rows.contains(key);
      answer.may_conflict |= theirs->second.touched.contains(key);
    }
  }
  // A bulk leaves nothing of a row that it has made and erased.
  const bool is_changed = by.keeps_snapshot && table.changed(key) > by.snapshot;
  answer.may_conflict |= is_changed;
  answer.must_fail |=
      is_changed && (table.newest(key) != nullptr || table.at(key, by.snapshot) != nullptr);
  answer.must_fail |= table.bulk != nullptr && table.bulk != &by;
  answer.may_conflict |= answer.must_fail || table.changed_in_bulk.contains(key);
  answer.may_conflict |=
      by.keeps_snapshot && (table.bulk_committed > by.snapshot || table.touched(key) > by.snapshot);
  return answer;
}

ModelAnswer ask_number(ModelTable& table, const ModelTransaction& by,
                       const std::vector<ModelTransaction*>& others, const ModelKey& key,
                       std::int64_t number, Time now) {
  ModelAnswer answer;
  for (const ModelKey& holder : table.keys_with(number)) {
    if (holder == key) {
      continue;
    }
    const auto has = [&](const ModelRow* row) { return row != nullptr && row->number == number; };
    answer.is_taken |= has(by.see(table, holder, now));
    const auto mine = by.changes.find(&table);
    const bool is_mine = mine != by.changes.end() && mine->second.rows.contains(holder);
    answer.must_fail |= !is_mine && has(table.newest(holder));
  }
  for (ModelTransaction* const other : others) {
    if (const auto theirs = other->changes.find(&table); theirs != other->changes.end()) {
      answer.must_fail |= theirs->second.numbers.contains(number);
      answer.may_conflict |= theirs->second.touched_numbers.contains(number);
    }
  }
  answer.may_conflict |= by.keeps_snapshot && table.touched(number) > by.snapshot;
  answer.must_fail |= answer.is_taken;
  answer.may_conflict |= answer.must_fail;
  return answer;
}

}  // namespace palimpsest::test
