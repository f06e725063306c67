#include "tools/load/chunk_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "palimpsest/error.h"

#include "tools/load/record_reader.h"
#include "tools/load/special_bytes.h"

namespace palimpsest::load {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kLittleEndianMark = "\xFF\xFE";
constexpr std::string_view kBigEndianMark = "\xFE\xFF";

}  // namespace

ChunkReader::ChunkReader(std::vector<std::string> paths, const Dialect& dialect,
                         std::atomic<std::uint64_t>& taken, std::size_t chunk_bytes, Open open)
    : paths_(std::move(paths)),
      dialect_(dialect),
      taken_(taken),
      chunk_bytes_(chunk_bytes),
      chunk_bytes_max_(chunk_bytes),
      open_(std::move(open)) {
  if (!open_) {
    open_ = [this](std::size_t file) { return ByteSource::open(paths_[file], taken_); };
  }
}

const Chunk* ChunkReader::look_ahead() {
  if (!ahead_) {
    ahead_ = read_next();
  }
  return ahead_ ? &*ahead_ : nullptr;
}

bool ChunkReader::look_further_ahead() {
  if (ahead_->is_last) {
    return false;
  }
  Chunk chunk{.file = ahead_->file,
              .is_first = true,
              .line_break = ahead_->line_break,
              .skipped_lines = ahead_->skipped_lines};
  left_over_.insert(0, ahead_->text());
  byte_ = ahead_->byte;
  line_ = ahead_->line;
  chunk_bytes_ = 2 * left_over_.size();
  limit_chunk_bytes(chunk_bytes_);
  cut(chunk, std::numeric_limits<std::uint64_t>::max());
  chunk.is_compressed = source_->is_compressed();
  if (chunk.is_last) {
    source_.reset();
  }
  ahead_ = std::move(chunk);
  return true;
}

std::optional<Chunk> ChunkReader::next() {
  return ahead_ ? std::exchange(ahead_, std::nullopt) : read_next();
}

InputPosition Chunk::end() const {
  if (is_last) {
    return {.file = file + 1};
  }
  return {.file = file, .byte = byte + bytes, .line = line + count_of(text(), line_break)};
}

void ChunkReader::go_on_at(const InputPosition& position) {
  if (position.file != 0) {
    ahead_.reset();
    source_.reset();
    left_over_.clear();
    text_bytes_ = 0;
    taken_ = 0;
    for (file_ = 0; file_ < std::min<std::uint64_t>(position.file, paths_.size()); ++file_) {
      taken_ += file_bytes(paths_[file_]).value_or(0);
    }
  }
  if (position.byte != 0) {
    if (!ahead_) {  // the chunks that the position is from may have been shorter
      ahead_ = read_next(position.byte);
    }
    skip_to(position);
  }
}

/// From behind the first chunk of its file.
void ChunkReader::skip_to(const InputPosition& position) {
  if (position.byte < byte_ || source_ == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the load cannot go on at byte {} of file {}", position.byte,
                            position.file + 1));
  }
  const std::uint64_t bytes = position.byte - byte_;
  const std::size_t known = std::min<std::uint64_t>(bytes, left_over_.size());
  left_over_.erase(0, known);
  source_->skip(bytes - known);
  text_bytes_ += bytes - known;
  byte_ = position.byte;
  line_ = position.line;
}

Chunk ChunkReader::begin_file() {
  source_ = open_(file_);
  ++file_;
  byte_ = source_->skipped().bytes;
  line_ = 1 + source_->skipped().lines;
  return {.is_first = true};
}

std::optional<Chunk> ChunkReader::read_next(std::uint64_t stop) {
  if (source_ == nullptr && file_ == paths_.size()) {
    return std::nullopt;
  }
  Chunk chunk = source_ == nullptr ? begin_file() : Chunk();
  chunk.file = file_ - 1;
  chunk.line_break = dialect_.line_end == '\r' ? '\r' : '\n';
  cut(chunk, stop);
  while (chunk.is_first && !chunk.is_last && is_skipped(chunk.text())) {
    // Not made longer: a file may have more of such lines than there is memory.
    chunk = {.file = chunk.file,
             .is_first = true,
             .line_break = chunk.line_break,
             .skipped_lines = line_ - 1 - source_->skipped().lines};
    cut(chunk, stop);
  }
  chunk.is_compressed = source_->is_compressed();
  if (chunk.is_last) {
    source_.reset();
  }
  return chunk;
}

