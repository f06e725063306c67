// Zipf-distributed ranks: rank r of [0, count) is drawn with probability proportional to
// 1 / (r + 1)^theta.
//
// Rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from
// monotone discrete distributions", 1996): exact for every theta > 0, no table and no sum over
// `count`, and at most about 1.1 draws per rank. The usual formula of Gray et al. (SIGMOD 1994),
// which YCSB uses, is exact for the two most popular ranks only.
// Ranks are popularity order; a workload scatters them over its keys (permutation.h).
// Thread-safety: immutable; the generator is the caller's.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace palimpsest::experiments {

class Zipf {
 public:
  /// `count` at least 1, `theta` in (0, 1).
  Zipf(std::uint64_t count, double theta);

  [[nodiscard]] std::uint64_t operator()(Random& random) const;

 private:
  /// Integral of x^-theta, up to a constant, and its inverse.
  [[nodiscard]] double integral(double x) const;
  [[nodiscard]] double integral_inverse(double y) const;

  double count_;
  double theta_;
  double integral_first_;  ///< integral(1.5) - 1: the head's area is that of its probability
  double integral_last_;   ///< integral(count + 0.5)
  double accept_below_;    ///< draws this close under their rank are accepted without evaluation
};

}  // namespace palimpsest::experiments
