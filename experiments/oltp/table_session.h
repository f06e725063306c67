// Typed rows on a store's tables of bytes: the operations that all workloads have
// (tables/session.h), and scans. A workload derives its session from this one and adds its own
// operations.
//
// Failure: bytes that are not a row or key of their table throw DamagedRecord.
// Thread-safety: that of the store's session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/common/record_key.h"
#include "experiments/engines/store.h"
#include "experiments/oltp/row_batches.h"
#include "experiments/tables/encoded_key.h"
#include "experiments/tables/encoded_row.h"
#include "experiments/tables/key.h"
#include "experiments/tables/session.h"
#include "experiments/tables/stored_row.h"

namespace palimpsest::experiments::oltp {

template <StoreSession S>
class TableSession {
 public:
  explicit TableSession(std::unique_ptr<S> session) noexcept : session_(std::move(session)) {}

  void begin(Intent intent) { session_->begin(intent); }
  Access commit() { return session_->commit(); }
  void rollback() noexcept { session_->rollback(); }
  [[nodiscard]] ConflictReason conflict_reason() const noexcept {
    return session_->conflict_reason();
  }

  template <class Key, class Use>
  Access read(const Key& key, Use&& use) {
    RowOf<Key> row;
    bool whole = false;
    const EncodedKey encoded(key);
    const Access access =
        session_->get(kTableOf<Key>, encoded.view(),
                      [&](ByteView bytes) noexcept { whole = decode_row(bytes, row); });
    if (access != Access::done) {
      return access;
    }
    if (!whole) [[unlikely]] {
      report_damaged_bytes(describe(key));
    }
    use(std::as_const(row));
    return access;
  }

  template <class Key, class Use>
  Access look(const Key& key, Use&& use) {
    using Stored = StoredRow<const RowOf<Key>>;
    bool whole = false;
    const EncodedKey encoded(key);
    const Access access =
        session_->get(kTableOf<Key>, encoded.view(), [&](ByteView bytes) noexcept {
          whole = Stored::may_be(bytes);
          if (whole) [[likely]] {
            use(Stored(bytes));
          }
        });
    if (access == Access::done && !whole) [[unlikely]] {
      report_damaged_bytes(describe(key));
    }
    return access;
  }

  template <class Key, class Change>
  Access update(const Key& key, Change&& change) {
    RowOf<Key> row;
    std::optional<EncodedRow<RowOf<Key>>> stored;
    bool whole = false;
    const EncodedKey encoded(key);
    const Access access =
        session_->rewrite(kTableOf<Key>, encoded.view(), [&](ByteView bytes) noexcept -> ByteView {
          whole = decode_row(bytes, row);
          if (!whole) [[unlikely]] {
            return bytes;
          }
          change(row);
          return stored.emplace(row).view();
        });
    if (access == Access::done && !whole) [[unlikely]] {
      report_damaged_bytes(describe(key));
    }
    return access;
  }

  template <class Key, class Change>
  Access patch(const Key& key, Change&& change) {
    using Stored = StoredRow<RowOf<Key>>;
    bool whole = false;
    const EncodedKey encoded(key);
    const auto patch_row = [&](RowEditor& stored) noexcept {
      whole = Stored::may_be(stored.view());
      if (whole) [[likely]] {
        change(Stored(stored));
      }
    };
    Access access = Access::done;
    if constexpr (HasPatch<S>) {
      access = session_->patch(kTableOf<Key>, encoded.view(), patch_row);
    } else {
      access = session_->rewrite(kTableOf<Key>, encoded.view(),
                                 [&](ByteView bytes) noexcept -> ByteView {
                                   patched_.assign(bytes);
                                   ValueEditor value(patched_, nullptr);
                                   RowEditor stored(value);
                                   patch_row(stored);
                                   return patched_;
                                 });
    }
    if (access == Access::done && !whole) [[unlikely]] {
      report_damaged_bytes(describe(key));
    }
    return access;
  }

  template <class Key>
  Access insert(const Key& key, const RowOf<Key>& row) {
    return session_->insert(kTableOf<Key>, EncodedKey(key).view(), EncodedRow(row).view());
  }

  template <class Key>
  Access erase(const Key& key) {
    return session_->erase(kTableOf<Key>, EncodedKey(key).view());
  }

  // Several rows of a table by one call (row_batches.h).

  template <class Key, class Use>
  Access read_many(std::span<const Key> keys, Use&& use) {
    return batches_.read_many(*session_, keys, use);
  }
  template <class Key, class Use>
  Access look_many(std::span<const Key> keys, Use&& use) {
    return batches_.look_many(*session_, keys, use);
  }
  template <class Key, class Change>
  Access patch_many(std::span<const Key> keys, Change&& change) {
    return batches_.patch_many(*session_, keys, change, [this](const Key& key, auto&& change_one) {
      return patch(key, change_one);
    });
  }
  template <class Key>
  Access insert_many(std::span<const Key> keys, std::span<const RowOf<Key>> rows) {
    return batches_.insert_many(*session_, keys, rows);
  }
  template <class... Keys>
  void prefetch(std::span<const Keys>... keys) {
    batches_.prefetch(*session_, keys...);
  }

  // Beside those: entries of indexes, and scans of [first, last].

  template <class IndexKey>
  Access insert_entry(const IndexKey& key) {
    return session_->insert(kTableOf<IndexKey>, EncodedKey(key).view(), {});
  }

  /// Calls visit(const Key&) for each until it returns false.
  template <class Key, class Visit>
  Access visit_keys(const Key& first, const Key& last, Direction direction, Visit&& visit) {
    return scan(first, last, direction,
                [&](const Key& key, ByteView, bool&) noexcept { return visit(key); });
  }

  /// Calls visit(const Key&, const RowOf<Key>&) for each until it returns false.
  template <class Key, class Visit>
  Access visit_rows(const Key& first, const Key& last, Direction direction, Visit&& visit) {
    RowOf<Key> row;
    return scan(first, last, direction, [&](const Key& key, ByteView bytes, bool& whole) noexcept {
      whole = decode_row(bytes, row);
      return whole && visit(key, std::as_const(row));
    });
  }

 private:
  template <class Key, class Visit>
  Access scan(const Key& first, const Key& last, Direction direction, Visit visit) {
    bool whole = true;
    const EncodedKey from(first);
    const EncodedKey to(last);
    const Access access = session_->scan(kTableOf<Key>, from.view(), to.view(), direction,
                                         [&](ByteView key_bytes, ByteView bytes) noexcept {
                                           const auto key = decode_key<Key>(key_bytes);
                                           whole = key.has_value();
                                           return whole && visit(*key, bytes, whole);
                                         });
    if (!whole) [[unlikely]] {
      report_damaged_bytes("a row of " + std::string(name_of(Key::kTable)));
    }
    return access;
  }

  std::unique_ptr<S> session_;
  RowBatches<S> batches_;
  std::string patched_;  ///< memory of patch(), reused
};

}  // namespace palimpsest::experiments::oltp
