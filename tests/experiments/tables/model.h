// Tables as maps in memory, and a session on them, used by tests of a workload's transactions in
// place of an engine. One session at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "experiments/tables/key.h"
#include "experiments/tables/session.h"

namespace palimpsest::experiments::test {

/// A table for each type of key.
template <class... Keys>
class ModelTables {
 public:
  template <class Key>
  using Rows = std::map<Key, RowOf<Key>>;

  template <class Key>
  [[nodiscard]] Rows<Key>& rows() {
    return std::get<Rows<Key>>(tables_);
  }
  template <class Key>
  [[nodiscard]] const Rows<Key>& rows() const {
    return std::get<Rows<Key>>(tables_);
  }
  template <class Key>
  [[nodiscard]] const RowOf<Key>& at(const Key& key) const {
    return rows<Key>().at(key);
  }

  template <class Key>
  void add(const Key& key, const RowOf<Key>& row) {
    Rows<Key>& table = rows<Key>();
    table.emplace_hint(table.end(), key, row);
  }

  template <class Key, class Visit>
  void scan(const Key& first, const Key& last, Visit&& visit) const {
    const Rows<Key>& table = rows<Key>();
    for (auto at = table.lower_bound(first); at != table.end() && at->first <= last; ++at) {
      visit(at->first, at->second);
    }
  }

  bool operator==(const ModelTables&) const = default;

 private:
  std::tuple<Rows<Keys>...> tables_;
};

/// A session with conflicts on request. Database: ModelTables, or a class derived from it.
template <class Database>
class ModelSession {
 public:
  explicit ModelSession(Database& database) : database_(database) {}

  /// The n-th operation from here on, commit() included, is a conflict.
  void conflict_at(std::uint64_t n) { until_conflict_ = n; }
  [[nodiscard]] bool conflict_is_due() const { return until_conflict_ != 0; }
  [[nodiscard]] bool is_open() const { return open_; }

  void begin(Intent intent) {
    check(!open_, "a transaction in a transaction");
    open_ = true;
    intent_ = intent;
  }

  Access commit() {
    if (meets_conflict()) {
      rollback();
      return Access::conflict;
    }
    undo_.clear();
    open_ = false;
    return Access::done;
  }

  void rollback() noexcept {
    check(open_, "no transaction to roll back");
    for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) {
      (*undo)();
    }
    undo_.clear();
    open_ = false;
  }

  template <class Key, class Use>
  Access read(const Key& key, Use&& use) {
    return meets_conflict()
               ? Access::conflict
               : with_row(key, [&](auto& /*table*/, auto at) { use(std::as_const(at->second)); });
  }

  template <class Key, class Change>
  Access update(const Key& key, Change&& change) {
    return change_row(key, [&](auto& /*table*/, auto at) {
      undo([at, before = at->second] { at->second = before; });
      RowOf<Key> repeated = at->second;
      change(repeated);  // as an engine may that has to begin again
      change(at->second);
    });
  }

  template <class Key>
  Access insert(const Key& key, const RowOf<Key>& row) {
    if (meets_conflict_writing()) {
      return Access::conflict;
    }
    if (!database_.template rows<Key>().emplace(key, row).second) {
      return Access::exists;
    }
    undo([this, key] { database_.template rows<Key>().erase(key); });
    return Access::done;
  }

  template <class Key>
  Access erase(const Key& key) {
    return change_row(key, [&](auto& table, auto at) {
      undo([&table, key, before = at->second] { table.emplace(key, before); });
      table.erase(at);
    });
  }

 protected:
  [[nodiscard]] Database& database() const noexcept { return database_; }
  /// Whether the operation that begins must conflict.
  bool meets_conflict() {
    check(open_, "an operation outside a transaction");
    if (until_conflict_ == 0) {
      return false;
    }
    --until_conflict_;
    return until_conflict_ == 0;
  }
  /// Adds a step of the rollback.
  void undo(std::function<void()> change) { undo_.push_back(std::move(change)); }

 private:
  /// Calls use(table, place) if the row exists.
  template <class Key, class Use>
  Access with_row(const Key& key, Use&& use) {
    auto& table = database_.template rows<Key>();
    const auto at = table.find(key);
    if (at == table.end()) {
      return Access::missing;
    }
    use(table, at);
    return Access::done;
  }
  template <class Key, class Change>
  Access change_row(const Key& key, Change&& change) {
    return meets_conflict_writing() ? Access::conflict
                                    : with_row(key, std::forward<Change>(change));
  }
  bool meets_conflict_writing() {
    check(intent_ == Intent::read_write, "a write of a transaction that was to read only");
    return meets_conflict();
  }

  Database& database_;
  std::vector<std::function<void()>> undo_;
  std::uint64_t until_conflict_ = 0;  ///< 0: none is due
  Intent intent_ = Intent::read_only;
  bool open_ = false;
};

}  // namespace palimpsest::experiments::test
