// The expected contents of a database, and what each of its open transactions must see and may
// change: tables of one shape, whose rows have a group, which many share, and a unique number.
//
// Models a single thread of control: every event has a time, and later commits become visible
// later. After a change that was tried and undone, a conflict is possible and not certain;
// everything else is determined.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace palimpsest::test {

struct ModelKey {
  std::int64_t part = 0;
  std::string name{};

  friend auto operator<=>(const ModelKey&, const ModelKey&) = default;
};

struct ModelRow {
  std::optional<std::int64_t> group{};
  std::optional<std::int64_t> number{};
  std::int64_t count = 0;
  std::string body{};

  friend bool operator==(const ModelRow&, const ModelRow&) = default;
};

using ModelRows = std::map<ModelKey, ModelRow>;
using Time = std::uint64_t;

class ModelTransaction;

/// The changes of a transaction to one table.
struct ModelChanges {
  std::map<ModelKey, std::optional<ModelRow>> rows{};
  std::set<ModelKey> touched{};              ///< including failed attempts
  std::set<std::int64_t> numbers{};          ///< of rows, before and after
  std::set<std::int64_t> touched_numbers{};  ///< including failed attempts
};

/// One table as long as it is not dropped.
class ModelTable {
 public:
  /// The committed row at that time; null: none.
  [[nodiscard]] const ModelRow* at(const ModelKey& key, Time time) const;
  [[nodiscard]] const ModelRow* newest(const ModelKey& key) const;
  /// The time of the last commit that changed it; 0: none.
  [[nodiscard]] Time changed(const ModelKey& key) const;
  /// The time of the last commit that changed it or tried to: an undone statement leaves only that.
  [[nodiscard]] Time touched(const ModelKey& key) const;
  /// As touched(key), for any row that had, or was to have, this number.
  [[nodiscard]] Time touched(std::int64_t number) const;
  [[nodiscard]] ModelRows rows(Time time) const;
  /// Keys of rows that have ever had this number, also in transactions that did not commit.
  [[nodiscard]] std::set<ModelKey> keys_with(std::int64_t number) const;
  void note_number(std::int64_t number, const ModelKey& key) { by_number_[number].insert(key); }
  void commit(const ModelKey& key, const std::optional<ModelRow>& row, Time time);
  void commit_touched(const ModelChanges& changes, Time time);

  std::optional<Time> group_index{};   ///< the time of its creation, if it exists
  std::optional<Time> number_index{};  ///< likewise
  ModelTransaction* bulk = nullptr;    ///< has written to it, and has not ended
  /// The time of the last bulk's commit: a table that was empty before changes as a whole for older
  /// snapshots.
  Time bulk_committed = 0;
  /// Rows that bulks have changed: while an old reader needs the former large value, it cannot be
  /// freed, and a change of the row is a conflict.
  std::set<ModelKey> changed_in_bulk{};

 private:
  std::map<ModelKey, std::map<Time, std::optional<ModelRow>>> rows_;
  std::map<std::int64_t, std::set<ModelKey>> by_number_;
  std::map<ModelKey, Time> touched_;
  std::map<std::int64_t, Time> touched_numbers_;
};

class ModelTransaction {
 public:
  bool keeps_snapshot = true;  ///< otherwise it sees the commits before each call
  bool is_bulk = false;
  Time snapshot = 0;
  std::map<ModelTable*, ModelChanges> changes{};
  bool has_written = false;

  [[nodiscard]] const ModelRow* see(ModelTable& table, const ModelKey& key, Time now) const;
  [[nodiscard]] ModelRows see_all(ModelTable& table, Time now) const;
  [[nodiscard]] Time sees_up_to(Time now) const { return keeps_snapshot ? snapshot : now; }
};

/// Whether a change can be made.
struct ModelAnswer {
  bool must_fail = false;     ///< it certainly conflicts with another one
  bool may_conflict = false;  ///< it may conflict
  bool is_taken = false;      ///< another row that it sees has the number

  void operator|=(const ModelAnswer& other) {
    must_fail |= other.must_fail;
    may_conflict |= other.may_conflict;
    is_taken |= other.is_taken;
  }
};

/// Whether other open transactions prevent the change of this row of `table`.
[[nodiscard]] ModelAnswer ask_row(ModelTable& table, const ModelTransaction& by,
                                  const std::vector<ModelTransaction*>& others,
                                  const ModelKey& key);
/// Whether they prevent the row from taking this number, which it does not have yet.
[[nodiscard]] ModelAnswer ask_number(ModelTable& table, const ModelTransaction& by,
                                     const std::vector<ModelTransaction*>& others,
                                     const ModelKey& key, std::int64_t number, Time now);

}  // namespace palimpsest::test
