// Files cut into chunks: the same records whatever the size of the chunks; compressed files;
// what is refused.
#include "tools/load/chunk_reader.h"

#include <gmock/gmock.h>
#include <zlib.h>
#include <zstd.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "tests/load/parsed.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace palimpsest::load {
namespace {

using palimpsest::test::error_of;
using test::TextFile;

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

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string from(text);
  std::string into(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(from.data());
  stream.avail_in = static_cast<uInt>(from.size());
  stream.next_out = reinterpret_cast<Bytef*>(into.data());
  stream.avail_out = static_cast<uInt>(into.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  into.resize(stream.total_out);
  deflateEnd(&stream);
  return into;
}

/// With a checksum, as the zstd program writes it.
std::string zstd(std::string_view text) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string into(ZSTD_compressBound(text.size()), '\0');
  into.resize(ZSTD_compress2(context.get(), into.data(), into.size(), text.data(), text.size()));
  return into;
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

std::string rest_of(ChunkReader& reader) {
  std::string text;
  while (const auto chunk = reader.next()) {
    text += chunk->text();
  }
  return text;
}

/// Reads the first file and so many chunks of the second: what is left can be read by another
/// reader, whose chunks are as long as a load's are at first.
void check_going_on(const std::vector<std::string>& paths, std::size_t sample_bytes,
                    std::size_t limit, std::size_t chunks) {
  std::atomic<std::uint64_t> taken = 0;
  ChunkReader before(paths, Dialect::of(Format::csv), taken, sample_bytes);
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
  ChunkReader after(paths, Dialect::of(Format::csv), taken, sample_bytes);
  ASSERT_NE(after.look_ahead(), nullptr);
  after.set_chunk_bytes(ChunkReader::kChunkBytes);
  after.go_on_at(position);
  const auto first = after.next();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->is_first);
  EXPECT_GT(first->bytes, 0U) << "a header may be in it";
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
  const TextFile first("a,b\n");
  for (const std::string& text : {lines, mark + lines, with_long_record}) {
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
    EXPECT_EQ(error_of([&] { read_all({damaged.path()}); }), ErrorCode::corruption);
  }
  EXPECT_EQ(error_of([] { read_all({"/nowhere/at/all"}); }), ErrorCode::not_found);
  EXPECT_EQ(error_of([] {
              read_all({TextFile("\xFF\xFE"
                                 "a")
                            .path()});
            }),
            ErrorCode::invalid_argument);
}

TEST(ChunkReaderTest, CutsWhereRecordsEnd) {
  Random random(palimpsest::test::seed());
  constexpr std::string_view kBytes = "ab,\"\"\"\n\n";
  const TableText table = parse_schema("a varchar primary key, b varchar null", "t");
  for (int i = 0; i < 300; ++i) {
    std::string text(random.below(300), ' ');
    for (char& byte : text) {
      byte = kBytes[random.below(kBytes.size())];
    }
    const auto whole = test::parsed(table, Dialect::of(Format::csv), text);
    const std::size_t chunk_bytes = 1 + random.below(64);
    EXPECT_EQ(test::parsed(table, Dialect::of(Format::csv), text, chunk_bytes), whole)
        << in_quotes(text);
  }
}

}  // namespace
}  // namespace palimpsest::load
