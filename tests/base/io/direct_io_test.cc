// Properties of block devices, read from the files of the kernel.
#include "base/io/direct_io.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <map>
#include <optional>
#include <string>

namespace palimpsest::io {
namespace {

std::uint64_t bytes_by(const std::map<std::string, std::string>& files) {
  return device_atomic_bytes(makedev(259, 3), [&](const std::string& path) {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(DirectIo, ADiskSaysWhatItDoesNotTear) {
  EXPECT_EQ(bytes_by({{"/sys/dev/block/259:3/queue/atomic_write_unit_max_bytes", "16384\n"}}),
            16384U);
  EXPECT_EQ(bytes_by({{"/sys/dev/block/259:3/queue/atomic_write_unit_max_bytes", "0\n"}}), 0U);
}

TEST(DirectIo, APartitionDoesWhatItsDiskDoes) {
  EXPECT_EQ(bytes_by({{"/sys/dev/block/259:3/../queue/atomic_write_unit_max_bytes", "4096\n"}}),
            4096U);
}

TEST(DirectIo, WhatIsNotSaidIsNotPromised) {
  EXPECT_EQ(bytes_by({}), 0U);
  EXPECT_EQ(bytes_by({{"/sys/dev/block/259:3/queue/atomic_write_unit_max_bytes", "a lot"}}), 0U);
  EXPECT_EQ(bytes_by({{"/sys/dev/block/259:4/queue/atomic_write_unit_max_bytes", "4096\n"}}), 0U);
}

}  // namespace
}  // namespace palimpsest::io
