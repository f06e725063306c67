// Several typed rows of a table read, changed, inserted or prefetched by one call of a store's
// session, if it has such a call; else one by one.
//
// Failure: as TableSession's. Thread-safety: belongs to its session's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments/common/record_key.h"
#include "experiments/engines/store_session.h"
#include "experiments/tables/encoded_key.h"
#include "experiments/tables/encoded_row.h"
#include "experiments/tables/key.h"
#include "experiments/tables/stored_row.h"

namespace palimpsest::experiments::oltp {

/// The table of a workload's key; the workload's enumeration begins with 1.
template <class Key>
inline constexpr TableId kTableOf{static_cast<std::uint8_t>(Key::kTable) - 1};

/// Throws DamagedRecord.
[[noreturn]] inline void report_damaged_bytes(const std::string& what) {
  throw DamagedRecord("damaged: the bytes of " + what);
}

template <StoreSession S>
class RowBatches {
 public:
  template <class Key, class Use>
  Access read_many(S& session, std::span<const Key> keys, Use&& use) {
    RowOf<Key> row;
    return use_many(session, keys, [&](std::size_t number, ByteView bytes) noexcept {
      if (!decode_row(bytes, row)) [[unlikely]] {
        return false;
      }
      use(number, std::as_const(row));
      return true;
    });
  }

  template <class Key, class Use>
  Access look_many(S& session, std::span<const Key> keys, Use&& use) {
    using Stored = StoredRow<const RowOf<Key>>;
    const auto look = [&](std::size_t number, ByteView bytes) noexcept {
      if (!Stored::may_be(bytes)) [[unlikely]] {
        return false;
      }
      use(number, Stored(bytes));
      return true;
    };
    if constexpr (HasVisitMany<S>) {
      return use_by(keys, look, [&](std::span<const ByteView> encoded, auto& look_at_one) {
        return session.visit_many(kTableOf<Key>, encoded, look_at_one);
      });
    } else {
      return use_many(session, keys, look);
    }
  }

  template <class Key, class Change, class PatchOne>
  Access patch_many(S& session, std::span<const Key> keys, Change&& change, PatchOne&& patch_one) {
    if constexpr (HasPatchMany<S>) {
      using Stored = StoredRow<RowOf<Key>>;
      std::size_t damaged = keys.size();
      const Access access = session.patch_many(kTableOf<Key>, encode_all(keys),
                                               [&](std::size_t number, RowEditor& stored) noexcept {
                                                 if (Stored::may_be(stored.view())) [[likely]] {
                                                   change(number, Stored(stored));
                                                 } else {
                                                   damaged = number;
                                                 }
                                               });
      if (access == Access::done && damaged != keys.size()) [[unlikely]] {
        report_damaged_bytes(describe(keys[damaged]));
      }
      return access;
    } else {
      Access access = Access::done;
      for (std::size_t i = 0; i < keys.size() && access == Access::done; ++i) {
        access = patch_one(keys[i], [&](const auto& row) { change(i, row); });
      }
      return access;
    }
  }

  template <class Key>
  Access insert_many(S& session, std::span<const Key> keys, std::span<const RowOf<Key>> rows) {
    if constexpr (HasInsertMany<S>) {
      inserted_bytes_.clear();
      inserted_bytes_.reserve(keys.size() * (kKeyBytesOf<Key> + kRowBytesMax<RowOf<Key>>));
      inserted_.clear();
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const ByteView key = kept(EncodedKey(keys[i]).view());
        inserted_.push_back({.key = key, .bytes = kept(EncodedRow(rows[i]).view())});
      }
      return session.insert_many(kTableOf<Key>, inserted_);
    } else {
      Access access = Access::done;
      for (std::size_t i = 0; i < keys.size() && access == Access::done; ++i) {
        access =
            session.insert(kTableOf<Key>, EncodedKey(keys[i]).view(), EncodedRow(rows[i]).view());
      }
      return access;
    }
  }

  template <class... Keys>
  void prefetch(S& session, std::span<const Keys>... keys) {
    if constexpr (HasPrefetch<S>) {
      if (!session.prefetches()) {
        return;
      }
      prefetched_bytes_.clear();
      prefetched_bytes_.reserve(((keys.size() * kKeyBytesOf<Keys>)+...));
      prefetched_.clear();
      (add_prefetched(keys), ...);
      session.prefetch(prefetched_);
    }
  }

 private:
  /// Views of them in reused memory.
  template <class Key>
  [[nodiscard]] std::span<const ByteView> encode_all(std::span<const Key> keys) {
    encoded_bytes_.clear();
    encoded_bytes_.reserve(keys.size() * kKeyBytesOf<Key>);
    encoded_.clear();
    for (const Key& key : keys) {
      const std::size_t begin = encoded_bytes_.size();
      encoded_bytes_.append(EncodedKey(key).view());
      encoded_.push_back(ByteView(encoded_bytes_).substr(begin));
    }
    return encoded_;
  }

  /// Calls use(number, bytes) for each existing row; it returns whether the bytes are a row.
  template <class Key, class Use>
  Access use_many(S& session, std::span<const Key> keys, Use&& use) {
    return use_by(keys, use, [&](std::span<const ByteView> encoded, auto& use_one) {
      if constexpr (HasGetMany<S>) {
        return session.get_many(kTableOf<Key>, encoded, use_one);
      } else {
        Access all = Access::done;
        for (std::size_t i = 0; i < encoded.size() && all != Access::conflict; ++i) {
          const Access one = session.get(kTableOf<Key>, encoded[i],
                                         [&](ByteView bytes) noexcept { use_one(i, bytes); });
          all = one == Access::done ? all : one;
        }
        return all;
      }
    });
  }
  /// As above, through read_all(encoded keys, use one).
  template <class Key, class Use, class ReadAll>
  Access use_by(std::span<const Key> keys, Use&& use, ReadAll&& read_all) {
    std::size_t damaged = keys.size();
    auto use_one = [&](std::size_t number, ByteView bytes) noexcept {
      if (!use(number, bytes)) [[unlikely]] {
        damaged = number;
      }
    };
    const Access all = read_all(encode_all(keys), use_one);
    if (damaged != keys.size()) [[unlikely]] {
      report_damaged_bytes(describe(keys[damaged]));
    }
    return all;
  }

  /// The memory for them is reserved.
  template <class Key>
  void add_prefetched(std::span<const Key> keys) {
    for (const Key& key : keys) {
      const std::size_t begin = prefetched_bytes_.size();
      prefetched_bytes_.append(EncodedKey(key).view());
      prefetched_.push_back(
          {.table = kTableOf<Key>, .key = ByteView(prefetched_bytes_).substr(begin)});
    }
  }

  /// A copy, in reserved memory.
  [[nodiscard]] ByteView kept(ByteView bytes) {
    const std::size_t begin = inserted_bytes_.size();
    inserted_bytes_.append(bytes);
    return ByteView(inserted_bytes_).substr(begin);
  }

  // Memory of these calls, used again and again:
  std::vector<ByteView> encoded_;
  std::string encoded_bytes_;
  std::vector<TablePlace> prefetched_;
  std::string prefetched_bytes_;
  std::vector<RowBytes> inserted_;
  std::string inserted_bytes_;
};

}  // namespace palimpsest::experiments::oltp
