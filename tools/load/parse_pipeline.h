// Parses the chunks of a load in parallel, and hands out their rows in the order of the input.
//
// Each thread reads a chunk, alone, and parses it beside the others. They wait when the chunks
// ahead of the caller, with their rows, fill the memory that is allowed.
// Thread-safety: next() belongs to one thread. Failure: what reading throws comes out of next()
// when its turn has come, so that the rows before it have been seen; Interrupted at once.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tools/load/chunk_reader.h"
#include "tools/load/column_plan.h"
#include "tools/load/parse_slots.h"
#include "tools/load/row_parser.h"

namespace palimpsest::load {

/// Has the allocator keep what pipelines free, for their next chunks, rather than give it back to
/// the system each time. For a process that does little else.
void keep_freed_memory() noexcept;

struct ParseLimits {
  std::size_t threads = 1;         ///< at least 1
  std::uint64_t memory_bytes = 0;  ///< about, for chunks and their rows; 0: some for each thread
  ParseSlots* slots = nullptr;     ///< of several pipelines together; outlives them
};

class ParsePipeline {
 public:
  /// All of them outlive the pipeline, but for `coders`.
  ParsePipeline(ChunkReader& reader, const ColumnPlanner& planner, const TableSchema& table,
                const Dialect& dialect, const ParseLimits& limits, const RowCoders& coders);
  /// Waits for the threads, which stop behind their chunks.
  ~ParsePipeline();
  ParsePipeline(const ParsePipeline&) = delete;
  ParsePipeline& operator=(const ParsePipeline&) = delete;

  [[nodiscard]] std::optional<RowBatch> next();

 private:
  /// A chunk and its number in the input.
  struct Numbered {
    std::uint64_t number = 0;
    PlannedChunk input{};
  };

  void work(RowParser& parser);
  void stop() noexcept;
  [[nodiscard]] bool may_go_on();
  [[nodiscard]] std::optional<Numbered> take();
  void put(std::uint64_t number, RowBatch batch);
  void end_at(std::uint64_t number, std::exception_ptr failure);

  ChunkReader& reader_;
  const ColumnPlanner& planner_;
  const std::uint64_t ahead_bytes_max_;
  ParseSlots* const slots_;
  std::mutex reading_{};                      ///< of the reader, and these:
  std::shared_ptr<const ColumnPlan> plan_{};  ///< of the file that is being read
  std::uint64_t taken_ = 0;                   ///< chunks
  bool at_end_ = false;

  std::mutex turn_{};                ///< of all that follows
  std::condition_variable ready_{};  ///< the caller waits for the next chunk
  std::condition_variable room_{};   ///< threads wait until it is less far behind
  std::map<std::uint64_t, RowBatch> parsed_{};
  std::uint64_t ahead_bytes_ = 0;  ///< of these
  std::uint64_t handed_out_ = 0;
  std::optional<std::uint64_t> end_{};  ///< the number of the chunk that there is not
  std::exception_ptr failure_{};        ///< why there is not
  bool stopped_ = false;

  std::vector<std::unique_ptr<RowParser>> parsers_{};
  std::vector<std::thread> threads_{};
};

}  // namespace palimpsest::load
