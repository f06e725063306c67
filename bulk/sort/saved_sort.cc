#include "bulk/sort/saved_sort.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "palimpsest/error.h"

#include "bulk/sort/sort_memory.h"

namespace palimpsest::bulk {
namespace {

constexpr std::string_view kBegin = "palimpsest runs 1";

[[noreturn]] void refuse(std::string_view why) {
  throw Error(ErrorCode::corruption, fmt::format("the saved runs of a sort: {}", why));
}

/// Parses the number at the start of the rest of a text, behind a space.
std::uint64_t take_number(std::string_view& rest) {
  std::uint64_t number = 0;
  if (!rest.starts_with(' ')) {
    refuse("a number is missing");
  }
  rest.remove_prefix(1);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc()) {
    refuse("a number is malformed");
  }
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return number;
}

void check_run(const SavedSort& saved, const Run& run) {
  const std::uint64_t file_bytes = RunBlocks(saved.block_bytes).file_bytes(run.payload_bytes);
  if (run.number != saved.runs.size() + 1 || run.payload_bytes > saved.file_bytes ||
      run.offset_bytes > saved.file_bytes || file_bytes > saved.file_bytes - run.offset_bytes) {
    refuse(fmt::format("run {} is not within the file", run.number));
  }
}

}  // namespace

std::string SavedSort::text() const {
  std::string text = fmt::format("{} {} {} {}", kBegin, block_bytes, record_bytes, file_bytes);
  for (const Run& run : runs) {
    text +=
        fmt::format(" {} {} {} {}", run.number, run.offset_bytes, run.payload_bytes, run.records);
  }
  return text;
}

SavedSort SavedSort::parse(std::string_view text) {
  if (!text.starts_with(kBegin)) {
    refuse("they are of another version");
  }
  text.remove_prefix(kBegin.size());
  SavedSort saved;
  saved.block_bytes = take_number(text);
  saved.record_bytes = take_number(text);
  saved.file_bytes = take_number(text);
  if (saved.block_bytes <= sizeof(BlockHeader) || saved.block_bytes % kSortAlignmentBytes != 0) {
    refuse("their block size is impossible");
  }
  while (!text.empty()) {
    Run run;
    run.number = take_number(text);
    run.offset_bytes = take_number(text);
    run.payload_bytes = take_number(text);
    run.records = take_number(text);
    check_run(saved, run);
    saved.runs.push_back(run);
  }
  return saved;
}

}  // namespace palimpsest::bulk
