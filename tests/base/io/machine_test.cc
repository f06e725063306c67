// Limits of control groups, read from their files; the resources of this machine.
#include "base/io/machine.h"

#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <string>

namespace palimpsest::io {
namespace {

using Files = std::map<std::string, std::string>;

std::optional<std::uint64_t> limit_of(const Files& files) {
  return group_memory_bytes([&](const std::string& path) {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Machine, WithoutFilesThereIsNoLimit) {
  EXPECT_EQ(limit_of({}), std::nullopt);
  EXPECT_EQ(limit_of({{"/proc/self/cgroup", ""}}), std::nullopt);
  EXPECT_EQ(limit_of({{"/proc/self/cgroup", "0::/a\n"}}), std::nullopt);
}

TEST(Machine, Version2TakesTheLeastOfAllGroupsAround) {
  Files files{{"/proc/self/cgroup", "0::/user.slice/service\n"},
              {"/sys/fs/cgroup/user.slice/service/memory.max", "max\n"}};
  EXPECT_EQ(limit_of(files), std::nullopt);
  files["/sys/fs/cgroup/user.slice/memory.max"] = "3000\n";
  EXPECT_EQ(limit_of(files), 3000U);
  files["/sys/fs/cgroup/user.slice/service/memory.max"] = "4000\n";
  EXPECT_EQ(limit_of(files), 3000U);
  files["/sys/fs/cgroup/memory.max"] = "2000\n";
  EXPECT_EQ(limit_of(files), 2000U) << "as in a container, where the root has the limit";
}

TEST(Machine, Version1IsTheGroupOfTheMemoryController) {
  Files files{
      {"/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/1f\n1:cpuset:/x\n0::/\n"},
      {"/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1\n"},
      {"/sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes", "9223372036854771712\n"}};
  EXPECT_EQ(limit_of(files), std::nullopt) << "what was never set";
  files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "8589934592\n";
  EXPECT_EQ(limit_of(files), 8589934592U) << "the group's name is that outside of the container";
  files["/sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes"] = "5000";
  EXPECT_EQ(limit_of(files), 5000U);
}

TEST(Machine, BothVersionsTogether) {
  const Files files{{"/proc/self/cgroup", "4:memory:/a\n0::/b\n"},
                    {"/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "70"},
                    {"/sys/fs/cgroup/b/memory.max", "60"}};
  EXPECT_EQ(limit_of(files), 60U);
}

TEST(Machine, OtherTextIsNoLimit) {
  for (const char* groups :
       {"0", "0:", "0::", "0::b", ":::::", "4:memory", "\n\n", "7:memoryx:/b"}) {
    const Files files{{"/proc/self/cgroup", groups},
                      {"/sys/fs/cgroup/memory.max", "5"},
                      {"/sys/fs/cgroup/b/memory.max", "5"},
                      {"/sys/fs/cgroup/memory/b/memory.limit_in_bytes", "5"}};
    EXPECT_EQ(limit_of(files), std::nullopt) << groups;
  }
  for (const char* limit : {"", "max", "-1", "x5", "99999999999999999999"}) {
    const Files files{{"/proc/self/cgroup", "0::/"}, {"/sys/fs/cgroup/memory.max", limit}};
    EXPECT_EQ(limit_of(files), std::nullopt) << limit;
  }
}

TEST(Machine, ThisOneHasMemoryAndProcessors) {
  const Machine machine = this_machine();
  EXPECT_GT(machine.memory_bytes, std::uint64_t{64} << 20U);
  EXPECT_GE(machine.processors, 1U);
  EXPECT_NE(machine.group_memory_bytes, 0U);
}

}  // namespace
}  // namespace palimpsest::io
