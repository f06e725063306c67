// Sorts any number of records by their keys within a bound of memory, on disk if it must.
//
//   ExternalSort sort(device, {.memory_bytes = 64 << 20});
//   sort.add(key, value);  // any order
//   sort.finish();
//   while (sort.next()) {
//     use(sort.key(), sort.value());  // ascending
//   }
//
// Keys are in the order of memcmp; records of one key stay in the order in which they came.
// Buffers of records are sorted by threads while the next is filled (run_maker.h), written to a
// temporary file of the device's directory once they do not fit any more (sort_file.h,
// run_blocks.h), and merged while they are read again, or before, if they are very many
// (run_merger.h). A sort that fits into the memory makes no file.
//
// Memory: `memory_bytes`, allocated at once and touched as it is needed; beside that some dozens of
//         bytes for each run.
// Disk: what the records take, with eight bytes each; if runs are merged before, up to as much on
//       top, or more with several threads. The space is free when the last record was read, and in
//       any other case with the object.
// Failure: Error invalid_argument for a record beyond the limit (names it), and for a call out of
//          turn: the sort goes on; any other one ends it, with its file, and every later call
//          throws failed: io_error, no_space, permission_denied, corruption for what does not come
//          back from disk as it was written, naming file, offset and bytes; bad_alloc.
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

namespace palimpsest::engine {

struct SortOptions {
  /// Less than SortShape::kMemoryBytesMin, 64 KiB, counts as that.
  std::size_t memory_bytes = std::size_t{64} << 20U;
  /// That sort and write beside the caller, each with a buffer more; then one reads ahead. 0: the
  /// caller does it all. Fewer if the memory is small.
  std::size_t threads = 1;
  /// Of the temporary file: "<prefix><number>.tmp".
  std::string_view name_prefix = kSortFilePrefix;
  /// Of a file that stays, in place of a temporary one; empty: none. See save().
  std::string_view kept_name{};
  /// With kept_name: the runs to begin with. Null: none, and what that file has is given up.
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
  /// The device outlives it. Throws bad_alloc; for runs to begin with: invalid_argument if the
  /// memory cuts blocks of another size, not_found, corruption.
  ExternalSort(io::Device& device, const SortOptions& options);
  ExternalSort(const ExternalSort&) = delete;
  ExternalSort& operator=(const ExternalSort&) = delete;
  ~ExternalSort();

  /// Bytes of key and value that a record can have.
  [[nodiscard]] std::size_t record_bytes_max() const noexcept { return shape_.record_bytes_max; }

  /// About what the temporary file takes when so many records have been added, whose keys and
  /// values have `bytes` together: 0 if they fit into the memory.
  [[nodiscard]] std::uint64_t file_bytes(std::uint64_t records,
                                         std::uint64_t bytes) const noexcept {
    return shape_.file_bytes(records, bytes, record_bytes_);
  }

  /// Before finish().
  void add(ByteView key, ByteView value);
  /// With kept_name, before finish(): all records so far are in the file, and survive any crash.
  /// What it returns is for another sort with as much memory, once this one has gone.
  [[nodiscard]] SavedSort save();
  /// There are no more. Calls meanwhile(), which may throw, now and then while it merges.
  void finish(FunctionRef<void()> meanwhile = [] {});

  /// After finish(): to the first record, then to the next; false at the end.
  [[nodiscard]] bool next();
  /// Of that record, valid until next().
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
  std::size_t record_bytes_ = 0;  ///< of the longest
  // In the order in which they are made, and the other way round released.
  std::optional<SortMemory> memory_;
  std::optional<SortFile> file_;
  std::optional<RunMaker> maker_;
  std::vector<std::unique_ptr<BufferSource>> buffers_;  ///< if all is in memory
  std::optional<LoserTree> tree_;                       ///< of these
  std::optional<RunMerger> merger_;                     ///< if not
  const RecordSource* top_ = nullptr;
};

}  // namespace palimpsest::engine