/// Fills an empty chunk with whole records and lines that are skipped.
void ChunkReader::cut(Chunk& chunk, std::uint64_t stop) {
  std::size_t whole = 0;
  for (std::size_t wanted = std::min(chunk_bytes_, chunk_bytes_max_.load()); whole == 0;
       wanted *= 2) {
    const std::uint64_t rest = stop - byte_;
    fill(chunk, chunk.bytes < rest ? std::min<std::uint64_t>(wanted, rest) : wanted);
    if (chunk.is_last) {
      whole = chunk.bytes;
      break;
    }
    whole = whole_records(chunk.text());
    if (whole == 0 && chunk.bytes >= kRecordBytesMax) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}:{}: a record of more than {} bytes; does a quote not end?",
                              paths_[chunk.file], line_, kRecordBytesMax));
    }
  }
  left_over_.assign(chunk.memory.get() + whole, chunk.bytes - whole);
  chunk.bytes = whole;
  std::memset(chunk.memory.get() + whole, 0, Chunk::kPaddingBytes);
  chunk.byte = byte_;
  chunk.line = line_;
  byte_ += whole;
  line_ += count_of(chunk.text(), chunk.line_break);
}

/// Makes the chunk longer, to `bytes`, by what is left over and what the file has.
void ChunkReader::fill(Chunk& chunk, std::size_t bytes) {
  const std::size_t size = std::max(bytes, chunk.bytes + left_over_.size());
  auto memory = std::make_unique_for_overwrite<char[]>(size + Chunk::kPaddingBytes);
  std::copy_n(chunk.memory.get(), chunk.bytes, memory.get());
  std::ranges::copy(left_over_, memory.get() + chunk.bytes);
  chunk.bytes += left_over_.size();
  left_over_.clear();
  const bool is_begin_of_file = byte_ == 0 && chunk.bytes == 0;
  const std::size_t room = size - chunk.bytes;
  const std::size_t read = source_->read({memory.get() + chunk.bytes, room});
  chunk.memory = std::move(memory);
  chunk.bytes += read;
  text_bytes_ += read;
  chunk.is_last = read < room;
  if (is_begin_of_file) {
    skip_mark(chunk);
  }
}

void ChunkReader::skip_mark(Chunk& chunk) {
  const std::string_view text = chunk.text();
  if (text.starts_with(kLittleEndianMark) || text.starts_with(kBigEndianMark)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: the file is in UTF-16; UTF-8 is expected (iconv changes it)",
                            paths_[chunk.file]));
  }
  if (text.starts_with(kByteOrderMark)) {
    chunk.bytes -= kByteOrderMark.size();
    std::memmove(chunk.memory.get(), chunk.memory.get() + kByteOrderMark.size(), chunk.bytes);
    byte_ += kByteOrderMark.size();
  }
}

std::size_t ChunkReader::whole_records(std::string_view text) const {
  const bool has_quotes = dialect_.quote && text.find(*dialect_.quote) != std::string_view::npos;
  if (dialect_.newline_always_ends() || (!has_quotes && !dialect_.escape)) {
    return text.rfind(dialect_.line_end) + 1;  // npos + 1 is 0
  }
  RecordReader records(dialect_, text, false, RecordReader::Reads::ends);
  RawRecord record;
  while (records.next(record)) {
  }
  return records.position();
}

bool ChunkReader::is_skipped(std::string_view text) const {
  if (!dialect_.skips_lines()) {
    return false;
  }
  RecordReader records(dialect_, text, false, RecordReader::Reads::ends);
  RawRecord record;
  return !records.next(record);
}

}  // namespace palimpsest::load
