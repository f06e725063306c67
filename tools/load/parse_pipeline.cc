#include "tools/load/parse_pipeline.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "tools/load/interrupt.h"

namespace palimpsest::load {
namespace {

using Clock = std::chrono::steady_clock;

/// What a chunk takes with its rows, mostly, and while it is parsed.
constexpr std::uint64_t kBytesOfChunk = 3 * ChunkReader::kChunkBytes;
/// Chunks that wait for the caller for each thread, if there is memory.
constexpr std::uint64_t kChunksPerThread = 6;
constexpr std::chrono::milliseconds kInterruptInterval{100};
/// Less free memory than this stays with the process.
constexpr int kKeptBytes = 16 << 20U;

/// Rows of long char(n) take more than their text: there are fewer in the next chunks then.
std::size_t chunk_bytes_after(const RowBatch& batch) noexcept {
  constexpr std::size_t kChunkBytesMin = std::size_t{4} << 10U;
  const std::size_t growth = batch.rows.size() / std::max<std::size_t>(batch.chunk.bytes, 1);
  return std::max(ChunkReader::kChunkBytes / std::max<std::size_t>(growth, 1), kChunkBytesMin);
}

/// Parsers give way to the one thread that puts their rows into the table, and to what writes for
/// it: they have what these leave of the processors.
void give_way() noexcept {
  constexpr int kNiceness = 5;
  static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNiceness));
}

/// Half of the memory is for those that are being parsed.
std::uint64_t threads_of(const ParseLimits& limits) noexcept {
  return limits.memory_bytes == 0 ? limits.threads
                                  : std::clamp<std::uint64_t>(
                                        limits.memory_bytes / 2 / kBytesOfChunk, 1, limits.threads);
}

std::uint64_t ahead_of(const ParseLimits& limits) noexcept {
  const std::uint64_t wanted = kChunksPerThread * limits.threads * kBytesOfChunk;
  return limits.memory_bytes == 0 ? wanted : std::min(limits.memory_bytes / 2, wanted);
}

}  // namespace

void keep_freed_memory() noexcept {
  mallopt(M_MMAP_THRESHOLD, kKeptBytes);  // NOLINT(concurrency-mt-unsafe): one thread, as is said
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);  // NOLINT(concurrency-mt-unsafe)
}

ParsePipeline::ParsePipeline(ChunkReader& reader, const ColumnPlanner& planner,
                             const TableSchema& table, const Dialect& dialect,
                             const ParseLimits& limits, const RowCoders& coders)
    : reader_(reader), planner_(planner), ahead_bytes_max_(ahead_of(limits)), slots_(limits.slots) {
  for (std::uint64_t i = 0; i < threads_of(limits); ++i) {
    parsers_.push_back(RowParser::make(table, dialect, coders()));
  }
  try {
    for (const auto& parser : parsers_) {
      threads_.emplace_back([this, &parser] { work(*parser); });
    }
  } catch (...) {
    stop();
    throw;
  }
}

ParsePipeline::~ParsePipeline() {
  stop();
}

void ParsePipeline::stop() noexcept {
  {
    const std::lock_guard turn(turn_);
    stopped_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

// The chunk that is waited for was parsed at the end of that time, and read before.
std::optional<RowBatch> ParsePipeline::next() {
  const Clock::time_point begin = Clock::now();
  std::unique_lock turn(turn_);
  for (;;) {
    stop_if_interrupted();
    if (const auto found = parsed_.find(handed_out_); found != parsed_.end()) {
      RowBatch batch = std::move(found->second);
      parsed_.erase(found);
      ahead_bytes_ -= batch.bytes();
      ++handed_out_;
      room_.notify_all();  // a large one may make room for several
      batch.awaited_parsing =
          std::min<std::chrono::nanoseconds>(batch.parsing, Clock::now() - begin);
      return batch;
    }
    if (end_ == handed_out_) {
      if (failure_ != nullptr) {
        std::rethrow_exception(failure_);
      }
      return std::nullopt;
    }
    ready_.wait_for(turn, kInterruptInterval);
  }
}

void ParsePipeline::work(RowParser& parser) {
  give_way();
  while (may_go_on()) {
    const ParseTurn turn(slots_);
    std::optional<Numbered> taken = take();
    if (!taken) {
      return;
    }
    try {
      const std::shared_ptr<const ColumnPlan> plan = taken->input.plan;
      const Clock::time_point begin = Clock::now();
      RowBatch batch = parser.parse(std::move(taken->input));
      batch.parsing = Clock::now() - begin;
      batch.header = batch.chunk.is_first ? plan->header : std::string();
      reader_.limit_chunk_bytes(chunk_bytes_after(batch));
      put(taken->number, std::move(batch));
    } catch (...) {  // memory has run out
      end_at(taken->number, std::current_exception());
    }
  }
}

void ParsePipeline::put(std::uint64_t number, RowBatch batch) {
  const std::lock_guard turn(turn_);
  ahead_bytes_ += batch.bytes();
  parsed_.emplace(number, std::move(batch));
  if (number == handed_out_) {
    ready_.notify_one();
  }
}

/// Waits until the caller is not too far behind; false if there is nothing more to do.
bool ParsePipeline::may_go_on() {
  std::unique_lock turn(turn_);
  room_.wait(turn, [&] {
    return stopped_ || end_.has_value() || ahead_bytes_ < ahead_bytes_max_ || parsed_.empty();
  });
  return !stopped_ && !end_.has_value();
}

/// The next chunk; nothing if there is none, or reading has failed.
std::optional<ParsePipeline::Numbered> ParsePipeline::take() {
  const std::lock_guard reading(reading_);
  if (at_end_) {
    return std::nullopt;
  }
  try {
    if (std::optional<Chunk> chunk = reader_.next()) {
      if (chunk->is_first) {
        plan_ = planner_.begin_file(*chunk, reader_.paths()[chunk->file]);
      }
      return Numbered{.number = taken_++, .input = {.chunk = std::move(*chunk), .plan = plan_}};
    }
    end_at(taken_, nullptr);
  } catch (...) {
    end_at(taken_, std::current_exception());
  }
  at_end_ = true;
  return std::nullopt;
}

void ParsePipeline::end_at(std::uint64_t number, std::exception_ptr failure) {
  {
    const std::lock_guard turn(turn_);
    if (!end_ || number < *end_) {
      end_ = number;
      failure_ = std::move(failure);
    }
  }
  ready_.notify_one();
  room_.notify_all();
}

}  // namespace palimpsest::load
