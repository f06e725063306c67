// Palimpsest as a store: a table of bytes for each table, through the public API.
//
// Options have their defaults except those that a run sets: the memory, the size of pages, the
// bound of the log, isolation, durability and the interval of asynchronous commits. An operation
// that meets another transaction's change is a conflict at once; the driver waits and retries. A
// transaction that changes parts of a value does so in place (Table::modify), and the log carries
// the changed bytes. Checkpoints are continuous, by the engine's own thread, in step with the log:
// one begins whenever the log has grown by a sixth of its bound.
// Purpose::key_values: each operation is a call without a transaction (autocommit).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/database.h"

#include "experiments/engines/store.h"

namespace palimpsest::experiments {

class PalimpsestSession {
 public:
  /// `database` and `tables` outlive the session.
  PalimpsestSession(Database& database, const std::vector<palimpsest::Table>& tables,
                    palimpsest::Durability durability, bool single, bool prefetches) noexcept
      : database_(database),
        tables_(tables),
        durability_(durability),
        single_(single),
        prefetches_(prefetches) {}

  void begin(Intent intent) {
    if (!single_) {
      transaction_.emplace(
          database_.begin({.durability = durability_, .read_only = intent == Intent::read_only}));
    }
  }

  Access commit() {
    if (single_) {
      return Access::done;
    }
    const Access access = attempt([&] {
      transaction_->commit();
      return Access::done;
    });
    transaction_.reset();
    return access;
  }

  void rollback() noexcept;

  template <class Use>
  Access get(TableId table, ByteView key, Use&& use) {
    return attempt([&] {
      const auto use_row = [&](const RowView& row) { use(row.bytes()); };
      const bool found = single_ ? at(table).read(Key::encoded(key), use_row)
                                 : at(table).read(*transaction_, Key::encoded(key), use_row);
      return found ? Access::done : Access::missing;
    });
  }

  template <class Change>
  Access rewrite(TableId table, ByteView key, Change&& change) {
    return attempt([&] {
      return access_of(
          at(table).rewrite(*transaction_, Key::encoded(key),
                            [&](const RowView& row) -> ByteView { return change(row.bytes()); }));
    });
  }

  template <class Change>
  Access patch(TableId table, ByteView key, Change&& change) {
    return attempt([&] {
      return access_of(single_ ? at(table).modify(Key::encoded(key), change)
                               : at(table).modify(*transaction_, Key::encoded(key), change));
    });
  }

  template <class Use>
  Access get_many(TableId table, std::span<const ByteView> keys, Use&& use) {
    return show_many(keys, use, [&](std::span<const Key> many, auto& use_one) {
      at(table).read_many(*transaction_, many, use_one);
    });
  }
  template <class Use>
  Access visit_many(TableId table, std::span<const ByteView> keys, Use&& use) {
    return show_many(keys, use, [&](std::span<const Key> many, auto& use_one) {
      at(table).visit_many(*transaction_, many, use_one);
    });
  }

  template <class Change>
  Access patch_many(TableId table, std::span<const ByteView> keys, Change&& change) {
    return attempt(
        [&] { return access_of(at(table).modify_many(*transaction_, keys_of(keys), change)); });
  }

  /// Useless if all data is in memory.
  [[nodiscard]] bool prefetches() const noexcept { return prefetches_; }
  void prefetch(std::span<const TablePlace> places);

  Access insert(TableId table, ByteView key, ByteView value) {
    return attempt([&] {
      return access_of(at(table).insert(*transaction_, palimpsest::EncodedRow::of(key, value)));
    });
  }

  Access insert_many(TableId table, std::span<const RowBytes> rows);

  Access erase(TableId table, ByteView key) {
    return attempt([&] { return access_of(at(table).erase(*transaction_, Key::encoded(key))); });
  }

  template <class Visit>
  Access scan(TableId table, ByteView first, ByteView last, Direction direction, Visit&& visit) {
    return attempt([&] {
      const Range range = Range::between(Key::encoded(first), Key::encoded(last));
      const auto visit_row = [&](const RowView& row) -> bool {
        return visit(row.key_bytes(), row.bytes());
      };
      const auto towards = direction == Direction::forward ? palimpsest::Direction::forward
                                                           : palimpsest::Direction::backward;
      if (single_) {
        at(table).visit(range, visit_row, towards);
      } else {
        at(table).visit(*transaction_, range, visit_row, towards);
      }
      return Access::done;
    });
  }

  template <class Fill>
  void replace_all(TableId table, Fill&& fill) {
    Transaction bulk = database_.begin({.bulk = true});
    at(table).erase_range(bulk, Range::all()).require();
    fill([&](ByteView key, ByteView value) {
      at(table).insert(bulk, palimpsest::EncodedRow::of(key, value)).require();
    });
    bulk.commit();
  }

  [[nodiscard]] ConflictReason conflict_reason() const noexcept { return reason_; }

 private:
  [[nodiscard]] const palimpsest::Table& at(TableId table) const noexcept {
    return tables_[index_of(table)];
  }

  /// The operation's outcome; errors after which the transaction may be retried are conflicts.
  template <class Operation>
  Access attempt(Operation&& operation) {
    try {
      return operation();
    } catch (const Error& error) {
      return conflict_of(error);
    }
  }

  /// show_all(keys, use one) reads the existing keys.
  template <class Use, class ShowAll>
  Access show_many(std::span<const ByteView> keys, Use&& use, ShowAll&& show_all) {
    return attempt([&] {
      std::size_t found = 0;
      auto use_one = [&](std::size_t number, const RowView& row) {
        ++found;
        use(number, row.bytes());
      };
      show_all(keys_of(keys), use_one);
      return found == keys.size() ? Access::done : Access::missing;
    });
  }

  [[nodiscard]] Access access_of(const palimpsest::Outcome& outcome) noexcept;
  /// In reused memory.
  [[nodiscard]] std::span<const Key> keys_of(std::span<const ByteView> keys);
  /// Rethrows the error if it is none.
  Access conflict_of(const Error& error);

  Database& database_;
  const std::vector<palimpsest::Table>& tables_;
  palimpsest::Durability durability_;
  bool single_;  ///< calls without a transaction
  bool prefetches_;
  std::vector<Key> keys_;                         ///< memory of keys_of()
  std::vector<palimpsest::Place> prefetched_;     ///< memory of prefetch()
  std::vector<palimpsest::EncodedRow> inserted_;  ///< of insert_many()
  std::optional<Transaction> transaction_;
  ConflictReason reason_ = ConflictReason::other;
};

class PalimpsestStore {
 public:
  using Session = PalimpsestSession;

  explicit PalimpsestStore(const StoreSettings& settings);

  [[nodiscard]] std::unique_ptr<Session> open_session(SessionUse use);
  /// Nothing to do; close() makes everything durable.
  void finish_load() {}
  [[nodiscard]] StoreCounts counts() const;
  [[nodiscard]] std::string description() const;
  [[nodiscard]] EngineOptions effective_options() const;
  void close();

 private:
  const StoreSettings settings_;
  Database database_;
  std::vector<palimpsest::Table> tables_;  ///< in the order of TableId
};

[[nodiscard]] StoreEntry<PalimpsestStore> palimpsest_store();

}  // namespace palimpsest::experiments
