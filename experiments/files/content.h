// The contents of a table of lines, as sums that every engine can compute: before a load from the
// generated rows, and after it from the stored ones; both must be equal.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>

namespace palimpsest::experiments::files {

struct Content {
  std::uint64_t rows = 0;
  std::uint64_t order_keys = 0;     ///< the sum of l_orderkey
  std::uint64_t price_cents = 0;    ///< of l_extendedprice
  std::uint64_t comment_bytes = 0;  ///< of l_comment, one for each character

  friend bool operator==(const Content&, const Content&) = default;
  friend Content operator+(const Content& some, const Content& others) noexcept {
    return {.rows = some.rows + others.rows,
            .order_keys = some.order_keys + others.order_keys,
            .price_cents = some.price_cents + others.price_cents,
            .comment_bytes = some.comment_bytes + others.comment_bytes};
  }
};

}  // namespace palimpsest::experiments::files
