// Files cut into chunks: the same records for any size of the chunks; compressed files; what is
// refused.
#include "tools/load/chunk_reader.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/load/compressed.h"
#include "tests/load/parsed.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tools/load/record_reader.h"
#include "tools/load/special_bytes.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

using palimpsest::test::error_of;
using test::gzip;
using test::TextFile;
using test::zstd;

std::string read_all(const std::vector<std::string>& paths, std::size_t chunk_bytes = 64) {
  std::atomic<std::uint64_t> taken = 0;
  ChunkReader reader(paths, Dialect::of(Format::csv), taken, chunk_bytes);
  std::string text;
  while (const auto chunk = reader.next()) {
    text += chunk->text();
    for (std::size_t i = 0; i < Chunk::kPaddingBytes; ++i) {
      EXPECT_EQ(chunk->memory[chunk->bytes + i], '\0');
    }
  }
  return text;
}

std::string many_lines() {
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += std::to_string(i) + ",\"line\n" + std::to_string(i * 7) + "\"\n";
  }
  return text;
}

TEST(ChunkReaderTest, GoesOnBehindAnyChunk) {
  const TextFile first("\xEF\xBB\xBF" + many_lines().substr(0, 3'000));
  const TextFile empty("");
  const TextFile second(gzip(many_lines().substr(0, 2'000)));
  const std::vector<std::string> paths{first.path(), empty.path(), second.path()};
  std::vector<InputPosition> positions{{}};
  std::vector<std::string> texts;
  std::atomic<std::uint64_t> taken = 0;
  ChunkReader whole(paths, Dialect::of(Format::csv), taken, 300);
  while (const auto chunk = whole.next()) {
    positions.push_back(chunk->end());
    texts.emplace_back(chunk->text());
  }
  ASSERT_GT(texts.size(), 12U);
  EXPECT_EQ(positions.back().file, paths.size());
  for (std::size_t from = 0; from < positions.size(); ++from) {
    std::atomic<std::uint64_t> again = 0;
    ChunkReader reader(paths, Dialect::of(Format::csv), again, 300);
    reader.go_on_at(positions[from]);
    if (positions[from].byte != 0) {
      const auto header = reader.next();
      ASSERT_TRUE(header);
      EXPECT_TRUE(header->is_first);
      EXPECT_EQ(header->file, positions[from].file);
    }
    std::size_t number = from;
    for (; const auto chunk = reader.next(); ++number) {
      EXPECT_EQ(chunk->text(), texts[number]);
      EXPECT_EQ(chunk->byte, positions[number].file == chunk->file && positions[number].byte != 0
                                 ? positions[number].byte
                                 : chunk->byte);
      EXPECT_EQ(chunk->end().line, positions[number + 1].line);
    }
    EXPECT_EQ(number, texts.size());
    EXPECT_EQ(again, taken) << "what is left out counts as read";
  }
}

std::string comments(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    text += "# it is \"no, record\n";
  }
  return text;
}

Dialect skipping(Dialect dialect) {
  dialect.comment = "#";
  dialect.skip_blank = true;
  return dialect;
}

/// The first chunk, and those behind it, of a file that begins with a mark and skipped lines.
void check_first_chunk(const Dialect& dialect, const std::string& path, const std::string& text,
                       std::size_t chunk_bytes) {
  std::atomic<std::uint64_t> taken = 0;
  ChunkReader reader({path}, dialect, taken, chunk_bytes);
  auto chunk = reader.next();
  ASSERT_TRUE(chunk);
  EXPECT_TRUE(chunk->is_first);
  ASSERT_LT(chunk->byte, text.size());
  const std::string before = text.substr(0, chunk->byte);
  const std::string chunks = text.substr(chunk->byte);
  EXPECT_EQ(chunk->skipped_lines, count_of(before, '\n'));
  EXPECT_LE(chunk->bytes, std::max<std::size_t>(2 * chunk_bytes, 100)) << "lines are not kept";
  EXPECT_TRUE(chunks.starts_with(chunk->text()));
  std::uint64_t line = chunk->line + count_of(chunk->text(), '\n');
  std::size_t bytes = chunk->bytes;
  EXPECT_THAT(take_header(*chunk, dialect, "f"), ::testing::ElementsAre("header"));
  EXPECT_EQ(chunk->line, count_of(text.substr(0, text.find("header")), '\n') + 2);
  EXPECT_EQ(chunk->skipped_lines + 2, chunk->line);
  while ((chunk = reader.next())) {
    EXPECT_FALSE(chunk->is_first);
    EXPECT_EQ(chunk->text(), chunks.substr(bytes, chunk->bytes));
    EXPECT_EQ(chunk->line, line);
    EXPECT_EQ(chunk->skipped_lines, 0U);
    line += count_of(chunk->text(), '\n');
    bytes += chunk->bytes;
  }
  EXPECT_EQ(bytes, chunks.size());
}

TEST(ChunkReaderTest, HeadersBehindSkippedLines) {
  const std::string text = "\xEF\xBB\xBF" + comments(9'000) + "\n\r\nheader\n" + comments(3'000) +
                           "row\n" + comments(300);
  Dialect escaping = Dialect::of(Format::csv);
  escaping.escape = '\\';
  Dialect without_quotes = Dialect::of(Format::csv);
  without_quotes.quote.reset();
  for (const std::string& bytes : {text, gzip(text), zstd(text)}) {
    const TextFile file(bytes);
    for (const Dialect& dialect : {Dialect::of(Format::csv), escaping, without_quotes,
                                   Dialect::of(Format::tsv), Dialect::of(Format::tbl)}) {
      for (const std::size_t chunk_bytes : {8U, 100U, 4U << 10U, 512U << 10U}) {
        check_first_chunk(skipping(dialect), file.path(), text, chunk_bytes);
      }
    }
  }
}

TEST(ChunkReaderTest, NothingButSkippedLines) {
  for (const std::string& text : {std::string(), comments(300), comments(290) + "\n#"}) {
    const TextFile file(text);
    for (const std::size_t chunk_bytes : {8UL, 100UL, text.size() + 1}) {
      std::atomic<std::uint64_t> taken = 0;
      ChunkReader reader({file.path()}, skipping(Dialect::of(Format::csv)), taken, chunk_bytes);
      const auto chunk = reader.next();
      ASSERT_TRUE(chunk);
      EXPECT_TRUE(chunk->is_first && chunk->is_last);
      EXPECT_EQ(chunk->skipped_lines + count_of(chunk->text(), '\n'), count_of(text, '\n'));
      EXPECT_FALSE(reader.next());
    }
  }
}

std::string rest_of(ChunkReader& reader) {
  std::string text;
  while (const auto chunk = reader.next()) {
    text += chunk->text();
  }
  return text;
}

/// Reads the first file and so many chunks of the second: another reader, with the initial chunk
/// length of a load, can read the rest.
void check_going_on(const std::vector<std::string>& paths, std::size_t sample_bytes,
                    std::size_t limit, std::size_t chunks) {
  Dialect dialect = Dialect::of(Format::csv);
  dialect.comment = "#";
  std::atomic<std::uint64_t> taken = 0;
  ChunkReader before(paths, dialect, taken, sample_bytes);
  ASSERT_NE(before.look_ahead(), nullptr);
  before.set_chunk_bytes(ChunkReader::kChunkBytes);
  before.limit_chunk_bytes(limit);
  InputPosition position;
  while (chunks != 0) {
    const auto chunk = before.next();
    ASSERT_TRUE(chunk);
    position = chunk->end();
    chunks -= chunk->file == 1 ? std::size_t{1} : 0;
  }
  ASSERT_EQ(position.file, 1U);
  ChunkReader after(paths, dialect, taken, sample_bytes);
  ASSERT_NE(after.look_ahead(), nullptr);
  after.set_chunk_bytes(ChunkReader::kChunkBytes);
  after.go_on_at(position);
  const auto first = after.next();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->is_first);
  RecordReader records(dialect, first->text(), first->is_last, RecordReader::Reads::ends);
  RawRecord header;
  EXPECT_TRUE(records.next(header));
  EXPECT_LE(first->byte + first->bytes, position.byte);
  EXPECT_EQ(rest_of(after), rest_of(before)) << "from byte " << position.byte;
}

TEST(ChunkReaderTest, GoesOnBehindShorterChunks) {
  std::string lines;
  while (lines.size() < 400'000) {
    lines += "a line of a file,\n\n";
  }
  const std::string mark = "\xEF\xBB\xBF";
  std::string with_long_record = mark + "\"";
  with_long_record.append(39'000, '\n').append("\",x\n\n\n\n").append(lines);
  const std::string with_comments = mark + comments(70'000) + lines;
  const TextFile first("a,b\n");
  for (const std::string& text : {lines, mark + lines, with_long_record, with_comments}) {
    for (const std::string& bytes : {text, gzip(text), zstd(text)}) {
      const TextFile second(bytes);
      for (const std::size_t limit : {4U << 10U, 19'504U, 64U << 10U}) {
        for (const std::size_t chunks : {1U, 2U, 3U}) {
          check_going_on({first.path(), second.path()}, ChunkReader::kSampleBytes, limit, chunks);
          check_going_on({first.path(), second.path()}, ChunkReader::kFirstBytes, limit, chunks);
        }
      }
    }
  }
}

TEST(ChunkReaderTest, FilesInOrder) {
  const TextFile first("a,b\nc,d");
  const TextFile empty("");
  const TextFile second("e\n");
  std::atomic<std::uint64_t> taken = 0;
  ChunkReader reader({first.path(), empty.path(), second.path()}, Dialect::of(Format::csv), taken);
  ASSERT_NE(reader.look_ahead(), nullptr);
  for (const std::string_view expected : {"a,b\nc,d", "", "e\n"}) {
    const auto chunk = reader.next();
    ASSERT_TRUE(chunk);
    EXPECT_EQ(chunk->text(), expected);
    EXPECT_TRUE(chunk->is_first && chunk->is_last);
    EXPECT_EQ(chunk->line, 1U);
    EXPECT_EQ(chunk->byte, 0U);
  }
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(taken, 9U);
}

TEST(ChunkReaderTest, PlacesOfChunks) {
  const TextFile file(
      "\xEF\xBB\xBF"
      "aaaa\n\"b\nb\"\ncccc\n");
  std::atomic<std::uint64_t> taken = 0;
  ChunkReader reader({file.path()}, Dialect::of(Format::csv), taken, 8);
  std::vector<std::uint64_t> places;
  while (const auto chunk = reader.next()) {
    places.push_back(chunk->line);
    places.push_back(chunk->byte);
    EXPECT_EQ(chunk->is_first, chunk->line == 1);
  }
  EXPECT_THAT(places, ::testing::ElementsAre(1, 3, 2, 8, 4, 14));
}

TEST(ChunkReaderTest, Compressed) {
  const std::string text = many_lines();
  const TextFile gzipped(gzip(text) + gzip("end\n"));
  const TextFile zstded(zstd(text) + zstd("end\n"));
  EXPECT_EQ(read_all({gzipped.path()}, 10'000), text + "end\n");
  EXPECT_EQ(read_all({zstded.path()}, 10'000), text + "end\n");
  EXPECT_EQ(read_all({TextFile(gzip("")).path()}), "");
}

TEST(ChunkReaderTest, DamagedFiles) {
  const std::string text = many_lines();
  for (const std::string& whole : {gzip(text), zstd(text)}) {
    const TextFile cut(whole.substr(0, whole.size() - 1));
    EXPECT_EQ(error_of([&] { read_all({cut.path()}); }), ErrorCode::corruption);
    std::string flipped = whole;
    flipped[flipped.size() / 2] ^= 0x10;
    const TextFile damaged(flipped);
    EXPECT_EQ(error_of([&] { read_all({damaged.path()}); }, damaged.path() + ": the "),
              ErrorCode::corruption);
    EXPECT_EQ(error_of([&] { read_all({damaged.path()}); }, "noticed at byte "),
              ErrorCode::corruption);
  }
  for (const char* const name : {"1.csv.gz", "1.csv.zst"}) {
    for (const std::string& other : {text, std::string()}) {
      const TextFile damaged(other, name);
      EXPECT_EQ(error_of([&] { read_all({damaged.path()}); }, "does not begin as"),
                ErrorCode::corruption);
    }
  }
  EXPECT_EQ(error_of([] { read_all({"/nowhere/at/all"}); }), ErrorCode::not_found);
  EXPECT_EQ(error_of([] {
              read_all({TextFile("\xFF\xFE"
                                 "a")
                            .path()});
            }),
            ErrorCode::invalid_argument);
}

/// Its records, or why its header is invalid.
std::vector<std::string> outcome_of(const Dialect& dialect, std::string_view text,
                                    std::size_t chunk_bytes, Header header) {
  const TableText table = parse_schema("a varchar primary key, b varchar null", "t");
  try {
    return test::parsed(table, dialect, text, chunk_bytes, header);
  } catch (const UsageError& error) {
    return {error.what()};
  }
}

TEST(ChunkReaderTest, CutsWhereRecordsEnd) {
  Random random(palimpsest::test::seed());
  constexpr std::string_view kBytes = "ab,#\"\"\"\n\n";
  const Dialect csv = Dialect::of(Format::csv);
  for (int i = 0; i < palimpsest::test::repeats(300); ++i) {
    std::string text(random.below(300), ' ');
    for (char& byte : text) {
      byte = kBytes[random.below(kBytes.size())];
    }
    const std::size_t chunk_bytes = 1 + random.below(64);
    for (const Dialect& dialect : {csv, skipping(csv)}) {
      for (const Header header : {Header::off, Header::on}) {
        EXPECT_EQ(outcome_of(dialect, text, chunk_bytes, header),
                  outcome_of(dialect, text, text.size() + 1, header))
            << in_quotes(text);
      }
    }
  }
}

}  // namespace
}  // namespace palimpsest::load
