// The interface of every engine for one thread's transactions (store.h).
//
// A Session is one thread's transactions, one at a time. All calls except begin() are within one:
//   begin(intent)                  no transaction is open. May wait for other transactions
//   commit()                       done or conflict; the transaction has ended either way. Waits
//                                  for durability as StoreSettings say
//   rollback() noexcept            undoes everything
//   get(table, key, use)           calls use(ByteView value), or finds the key missing
//   rewrite(table, key, change)    calls change(ByteView value) on the newest value and stores what
//                                  it returns, or finds the key missing. From here to the end of
//                                  the transaction no other one changes that value, or else
//                                  commit() is a conflict. The returned bytes are valid until
//                                  rewrite() returns, and may be longer or shorter
//   insert(table, key, value)      done, or finds that the key exists
//   erase(table, key)              done or missing
//   scan(table, first, last, direction, visit)
//                                  calls visit(ByteView key, ByteView value) for the keys in
//                                  [first, last], both included, ascending, or descending from
//                                  last, until it returns false; done even if there is none. Most
//                                  scans need one key, or a few: do not prefetch
//   patch(table, key, change)      optional: as rewrite(), change(RowEditor&) in place; the value
//                                  keeps its length
//   get_many, patch_many, insert_many
//                                  optional: the same for several keys of one table, in order; the
//                                  concepts below say how each ends
//   visit_many(table, keys, use)   optional: as get_many, in place, for callers that need only some
//                                  bytes of each value
//   prefetch(places)               optional: these keys will be read, rewritten or inserted soon,
//                                  one after the other; an engine that can read their pages at
//                                  once does so now. prefetches(): whether to call it
//   replace_bytes(table, key, offset, bytes)
//                                  optional: by the engine's call for changes of parts of a value;
//                                  whether the key exists may come out only when it is read
//   replace_all(table, fill)       at Purpose::churn: a transaction of its own that erases all rows
//                                  and then inserts what fill(put) puts, put(key, value) in key
//                                  order, by the engine's calls for many rows
//   conflict_reason() noexcept     why the last operation that was a conflict was one
// A transaction sees its own changes. Each operation except rollback() may return Access::conflict:
// the caller then calls rollback(), except after commit(), and may run the transaction again. Views
// given to callbacks are valid during the call; callbacks neither throw, nor block, nor call a
// session.
// An engine that repeats an operation may call the callbacks of get and rewrite again: the last
// call counts. visit() is called once for each key.
// Thread-safety: belongs to its thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "experiments/common/bytes.h"
#include "experiments/tables/session.h"

namespace palimpsest::experiments {

/// A table, by its position in StoreSettings::tables.
enum class TableId : std::uint8_t {};

[[nodiscard]] constexpr std::size_t index_of(TableId table) noexcept {
  return static_cast<std::size_t>(table);
}

enum class Direction : std::uint8_t { forward = 1, backward };

/// Why a transaction was rolled back although its input did not say so.
enum class ConflictReason : std::uint8_t {
  write_conflict = 1,  ///< another transaction has changed it, and is active or committed since
  validation,          ///< at commit: rows that it has read have changed
  deadlock,
  lock_timeout,
  too_old,  ///< the engine has cancelled it because it was open for too long
  other,
};
inline constexpr std::size_t kConflictReasons = 6;
[[nodiscard]] std::string_view name_of(ConflictReason reason) noexcept;

namespace detail {

struct Use {
  void operator()(ByteView value) const noexcept;
};
struct Replace {
  ByteView operator()(ByteView value) const noexcept;
};
struct Visit {
  bool operator()(ByteView key, ByteView value) const noexcept;
};

}  // namespace detail

template <class S>
concept StoreSession =
    Begins<S> &&
    requires(S& session, TableId table, ByteView bytes, Direction direction, const detail::Use& use,
             const detail::Replace& replace, const detail::Visit& visit) {
      { session.get(table, bytes, use) } -> std::same_as<Access>;
      { session.rewrite(table, bytes, replace) } -> std::same_as<Access>;
      { session.insert(table, bytes, bytes) } -> std::same_as<Access>;
      { session.erase(table, bytes) } -> std::same_as<Access>;
      { session.scan(table, bytes, bytes, direction, visit) } -> std::same_as<Access>;
      { session.conflict_reason() } noexcept -> std::same_as<ConflictReason>;
    };

/// A key of a table.
struct TablePlace {
  TableId table{};
  ByteView key;
};

/// A stored row.
struct RowBytes {
  ByteView key;
  ByteView bytes;
};

/// Whether it has patch(): change(RowEditor&) on the value where it is stored.
template <class S>
concept HasPatch =
    requires(S& session, TableId table, ByteView key, void (&change)(RowEditor& row)) {
      { session.patch(table, key, change) } -> std::same_as<Access>;
    };

/// Whether it has get_many(): use(number, value) for each existing key, in order; missing if one
/// does not exist.
template <class S>
concept HasGetMany = requires(S& session, TableId table, std::span<const ByteView> keys,
                              void (&use)(std::size_t number, ByteView value)) {
  { session.get_many(table, keys, use) } -> std::same_as<Access>;
};

/// Whether it has visit_many(): as get_many().
template <class S>
concept HasVisitMany = requires(S& session, TableId table, std::span<const ByteView> keys,
                                void (&use)(std::size_t number, ByteView value)) {
  { session.visit_many(table, keys, use) } -> std::same_as<Access>;
};

/// Whether it has patch_many(): as patch(), change(number, RowEditor&); all of the keys, or
/// the first that is not done.
template <class S>
concept HasPatchMany = requires(S& session, TableId table, std::span<const ByteView> keys,
                                void (&change)(std::size_t number, RowEditor& row)) {
  { session.patch_many(table, keys, change) } -> std::same_as<Access>;
};

/// Whether it has insert_many(): all of the rows, or the first that is not done.
template <class S>
concept HasInsertMany = requires(S& session, TableId table, std::span<const RowBytes> rows) {
  { session.insert_many(table, rows) } -> std::same_as<Access>;
};

/// Whether it has replace_bytes().
template <class S>
concept HasReplaceBytes = requires(S& session, TableId table, ByteView bytes, std::size_t offset) {
  { session.replace_bytes(table, bytes, offset, bytes) } -> std::same_as<Access>;
};

/// Whether it has prefetch().
template <class S>
concept HasPrefetch = requires(S& session, std::span<const TablePlace> places) {
  { session.prefetches() } noexcept -> std::same_as<bool>;
  { session.prefetch(places) } -> std::same_as<void>;
};

/// Whether `part` lies within `whole`: a change may return the memory that it was given, which the
/// engine is about to overwrite.
[[nodiscard]] inline bool lies_within(ByteView part, ByteView whole) noexcept {
  const std::less_equal<const char*> before;
  return !part.empty() && before(whole.data(), part.data()) &&
         before(part.data() + part.size(), whole.data() + whole.size());
}

}  // namespace palimpsest::experiments
