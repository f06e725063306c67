// Parsing with threads: the order of the input, errors in that order, stopping early.
#include "tools/load/parse_pipeline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "tests/load/parsed.h"
#include "tests/support/error_of.h"

namespace palimpsest::load {
namespace {

using palimpsest::test::error_of;
using test::TextFile;

class ParsePipelineTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kRecords = 20'000;

  static std::string numbers() {
    std::string text;
    for (std::int64_t i = 0; i < kRecords; ++i) {
      text += std::to_string(i) + "\n";
    }
    return text;
  }

  TableText table_ = parse_schema("n int64 primary key", "t");
  Dialect dialect_ = Dialect::of(Format::csv);
  ColumnPlanner planner_{table_.table, dialect_, Header::off, {}};
  RowCoders coders_ = [] { return std::make_unique<test::RowTexts>(); };
  std::atomic<std::uint64_t> taken_ = 0;
};

TEST_F(ParsePipelineTest, InOrder) {
  const TextFile file(numbers());
  for (const std::size_t threads : {1U, 2U, 5U}) {
    ChunkReader reader({file.path(), file.path()}, dialect_, taken_, 500);
    ParsePipeline pipeline(reader, planner_, table_.table, dialect_, {.threads = threads}, coders_);
    std::int64_t next = 0;
    while (const auto batch = pipeline.next()) {
      for (const BatchRecord& record : batch->records) {
        ASSERT_EQ(batch->row(record).bytes, fmt::format("({})", next % kRecords));
        ASSERT_EQ(record.line, static_cast<std::uint64_t>(next % kRecords) + 1);
        ++next;
      }
    }
    EXPECT_EQ(next, 2 * kRecords);
    EXPECT_FALSE(pipeline.next());
  }
}

TEST_F(ParsePipelineTest, LittleMemoryIsEnough) {
  const TextFile file(numbers());
  ChunkReader reader({file.path()}, dialect_, taken_, 500);
  ParsePipeline pipeline(reader, planner_, table_.table, dialect_,
                         {.threads = 4, .memory_bytes = 1}, coders_);
  std::int64_t records = 0;
  while (const auto batch = pipeline.next()) {
    records += static_cast<std::int64_t>(batch->records.size());
  }
  EXPECT_EQ(records, kRecords);
}

/// Rows that take far more than their text.
class LongRows : public RowCoder {
 public:
  EncodedRow row_of(std::span<const Value>) override { return EncodedRow::of("", row_); }

 private:
  const std::string row_ = std::string(1000, 'x');
};

TEST_F(ParsePipelineTest, RowsThatAreLongMakeSmallerChunks) {
  const TextFile file(numbers());
  ChunkReader reader({file.path()}, dialect_, taken_, ChunkReader::kFirstBytes);
  reader.set_chunk_bytes(ChunkReader::kChunkBytes);
  ParsePipeline pipeline(reader, planner_, table_.table, dialect_, {.threads = 1},
                         [] { return std::make_unique<LongRows>(); });
  auto batch = pipeline.next();
  ASSERT_TRUE(batch);
  std::size_t records = batch->records.size();
  EXPECT_GT(batch->rows.size(), std::size_t{4} << 20U);
  while ((batch = pipeline.next())) {
    records += batch->records.size();
    EXPECT_LT(batch->rows.size(), std::size_t{2} << 20U);
  }
  EXPECT_EQ(records, static_cast<std::size_t>(kRecords));
}

TEST_F(ParsePipelineTest, ErrorsComeInTheirTurn) {
  const TextFile file(numbers());
  ChunkReader reader({file.path(), "/nowhere/at/all"}, dialect_, taken_, 500);
  ParsePipeline pipeline(reader, planner_, table_.table, dialect_, {.threads = 3}, coders_);
  std::int64_t records = 0;
  EXPECT_EQ(error_of([&] {
              while (const auto batch = pipeline.next()) {
                records += static_cast<std::int64_t>(batch->records.size());
              }
            }),
            ErrorCode::not_found);
  EXPECT_EQ(records, kRecords);
}

TEST_F(ParsePipelineTest, MayBeLeftEarly) {
  const TextFile file(numbers());
  for (int batches = 0; batches < 20; ++batches) {
    ChunkReader reader({file.path()}, dialect_, taken_, 500);
    ParsePipeline pipeline(reader, planner_, table_.table, dialect_, {.threads = 3}, coders_);
    for (int i = 0; i < batches; ++i) {
      EXPECT_TRUE(pipeline.next());
    }
  }
}

}  // namespace
}  // namespace palimpsest::load
