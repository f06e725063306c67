// The anomalies of concurrent transactions, and the levels at which each is possible: the tables of
// docs/guarantees.md, which the schedules of this folder check line by line.
//
// The names are those of Adya's thesis and of the public Hermitage tests.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "palimpsest/transaction.h"

namespace palimpsest::test {

struct Anomaly {
  std::string_view name;
  /// The number of levels at which it is possible, from the weakest; 0: none. For two ordinary
  /// transactions; if the one that writes first is a bulk; if the other one is.
  std::array<std::size_t, 3> possible_levels;
};

inline constexpr std::array kLevels{Isolation::none, Isolation::read_committed, Isolation::snapshot,
                                    Isolation::serializable};

inline constexpr Anomaly kDirtyWrite{"dirty write (G0)", {0, 0, 0}};
inline constexpr Anomaly kAbortedRead{"aborted read (G1a)", {1, 0, 1}};
inline constexpr Anomaly kIntermediateRead{"intermediate read (G1b)", {1, 0, 1}};
inline constexpr Anomaly kCircularFlow{"circular information flow (G1c)", {1, 0, 0}};
inline constexpr Anomaly kVanishingTransaction{"observed transaction vanishes (OTV)", {1, 0, 1}};
inline constexpr Anomaly kTornRead{"one call sees half of a transaction", {1, 0, 1}};
inline constexpr Anomaly kPredicateRead{"predicate-many-preceders (PMP)", {2, 2, 2}};
inline constexpr Anomaly kPredicateWrite{"PMP for writes", {2, 2, 2}};
inline constexpr Anomaly kFuzzyRead{"non-repeatable read (P2)", {2, 2, 2}};
inline constexpr Anomaly kPhantom{"phantom (P3)", {2, 2, 2}};
inline constexpr Anomaly kLostUpdate{"lost update (P4)", {2, 2, 2}};
inline constexpr Anomaly kReadSkew{"read skew (G-single)", {2, 2, 2}};
inline constexpr Anomaly kReadSkewPredicate{"read skew on predicates", {2, 2, 2}};
inline constexpr Anomaly kReadSkewWrite{"read skew on predicates of writes", {2, 2, 2}};
inline constexpr Anomaly kLongFork{"long fork", {2, 2, 2}};
inline constexpr Anomaly kWriteSkew{"write skew (G2-item)", {3, 3, 2}};
inline constexpr Anomaly kWriteSkewPredicate{"write skew on predicates (G2)", {3, 3, 2}};
inline constexpr Anomaly kReadOnly{"read-only anomaly", {3, 3, 2}};

/// In the order of the document.
inline constexpr std::array kAnomalies{
    &kDirtyWrite,        &kAbortedRead,          &kIntermediateRead,
    &kCircularFlow,      &kVanishingTransaction, &kTornRead,
    &kPredicateRead,     &kPredicateWrite,       &kFuzzyRead,
    &kPhantom,           &kLostUpdate,           &kReadSkew,
    &kReadSkewPredicate, &kReadSkewWrite,        &kLongFork,
    &kWriteSkew,         &kWriteSkewPredicate,   &kReadOnly};

}  // namespace palimpsest::test
