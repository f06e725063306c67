#include "btree/large/large_value_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::btree {
namespace {

using buffer::PageRun;

constexpr std::uint32_t kPageSize = 4096;
constexpr std::uint32_t kPayload = extent_payload_bytes(kPageSize);

PageRun run(std::uint64_t first, std::uint32_t pages) {
  return {PageId{first}, pages};
}

/// The bytes of a descriptor, any field of which may be wrong.
struct RawDescriptor {
  std::uint16_t version = kDescriptorVersion;
  std::uint16_t run_count = 2;
  std::uint32_t reserved = 0;
  std::uint64_t size_bytes = std::uint64_t{5} * kPayload;
  ValueStamp stamp{3, 9};
  std::vector<PageRun> runs{run(700, 3), run(900, 2)};

  [[nodiscard]] std::string bytes() const {
    const DescriptorHeader header{version, run_count, reserved, size_bytes, stamp};
    std::string out(reinterpret_cast<const char*>(&header), sizeof(header));
    for (const PageRun& one : runs) {
      out.append(reinterpret_cast<const char*>(&one.first), 8);
      out.append(reinterpret_cast<const char*>(&one.pages), 4);
    }
    return out;
  }
  [[nodiscard]] DescriptorFault judged() const {
    return LargeValueDescriptor::judge(bytes(), kPageSize);
  }
};

TEST(LargeValueDescriptor, BytesAreFixed) {
  const std::vector<PageRun> runs{run(0x0102030405, 3), run(900, 2)};
  const auto value = LargeValueDescriptor::make(4 * kPayload + 1, {0x11, 0x22}, runs, kPageSize);
  const std::string expected{
      "\x01\x00\x02\x00\x00\x00\x00\x00"
      "\x81\x3e\x00\x00\x00\x00\x00\x00"
      "\x11\x00\x00\x00\x00\x00\x00\x00"
      "\x22\x00\x00\x00\x00\x00\x00\x00"
      "\x05\x04\x03\x02\x01\x00\x00\x00\x03\x00\x00\x00"
      "\x84\x03\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00",
      56};
  EXPECT_EQ(value.encode().view(), expected);
  const auto decoded = LargeValueDescriptor::decode(expected, kPageSize);
  EXPECT_EQ(decoded, value);
  EXPECT_EQ(decoded.block_count(), 5U);
  EXPECT_EQ(decoded.page_of(2), PageId{0x0102030407});
  EXPECT_EQ(decoded.page_of(3), PageId{900});
  EXPECT_EQ(payload_bytes_of(decoded, 3, kPageSize), kPayload);
  EXPECT_EQ(payload_bytes_of(decoded, 4, kPageSize), 1U);
  EXPECT_EQ(print_descriptor(value), "value 17.34 of 16001 bytes in pages 4328719365+3 900+2");
}

TEST(LargeValueDescriptor, DescriptorsOfTheLargestValueFitALeaf) {
  std::vector<PageRun> runs;
  std::uint32_t left = extent_blocks(kLargeValueBytesMax, kPageSize);
  for (std::uint32_t i = 0; i < kLargeValueRunsMax; ++i) {
    const std::uint32_t pages = i + 1 == kLargeValueRunsMax ? left : 1000;
    runs.push_back(run(100 + std::uint64_t{i} * 1'000'000, pages));
    left -= pages;
  }
  const auto value = LargeValueDescriptor::make(kLargeValueBytesMax, {1, 1}, runs, kPageSize);
  const auto encoded = value.encode();
  EXPECT_EQ(encoded.view().size(), kDescriptorBytesMax);
  EXPECT_EQ(LargeValueDescriptor::decode(encoded.view(), kPageSize), value);
}

TEST(LargeValueDescriptor, EachFaultIsNamed) {
  const RawDescriptor good;
  ASSERT_EQ(good.judged(), DescriptorFault::none);

  const auto judged = [](auto&& damage) {
    RawDescriptor descriptor;
    damage(descriptor);
    return descriptor.judged();
  };
  using Fault = DescriptorFault;
  using Raw = RawDescriptor;
  EXPECT_EQ(judged([](Raw& d) { d.version = 0; }), Fault::version);
  EXPECT_EQ(judged([](Raw& d) { d.version = 2; }), Fault::version);
  EXPECT_EQ(judged([](Raw& d) { d.reserved = 1; }), Fault::reserved);
  EXPECT_EQ(judged([](Raw& d) { d.run_count = 0; }), Fault::run_count);
  EXPECT_EQ(judged([](Raw& d) { d.run_count = kLargeValueRunsMax + 1; }), Fault::run_count);
  EXPECT_EQ(judged([](Raw& d) { d.run_count = 0xffff; }), Fault::run_count);
  EXPECT_EQ(judged([](Raw& d) { d.run_count = 3; }), Fault::length);
  EXPECT_EQ(judged([](Raw& d) { d.run_count = 1; }), Fault::length);
  EXPECT_EQ(judged([](Raw& d) { d.size_bytes = 0; }), Fault::size);
  EXPECT_EQ(judged([](Raw& d) { d.size_bytes = kLargeValueBytesMax + 1; }), Fault::size);
  EXPECT_EQ(judged([](Raw& d) { d.size_bytes = ~std::uint64_t{0}; }), Fault::size);
  EXPECT_EQ(judged([](Raw& d) { d.stamp.open_count = 0; }), Fault::stamp);
  EXPECT_EQ(judged([](Raw& d) { d.stamp.number = 0; }), Fault::stamp);
  EXPECT_EQ(judged([](Raw& d) { d.runs[0] = run(700, 0); }), Fault::run);
  EXPECT_EQ(judged([](Raw& d) { d.runs[0] = run(0, 3); }), Fault::run);
  EXPECT_EQ(judged([](Raw& d) { d.runs[0] = run(~std::uint64_t{0} - 1, 3); }), Fault::run);
  EXPECT_EQ(judged([](Raw& d) { d.runs[0] = run((std::uint64_t{1} << 51) - 2, 3); }), Fault::run);
  EXPECT_EQ(judged([](Raw& d) { d.runs[0] = run((std::uint64_t{1} << 51) - 3, 3); }), Fault::none);
  EXPECT_EQ(judged([](Raw& d) { d.runs[1] = run(702, 2); }), Fault::overlap);
  EXPECT_EQ(judged([](Raw& d) { d.runs[1] = run(699, 2); }), Fault::overlap);
  EXPECT_EQ(judged([](Raw& d) { d.runs[1] = run(703, 2); }), Fault::none);
  EXPECT_EQ(judged([](Raw& d) { d.runs[1] = run(900, 3); }), Fault::pages);
  EXPECT_EQ(judged([](Raw& d) { d.runs[1] = run(900, 0xfffffffe); }), Fault::pages);
  EXPECT_EQ(judged([](Raw& d) { d.size_bytes -= kPayload; }), Fault::pages);
  EXPECT_EQ(judged([](Raw& d) { d.size_bytes += 1; }), Fault::pages);

  const std::string bytes = good.bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(LargeValueDescriptor::judge(bytes.substr(0, size), kPageSize), Fault::length);
  }
  EXPECT_EQ(LargeValueDescriptor::judge(bytes + '\0', kPageSize), Fault::length);
}

