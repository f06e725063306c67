#include "buffer/space_record.h"

#include <fmt/format.h>

#include <cstring>

#include "base/check.h"

namespace palimpsest::buffer {
namespace {

/// No page id is larger, so sums with it do not overflow.
constexpr std::uint64_t kPageIdMax = std::uint64_t{1} << 62U;

bool overlap(const PageRun& a, const PageRun& b) noexcept {
  return raw(a.first) < raw(b.first) + b.pages && raw(b.first) < raw(a.first) + a.pages;
}

}  // namespace

void encode_space_record(std::span<const PageRun> runs, MutableBytes body) noexcept {
  check(!runs.empty() && runs.size() <= kSpaceRunsMax &&
            body.size() == space_record_bytes(runs.size()),
        "the runs fit one record, and the record its bytes");
  const SpaceRecordHeader header{.kind = SpaceRecordKind::free,
                                 .reserved_byte = 0,
                                 .count = static_cast<std::uint16_t>(runs.size()),
                                 .reserved_word = 0};
  std::memcpy(body.data(), &header, sizeof header);
  std::byte* into = body.data() + sizeof header;
  for (const PageRun& run : runs) {
    const LoggedRun logged{.first = run.first, .pages = run.pages, .reserved = 0};
    std::memcpy(into, &logged, sizeof logged);
    into += sizeof logged;
  }
}

std::optional<SpaceRecord> SpaceRecord::decode(ConstBytes body) noexcept {
  SpaceRecordHeader header;
  if (body.size() < sizeof header) {
    return std::nullopt;
  }
  std::memcpy(&header, body.data(), sizeof header);
  const bool header_fits = header.kind == SpaceRecordKind::free && header.reserved_byte == 0 &&
                           header.reserved_word == 0 && header.count >= 1 &&
                           header.count <= kSpaceRunsMax;
  if (!header_fits || body.size() != space_record_bytes(header.count)) {
    return std::nullopt;
  }
  const SpaceRecord record(body);
  for (std::size_t i = 0; i < record.count(); ++i) {
    if (!record.run_can_be(i)) {
      return std::nullopt;
    }
  }
  return record;
}

LoggedRun SpaceRecord::logged(std::size_t index) const noexcept {
  LoggedRun logged;
  std::memcpy(&logged, body_.data() + space_record_bytes(index), sizeof logged);
  return logged;
}

/// Whether the run is possible, given that each run before it is.
bool SpaceRecord::run_can_be(std::size_t index) const noexcept {
  const LoggedRun one = logged(index);
  if (one.first == kNoPage || raw(one.first) > kPageIdMax || one.pages == 0 || one.reserved != 0) {
    return false;
  }
  for (std::size_t other = 0; other < index; ++other) {
    if (overlap(run(index), run(other))) {
      return false;
    }
  }
  return true;
}

PageRun SpaceRecord::run(std::size_t index) const noexcept {
  PALIMPSEST_DEBUG_CHECK(index < count(), "a run of the record");
  const LoggedRun one = logged(index);
  return {one.first, one.pages};
}

std::string print(const SpaceRecord& record) {
  std::string text = "free pages";
  for (std::size_t i = 0; i < record.count(); ++i) {
    const PageRun run = record.run(i);
    text += fmt::format(" {}", raw(run.first));
    if (run.pages > 1) {
      text += fmt::format("-{}", raw(run.first) + run.pages - 1);
    }
  }
  return text;
}

}  // namespace palimpsest::buffer
