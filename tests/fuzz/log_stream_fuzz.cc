// Fuzz target: a damaged log. Reading it gives an error, or a shorter log.
//
// Input: the first byte says which checksums are repaired after the damage (bit 0: those of
// batches, bit 1: those of the control file). Then edits of four bytes: file (lowest bit of the
// first byte), offset, value.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "palimpsest/error.h"

#include "base/checksum.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/wal/log_fixture.h"

namespace {

using namespace palimpsest;  // NOLINT(google-build-using-namespace): one function
using palimpsest::test::SimDisk;
using palimpsest::wal::BatchHeader;

/// A log of some batches with chunks of two slots, and its file.
struct Sample {
  SimDisk disk;
  std::string segment;
};

Sample make_sample() {
  Sample sample;
  const auto device = sample.disk.device();
  {
    wal::test::OpenLog open(*device);
    const SlotId a = open.claim();
    const SlotId b = open.claim();
    for (std::uint64_t i = 0; i < 6; ++i) {
      open.change(a, i, 30 + i * 40, Gsn{0});
      open.change(b, i, 20, Gsn{0});
      open.log().wait_durable(open.commit(b, i).gsn);
    }
  }
  for (const std::string& name : device->list()) {
    const auto bytes = sample.disk.contents(name);
    const auto header = wal::decode_segment_header(bytes);
    sample.segment = header && header->number == 1 ? name : sample.segment;
  }
  return sample;
}

/// Gives every batch the checksum of its current content.
void repair_batches(MutableBytes segment) {
  constexpr std::size_t kSummedFrom = 16;
  for (std::size_t at = wal::kSegmentHeaderBytes; at + sizeof(BatchHeader) <= segment.size();
       at += wal::kBatchAlignment) {
    const auto header = wal::peek_batch(segment.subspan(at), segment.size() - at);
    if (header) {
      const std::uint64_t sum =
          checksum(segment.subspan(at + kSummedFrom, header->content_bytes - kSummedFrom));
      std::memcpy(segment.data() + at + offsetof(BatchHeader, checksum), &sum, sizeof sum);
    }
  }
}

void repair_control(MutableBytes control) {
  constexpr std::size_t kCopyBytes = 4096;
  for (std::size_t at = 0; at + kCopyBytes <= control.size(); at += kCopyBytes) {
    const std::uint64_t sum = checksum(control.subspan(at + 16, kCopyBytes - 16));
    std::memcpy(control.data() + at + 8, &sum, sizeof sum);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Sample sample = make_sample();
  constexpr std::size_t kDamagedBytes = 16384;
  const SimDisk disk = sample.disk.snapshot();
  std::vector<std::byte> segment = disk.contents(sample.segment);
  std::vector<std::byte> control = disk.contents(wal::kControlFileName);
  for (std::size_t at = 1; at + 4 <= size; at += 4) {
    auto& bytes = (data[at] & 1U) != 0 ? control : segment;
    const std::size_t place = data[at + 1] * 256U + data[at + 2];
    bytes[std::min(place % kDamagedBytes, bytes.size() - 1)] = std::byte{data[at + 3]};
  }
  const std::uint8_t repairs = size == 0 ? 0 : data[0];
  if ((repairs & 1U) != 0) {
    repair_batches(segment);
  }
  if ((repairs & 2U) != 0) {
    repair_control(control);
  }
  SimDisk damaged = disk;
  damaged.overwrite(sample.segment, 0, segment);
  damaged.overwrite(wal::kControlFileName, 0, control);
  const auto device = damaged.device();
  try {
    static_cast<void>(wal::test::read_log(*device));
  } catch (const Error&) {                     // NOLINT(bugprone-empty-catch): what is expected
  } catch (const wal::test::UnknownRecord&) {  // NOLINT(bugprone-empty-catch): made up, whole
  }
  return 0;
}