TEST(LargeValueDescriptor, DecodeSaysWhatIsWrong) {
  RawDescriptor overlapping;
  overlapping.runs[1] = run(701, 2);
  try {
    static_cast<void>(LargeValueDescriptor::decode(overlapping.bytes(), kPageSize));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corruption);
    EXPECT_THAT(error.what(), testing::HasSubstr("overlapping runs"));
    EXPECT_THAT(error.what(), testing::HasSubstr("700+3 701+2"));
  }
  RawDescriptor newer;
  newer.version = 77;
  try {
    static_cast<void>(LargeValueDescriptor::decode(newer.bytes(), kPageSize));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported_version);
    EXPECT_THAT(error.what(), testing::HasSubstr("77"));
  }
}

/// Whatever decodes satisfies invariant (1) and encodes to the same bytes.
void expect_sound_or_refused(const std::string& bytes) {
  // Exactly this size, so that AddressSanitizer detects a read beyond it.
  const std::vector<char> exact(bytes.begin(), bytes.end());
  const ByteView view(exact.data(), exact.size());
  if (LargeValueDescriptor::judge(view, kPageSize) != DescriptorFault::none) {
    EXPECT_THROW(static_cast<void>(LargeValueDescriptor::decode(view, kPageSize)), Error);
    return;
  }
  const auto value = LargeValueDescriptor::decode(view, kPageSize);
  EXPECT_EQ(value.encode().view(), view);
  EXPECT_EQ(value.block_count(), extent_blocks(value.size_bytes(), kPageSize));
  EXPECT_LE(value.size_bytes(), kLargeValueBytesMax);
}

