// Noise delays threads: measured by how often the system has switched away from a thread that only
// passes a sync point.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

#include "base/sync_point.h"

namespace palimpsest {
namespace {

#ifdef PALIMPSEST_SYNC_POINTS

TEST(SyncNoise, HoldsThreadsUp) {
  if (std::getenv("PALIMPSEST_SYNC_NOISE") == nullptr) {
    GTEST_SKIP() << "there is no noise";
  }
  const auto switches = [] {
    rusage usage{};
    EXPECT_EQ(::getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nvcsw;
  };
  const auto before = switches();
  for (int i = 0; i < 20'000; ++i) {
    PALIMPSEST_SYNC_POINT("test.noise");
  }
  EXPECT_GT(switches(), before + 10);
}

#endif

}  // namespace
}  // namespace palimpsest
