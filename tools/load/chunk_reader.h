// The files of a load, one after the other, cut into chunks of whole records: what is parsed in
// parallel.
//
// A chunk ends where a record ends (record_reader.h). Text without quotes is cut at its last
// newline; other text is walked from quote to quote.
// Invariants: (1) the chunks of a file cover it without gaps, in order, but for a byte order mark
//                 and lines that are skipped before its first chunk
//             (2) a chunk ends with a whole record, or a whole line that is skipped, unless it is
//                 the last of its file
//             (3) the first chunk of a file holds a whole record, if the file has one: its header
// Failure: as ByteSource; Error invalid_argument for a record longer than kRecordBytesMax, and for
//          UTF-16. Thread-safety: belongs to one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/load/byte_source.h"
#include "tools/load/dialect.h"

namespace palimpsest::load {

/// The longest row there is has 1 GiB; in hexadecimal digits it has twice as much.
inline constexpr std::size_t kRecordBytesMax = std::size_t{5} << 29U;

/// Between two records of the input.
struct InputPosition {
  std::uint64_t file = 0;  ///< its number, from 0
  std::uint64_t byte = 0;  ///< of the next record's first byte in its file, from 0
  std::uint64_t line = 1;  ///< of that byte
};

struct Chunk {
  /// Behind the text there are as many zeros as simdjson wants to read there.
  static constexpr std::size_t kPaddingBytes = 64;

  std::unique_ptr<char[]> memory{};
  std::size_t bytes = 0;
  std::size_t file = 0;             ///< its number, from 0
  std::uint64_t byte = 0;           ///< of the text's first byte in its file, from 0
  std::uint64_t line = 1;           ///< of the text's first line in its file, from 1
  bool is_first = false;            ///< of its file
  bool is_last = false;             ///< of its file
  bool is_compressed = false;       ///< its file; whether that is damaged shows at its end
  char line_break = '\n';           ///< by which lines are counted
  std::uint64_t skipped_lines = 0;  ///< of its file, before it, which are in no chunk

  [[nodiscard]] std::string_view text() const noexcept { return {memory.get(), bytes}; }
  /// What comes behind it.
  [[nodiscard]] InputPosition end() const;
};

class ChunkReader {
 public:
  /// Text and rows stay in a processor's cache, and threads wait for each other seldom.
  static constexpr std::size_t kChunkBytes = std::size_t{512} << 10U;
  /// Of a first chunk, before it is known how long its rows become.
  static constexpr std::size_t kFirstBytes = std::size_t{32} << 10U;
  /// When the first chunk is to say what the schema is.
  static constexpr std::size_t kSampleBytes = std::size_t{2} << 20U;

  /// Opens a file by its number.
  using Open = std::function<std::unique_ptr<ByteSource>(std::size_t file)>;

  /// `taken` counts the bytes read from the files, compressed or not. `chunk_bytes`: about as many,
  /// or as many as a record has if that is more. `open`: by ByteSource::open() if it is empty.
  ChunkReader(std::vector<std::string> paths, const Dialect& dialect,
              std::atomic<std::uint64_t>& taken, std::size_t chunk_bytes = kChunkBytes,
              Open open = {});

  /// Of chunks that are read once limit_chunk_bytes() allows it; before next().
  void set_chunk_bytes(std::size_t bytes) noexcept { chunk_bytes_ = bytes; }
  /// Those that are read from now on have no more. At first: what the constructor was told. From
  /// any thread.
  void limit_chunk_bytes(std::size_t bytes) noexcept { chunk_bytes_max_ = bytes; }
  /// The next chunk, at least one of each file; nothing behind the last one.
  [[nodiscard]] std::optional<Chunk> next();
  /// The first chunk, which next() returns as well; nothing after that.
  [[nodiscard]] const Chunk* look_ahead();
  /// Makes the first chunk twice as long; false if it is all of its file. After look_ahead().
  bool look_further_ahead();
  /// Leaves out what stands before the position, but for a first chunk of its file, if it is not at
  /// the beginning of that: a reader of headers finds it. The position is the end() of a chunk
  /// of the same files, if it is in the first one, by a reader made with the same `chunk_bytes`;
  /// before next(). Error invalid_argument if it cannot be.
  void go_on_at(const InputPosition& position);

  /// What the files that were read have so far, decompressed. From any thread.
  [[nodiscard]] std::uint64_t text_bytes() const noexcept { return text_bytes_; }
  [[nodiscard]] const std::vector<std::string>& paths() const noexcept { return paths_; }

 private:
  [[nodiscard]] Chunk begin_file();
  /// No further than byte `stop` of the file, if a record ends before it or there.
  [[nodiscard]] std::optional<Chunk> read_next(
      std::uint64_t stop = std::numeric_limits<std::uint64_t>::max());
  void skip_to(const InputPosition& position);
  void cut(Chunk& chunk, std::uint64_t stop);
  void fill(Chunk& chunk, std::size_t bytes);
  void skip_mark(Chunk& chunk);
  /// Bytes of the whole records that a text begins with.
  [[nodiscard]] std::size_t whole_records(std::string_view text) const;
  /// Whether a text of whole records and lines that are skipped has none but those.
  [[nodiscard]] bool is_skipped(std::string_view text) const;

  std::vector<std::string> paths_;
  Dialect dialect_;
  std::atomic<std::uint64_t>& taken_;
  std::atomic<std::uint64_t> text_bytes_ = 0;
  std::size_t chunk_bytes_;
  std::atomic<std::size_t> chunk_bytes_max_;
  std::optional<Chunk> ahead_{};
  Open open_;
  std::unique_ptr<ByteSource> source_{};
  std::size_t file_ = 0;     ///< the next to be opened
  std::uint64_t byte_ = 0;   ///< of the next chunk in its file
  std::uint64_t line_ = 1;   ///< of the next chunk in its file
  std::string left_over_{};  ///< the beginning of a record
};

}  // namespace palimpsest::load