TEST(LargeValueDescriptor, AnyBytesAreSafe) {
  Random random(palimpsest::test::seed());
  const std::string good = RawDescriptor{}.bytes();
  for (int round = 0; round < palimpsest::test::repeats(200'000); ++round) {
    std::string bytes = random.one_in(4) ? std::string(random.below(300), '\0') : good;
    if (bytes != good) {
      for (char& byte : bytes) {
        byte = static_cast<char>(random.below(256));
      }
      if (bytes.size() >= 4 && random.one_in(2)) {
        bytes[0] = 1;
        bytes[1] = 0;
        bytes[2] = static_cast<char>((bytes.size() - 4) / kDescriptorRunBytes);
        bytes[3] = 0;
      }
    }
    for (std::uint64_t changes = random.below(4); changes > 0 && !bytes.empty(); --changes) {
      const std::size_t at = random.below(bytes.size());
      bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1U << random.below(8)));
    }
    if (random.one_in(10)) {
      bytes.resize(random.below(bytes.size() + 20));
    }
    expect_sound_or_refused(bytes);
  }
}

TEST(ExtentBlock, EachFaultIsNamed) {
  const std::vector<PageRun> runs{run(50, 2)};
  const auto value = LargeValueDescriptor::make(kPayload + 7, {2, 5}, runs, kPageSize);
  struct Block {
    buffer::PageType type = buffer::PageType::extent_block;
    ExtentBlockHeader header{{2, 5}, 1, 7, 0};
  };
  const auto judged = [&](auto&& damage) {
    Block block;
    damage(block);
    std::vector<std::byte> page(kPageSize);
    buffer::PageHeader header{};
    header.type = block.type;
    std::memcpy(page.data(), &header, sizeof(header));
    std::memcpy(page.data() + sizeof(header), &block.header, sizeof(block.header));
    return judge_block(page, value, 1);
  };
  EXPECT_EQ(judged([](Block&) {}), BlockFault::none);
  EXPECT_EQ(judged([](Block& b) { b.type = buffer::PageType::tree_leaf; }), BlockFault::type);
  EXPECT_EQ(judged([](Block& b) { b.header.stamp.number = 6; }), BlockFault::stamp);
  EXPECT_EQ(judged([](Block& b) { b.header.stamp.open_count = 1; }), BlockFault::stamp);
  EXPECT_EQ(judged([](Block& b) { b.header.block_number = 0; }), BlockFault::number);
  EXPECT_EQ(judged([](Block& b) { b.header.payload_bytes = kPayload; }), BlockFault::length);
  EXPECT_EQ(judged([](Block& b) { b.header.reserved = 1; }), BlockFault::reserved);
}

TEST(ExtentBlock, AnyBytesArePrinted) {
  const std::vector<std::byte> page(kPageSize, std::byte{0xff});
  EXPECT_THAT(print_extent_block(page), testing::HasSubstr("block 4294967295"));
  EXPECT_THAT(print_extent_block(ConstBytes(page).first(95)), testing::HasSubstr("95 bytes"));
}

}  // namespace
}  // namespace palimpsest::btree
