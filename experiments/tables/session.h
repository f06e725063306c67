// The interface that the typed workloads need from every engine: one thread's transactions on
// tables of rows.
//
// Templates, not virtual functions: an adapter's calls are inlined into the transactions. Rows and
// keys are typed; a session over a key-value engine is one template for each of read, update,
// insert and erase (encoded_key.h, encoded_row.h), and the workload's additional operations.
//
// The operations, all within a transaction except begin():
//   begin(intent)         no transaction is open
//   commit()              done or conflict; the transaction has ended either way. It may wait for
//                         durability, as the run is configured
//   rollback()            undoes everything; does not throw
//   read(key, use)        calls use(const Row&), or finds the row missing
//   look(key, use)        the same with a stored row: use(const StoredRow<const Row>&)
//                         prefetch(keys...) those rows, of one table or several, will be read,
//                         updated or inserted
//                         soon, one after the other: an engine that can read their pages at once
//                         does so, any other does nothing.
//   update(key, change)   calls change(Row&) on the newest row and stores it, or finds it missing.
//                         From here to the end of the transaction no other one changes the row
//   read_many(keys, use), look_many(keys, use)
//                         the same for several rows of one table: use(number, row) for each
//                         existing row, in order; missing if one does not exist
//   patch(key, change)    as update(), by change(const StoredRow<Row>&), which sets columns of
//                         fixed width
//   patch_many(keys, change)
//                         the same for several rows of one table, change(number, row): all, or up
//                         to the first that is not done
//   insert(key, row)      done, or finds that the key exists
//   insert_many(keys, rows)   as insert, of rows of one table: all, or up to the first that is not
//                         done
//   erase(key)            done or missing
// Rows given to callbacks are whole: a session whose engine shows bytes that may change copies them
// first. A callback of read or update may be called again from the start of the operation if the
// engine has to repeat it; the last call counts. Callbacks do not throw and call no session.
//
// Failure: `conflict` means that the transaction has to be rolled back and may be run again; its
//          caller calls rollback(), except after commit(). Errors of the environment are thrown,
//          and rollback() is called then as well.
// Thread-safety: one session belongs to one thread; sessions of one database work concurrently.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "experiments/tables/key.h"
#include "experiments/tables/stored_row.h"

namespace palimpsest::experiments {

/// The outcome of an operation of a session.
enum class [[nodiscard]] Access : std::uint8_t {
  done,
  missing,   ///< no row has that key
  exists,    ///< a row to be inserted exists
  conflict,  ///< with another transaction
};

/// The outcome of a transaction.
enum class [[nodiscard]] Outcome : std::uint8_t {
  committed,
  rolled_back,  ///< as its input said
  conflict,     ///< rolled back; it may be run again
};

/// What a transaction may do.
enum class Intent : std::uint8_t { read_only, read_write };

template <class S, class Key>
concept Reads = requires(S& session, const Key& key, void (&use)(const RowOf<Key>&)) {
  { session.read(key, use) } -> std::same_as<Access>;
};
template <class S, class Key>
concept Looks =
    requires(S& session, const Key& key, void (&use)(const StoredRow<const RowOf<Key>>&)) {
      { session.look(key, use) } -> std::same_as<Access>;
    };
template <class S, class Key>
concept ReadsMany = requires(S& session, std::span<const Key> keys,
                             void (&use)(std::size_t number, const RowOf<Key>&)) {
  { session.read_many(keys, use) } -> std::same_as<Access>;
};
template <class S, class Key>
concept LooksMany = requires(S& session, std::span<const Key> keys,
                             void (&use)(std::size_t number, const StoredRow<const RowOf<Key>>&)) {
  { session.look_many(keys, use) } -> std::same_as<Access>;
};
template <class S, class... Keys>
concept Prefetches = requires(S& session, std::span<const Keys>... keys) {
  { session.prefetch(keys...) } -> std::same_as<void>;
};
/// For prefetch().
template <class Key>
[[nodiscard]] std::span<const Key> only(const Key& key) noexcept {
  return {&key, 1};
}
template <class S, class Key>
concept Updates = requires(S& session, const Key& key, void (&change)(RowOf<Key>&)) {
  { session.update(key, change) } -> std::same_as<Access>;
};
template <class S, class Key>
concept Patches =
    requires(S& session, const Key& key, void (&change)(const StoredRow<RowOf<Key>>&)) {
      { session.patch(key, change) } -> std::same_as<Access>;
    };
template <class S, class Key>
concept PatchesMany = requires(S& session, std::span<const Key> keys,
                               void (&change)(std::size_t number, const StoredRow<RowOf<Key>>&)) {
  { session.patch_many(keys, change) } -> std::same_as<Access>;
};
template <class S, class Key>
concept Inserts = requires(S& session, const Key& key, const RowOf<Key>& row) {
  { session.insert(key, row) } -> std::same_as<Access>;
};
template <class S, class Key>
concept InsertsMany =
    requires(S& session, std::span<const Key> keys, std::span<const RowOf<Key>> rows) {
      { session.insert_many(keys, rows) } -> std::same_as<Access>;
    };
template <class S, class Key>
concept Erases = requires(S& session, const Key& key) {
  { session.erase(key) } -> std::same_as<Access>;
};

template <class S>
concept Begins = requires(S& session, Intent intent) {
  session.begin(intent);
  { session.commit() } -> std::same_as<Access>;
  { session.rollback() } noexcept;
};

}  // namespace palimpsest::experiments
