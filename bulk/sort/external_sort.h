// Sorts any number of records by their keys within a bound of memory, on disk if necessary.
//
//   ExternalSort sort(device, {.memory_bytes = 64 << 20});
//   sort.add(key, value);  // any order
//   sort.finish();
//   while (sort.next()) {
//     use(sort.key(), sort.value());  // ascending
//   }
//
// Keys are ordered as by memcmp; records with equal keys stay in the order in which they were
// added. Threads sort full buffers of records while the next buffer is filled (run_maker.h). When
// records do not fit into memory any more, the sorted buffers are written to a temporary file in
// the device's directory (sort_file.h, run_blocks.h). They are merged while they are read again, or
// before, if they are very many (run_merger.h). A sort that fits into memory makes no file.
//
// Memory: `memory_bytes`, allocated at once and touched as needed; in addition, some dozens of
// bytes per run.
// Disk: the records' size, plus eight bytes each; if runs are merged before reading, up to as much
// again, or more with several threads. The space is freed when the last record was read, and
// otherwise with the object.
// Failure: Error invalid_argument for a record beyond the limit (names it), and for a call in the
// wrong state: the sort goes on. Any other error ends the sort, with its file, and every later call
// throws failed: io_error, no_space, permission_denied, corruption for bytes that differ from what
// was written, naming file, offset and bytes; bad_alloc.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/bytes.h"
#include "base/io/device.h"
#include "bulk/sort/loser_tree.h"
#include "bulk/sort/run_maker.h"
#include "bulk/sort/run_merger.h"
#include "bulk/sort/saved_sort.h"
#include "bulk/sort/sort_buffer.h"
#include "bulk/sort/sort_file.h"
#include "bulk/sort/sort_memory.h"
#include "bulk/sort/sort_shape.h"

namespace palimpsest::bulk {

struct SortOptions {
  /// At least SortShape::kMemoryBytesMin, 64 KiB; a smaller value counts as that.
  std::size_t memory_bytes = std::size_t{64} << 20U;
  /// Threads that sort and write beside the caller, each with an additional buffer; later one of
  /// them prefetches. 0: the caller does all the work. Fewer are used if the memory is small.
  std::size_t threads = 1;
  /// The temporary file is named "<prefix><number>.tmp".
  std::string_view name_prefix = kSortFilePrefix;
  /// The name of a file that stays, in place of a temporary one; empty: none. See save().
  std::string_view kept_name{};
  /// With kept_name: the runs to begin with. Null: none; the file's content is discarded.
  const SavedSort* saved = nullptr;
};

struct SortStatistics {
  std::uint64_t records = 0;
  std::uint64_t runs = 0;           ///< written as the records came
  std::uint64_t merges = 0;         ///< before the last one, which writes nothing
  std::uint64_t written_bytes = 0;  ///< payload of all runs
  std::uint64_t file_bytes = 0;     ///< the file's size
};

class ExternalSort {
 public:
  /// The device outlives it. Throws bad_alloc; with `saved` also invalid_argument if the memory
  /// gives another block size, not_found, corruption.
  ExternalSort(io::Device& device, const SortOptions& options);
  ExternalSort(const ExternalSort&) = delete;
  ExternalSort& operator=(const ExternalSort&) = delete;
  ~ExternalSort();

  /// Maximum bytes of a record's key and value.
  [[nodiscard]] std::size_t record_bytes_max() const noexcept { return shape_.record_bytes_max; }

  /// Approximate size of the temporary file after adding this many records, with `bytes` of keys
  /// and values in all: 0 if they fit into memory.
  [[nodiscard]] std::uint64_t file_bytes(std::uint64_t records,
                                         std::uint64_t bytes) const noexcept {
    return shape_.file_bytes(records, bytes, record_bytes_);
  }

  /// Called before finish().
  void add(ByteView key, ByteView value);
  /// With kept_name, before finish(): writes all records so far to the file, where they survive any
  /// crash. The result is for another sort with as much memory, after this one is destroyed.
  [[nodiscard]] SavedSort save();
  /// Ends the input. Calls meanwhile(), which may throw, now and then while merging.
  void finish(FunctionRef<void()> meanwhile = [] {});

  /// After finish(): moves to the first record, then to the next; false at the end.
  [[nodiscard]] bool next();
  /// The current record, valid until next().
  [[nodiscard]] ByteView key() const noexcept { return top_->key(); }
  [[nodiscard]] ByteView value() const noexcept { return top_->value(); }

  [[nodiscard]] const SortStatistics& statistics() const noexcept { return statistics_; }

 private:
  enum class State : std::uint8_t { adding = 1, reading, ended, failed };

  void open_file(io::Device& device, const SortOptions& options);
  template <class Work>
  auto guarded(State expected, Work&& work);
  [[noreturn]] void refuse_record(ByteView key, ByteView value) const;
  void begin_to_read(FunctionRef<void()> meanwhile);
  void read_buffers();
  void release() noexcept;

  const SortShape shape_;
  State state_ = State::adding;
  SortStatistics statistics_;
  std::size_t record_bytes_ = 0;  ///< of the longest record
  // In the order in which they are made; released in reverse order.
  std::optional<SortMemory> memory_;
  std::optional<SortFile> file_;
  std::optional<RunMaker> maker_;
  std::vector<std::unique_ptr<BufferSource>> buffers_;  ///< if all is in memory
  std::optional<LoserTree> tree_;                       ///< of buffers_
  std::optional<RunMerger> merger_;                     ///< if not all is in memory
  const RecordSource* top_ = nullptr;
};

}  // namespace palimpsest::bulk
