#include "experiments/common/zipf.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace palimpsest::experiments {

Zipf::Zipf(std::uint64_t count, double theta) : count_(static_cast<double>(count)), theta_(theta) {
  check(count >= 1, "a Zipf distribution has at least one rank");
  check(theta > 0.0 && theta < 1.0, "theta lies in (0, 1)");
  integral_first_ = integral(1.5) - 1.0;
  integral_last_ = integral(count_ + 0.5);
  accept_below_ = 2.0 - integral_inverse(integral(2.5) - std::pow(2.0, -theta_));
}

std::uint64_t Zipf::operator()(Random& random) const {
  for (;;) {
    const double area = integral_last_ + random.unit() * (integral_first_ - integral_last_);
    const double x = integral_inverse(area);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, count_);
    if (rank - x <= accept_below_ || area >= integral(rank + 0.5) - std::pow(rank, -theta_)) {
      return static_cast<std::uint64_t>(rank) - 1;
    }
  }
}

double Zipf::integral(double x) const {
  return std::pow(x, 1.0 - theta_) / (1.0 - theta_);
}

double Zipf::integral_inverse(double y) const {
  return std::pow((1.0 - theta_) * y, 1.0 / (1.0 - theta_));
}

}  // namespace palimpsest::experiments
