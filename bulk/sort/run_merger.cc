#include "bulk/sort/run_merger.h"

#include <algorithm>

#include "bulk/sort/run_writer.h"

namespace palimpsest::bulk {
namespace {

constexpr std::size_t kRecordsAtATime = 4096;

std::uint64_t payload_of(std::span<const Run> runs) noexcept {
  std::uint64_t bytes = 0;
  for (const Run& run : runs) {
    bytes += run.payload_bytes;
  }
  return bytes;
}

std::uint64_t records_of(std::span<const Run> runs) noexcept {
  std::uint64_t records = 0;
  for (const Run& run : runs) {
    records += run.records;
  }
  return records;
}

}  // namespace

RunMerger::RunMerger(const SortShape& shape, SortMemory& memory, SortFile& file,
                     std::span<const Run> runs, std::size_t record_bytes)
    : shape_(shape),
      blocks_(shape.block_bytes),
      memory_(memory),
      file_(file),
      record_bytes_(record_bytes),
      fan_in_(shape.fan_in(record_bytes)),
      runs_(runs.begin(), runs.end()),
      last_number_(runs.size()),
      queue_(file.file(), shape.threads != 0, 2 * (std::min(fan_in_, runs.size()) + 1)) {}

void RunMerger::reduce(FunctionRef<void()> meanwhile) {
  while (runs_.size() > fan_in_) {
    const std::size_t count = std::min(fan_in_, runs_.size() - fan_in_ + 1);
    merge(choose(count), count, meanwhile);
  }
  memory_.reset();
  merge_.emplace(open(runs_));
}

/// The first of `count` neighbours that together have the fewest bytes.
std::size_t RunMerger::choose(std::size_t count) const noexcept {
  const std::span<const Run> runs(runs_);
  std::uint64_t bytes = payload_of(runs.first(count));
  std::uint64_t least = bytes;
  std::size_t chosen = 0;
  for (std::size_t first = 1; first + count <= runs.size(); ++first) {
    bytes += runs[first + count - 1].payload_bytes - runs[first - 1].payload_bytes;
    if (bytes < least) {
      least = bytes;
      chosen = first;
    }
  }
  return chosen;
}

void RunMerger::merge(std::size_t first, std::size_t count, FunctionRef<void()> meanwhile) {
  const std::span<const Run> from = std::span<const Run>(runs_).subspan(first, count);
  const std::uint64_t bytes = payload_of(from);
  const Run made{.number = ++last_number_,
                 .offset_bytes = file_.take(blocks_.file_bytes(bytes)),
                 .payload_bytes = bytes,
                 .records = records_of(from)};
  memory_.reset();
  {
    RunWriter writer(queue_, blocks_, made,
                     memory_.take(2 * shape_.block_bytes, kSortAlignmentBytes));
    Merge merge = open(from);
    for (std::size_t record = 0; merge.tree.next(); ++record) {
      writer.add(merge.tree.top().key(), merge.tree.top().value());
      if (record % kRecordsAtATime == 0) {
        meanwhile();
      }
    }
    writer.finish();
  }
  for (const Run& run : from) {
    file_.give_back(run.offset_bytes, blocks_.file_bytes(run.payload_bytes));
  }
  const auto at = runs_.begin() + static_cast<std::ptrdiff_t>(first);
  *at = made;
  runs_.erase(at + 1, at + static_cast<std::ptrdiff_t>(count));
  ++merges_;
  merged_bytes_ += bytes;
}

RunMerger::Merge RunMerger::open(std::span<const Run> runs) {
  std::vector<MutableBytes> blocks;
  blocks.reserve(runs.size());
  for (std::size_t run = 0; run < runs.size(); ++run) {
    blocks.push_back(memory_.take(2 * shape_.block_bytes, kSortAlignmentBytes));
  }
  std::vector<std::unique_ptr<RunReader>> readers;
  readers.reserve(runs.size());
  std::vector<RecordSource*> sources;
  sources.reserve(runs.size());
  for (std::size_t run = 0; run < runs.size(); ++run) {
    readers.push_back(std::make_unique<RunReader>(
        queue_, blocks_, runs[run],
        RunReader::Memory{.blocks = blocks[run], .record = memory_.take(record_bytes_)}));
    sources.push_back(readers.back().get());
  }
  return {.readers = std::move(readers), .tree = LoserTree(sources)};
}

}  // namespace palimpsest::bulk
