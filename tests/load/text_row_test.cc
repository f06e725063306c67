// Rows made from texts equal rows made of Values, and so do the faults of invalid ones.
#include "tools/load/text_row.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/format/key_codec.h"
#include "engine/format/row_layout.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tools/load/row_parser.h"
#include "tools/load/schema_text.h"
#include "tools/load/value_text.h"

namespace palimpsest::load {
namespace {

enum class By : std::uint8_t { texts = 1, values };

/// Rows in a table's encoding.
class Encoder : public RowCoder {
 public:
  Encoder(const TableSchema& table, By by) : table_(table), rows_(table), keys_(table), by_(by) {}

  EncodedRow row_of(std::span<const Value> values) override {
    EXPECT_EQ(by_, By::values);
    rows_.encode(values, row_);
    return EncodedRow::of(keys_.encode_row(values, key_), row_);
  }
  std::optional<RowWriter> writer() const override {
    return by_ == By::texts ? RowWriter::of(table_) : std::nullopt;
  }

 private:
  const TableSchema& table_;
  engine::RowLayout rows_;
  engine::KeyCodec keys_;
  By by_;
  engine::KeyMemory key_{};
  std::string row_{};
};

/// The result of each record.
std::vector<std::string> parsed(const TableSchema& table, const Dialect& dialect,
                                const ColumnPlan& plan, std::string_view text, By by) {
  Chunk chunk{.bytes = text.size(), .is_first = true, .is_last = true};
  chunk.memory = std::make_unique<char[]>(text.size() + Chunk::kPaddingBytes);
  std::ranges::copy(text, chunk.memory.get());
  const auto parser = RowParser::make(table, dialect, std::make_unique<Encoder>(table, by));
  const RowBatch batch =
      parser->parse({.chunk = std::move(chunk), .plan = std::make_shared<const ColumnPlan>(plan)});
  std::vector<std::string> records;
  for (const BatchRecord& record : batch.records) {
    if (record.fault != BatchRecord::kNone) {
      records.push_back(batch.faults[record.fault].text());
    } else {
      const EncodedRow row = batch.row(record);
      records.push_back(fmt::format("\"{} bytes of key: {}{}", row.key.size(), row.key, row.bytes));
    }
  }
  return records;
}

class TextRowTest : public ::testing::Test {
 protected:
  /// A text for a column of any type, often of this one.
  std::string field(const DataType& type) {
    switch (random_.below(12)) {
      case 0: return "";
      case 1: return "\"\"";
      case 2: return some_of("0123456789.-+e \"", 12);
      case 3: return "\"" + some_of("ab 1,\n\\", 30) + "\"";
      case 4: return "\"a \"\"b\"\"\"";
      default: break;
    }
    switch (type.type) {
      case ColumnType::date:
        return fmt::format("{:04}-{:02}-{:02}", random_.below(10'000), random_.below(14),
                           random_.below(33));
      case ColumnType::timestamp: return "2024-02-29 12:34:56." + some_of("0123456789", 7);
      case ColumnType::character:
      case ColumnType::varchar: return some_of("abc xyz", 30);
      case ColumnType::bytes: return "\\x" + some_of("0123456789abcdef", 6);
      case ColumnType::boolean: return random_.below(2) == 0 ? "true" : "f";
      default: return number();
    }
  }

  ColumnPlan any_plan(const TableSchema& table) {
    ColumnPlan plan = plan_of(table, {});
    if (random_.below(2) == 0) {
      std::swap(plan.columns[random_.below(plan.columns.size())], plan.columns.front());
    }
    if (table.columns[plan.columns.back()].type.nullable && random_.below(3) == 0) {
      plan.absent.push_back(std::exchange(plan.columns.back(), ColumnPlan::kIgnored));
    }
    return plan;
  }

  /// Without quotes.
  static bool is_value(const DataType& type, std::string_view text) {
    TextArena arena;
    Value value;
    return !parse_value(type, text, BytesText::hex, arena, value);
  }

  std::string some_of(std::string_view bytes, std::uint64_t size_max) {
    std::string text;
    for (std::uint64_t left = random_.below(size_max + 1); left > 0; --left) {
      text += bytes[random_.below(bytes.size())];
    }
    return text;
  }

  Random random_{palimpsest::test::seed()};

 private:
  std::string number() {
    std::string text = random_.below(3) == 0 ? "-" : "";
    text += some_of("0123456789", random_.below(4) == 0 ? 20 : 5);
    return random_.below(2) == 0 ? text : text + "." + some_of("0123456789", 3);
  }
};

TEST_F(TextRowTest, AreTheSameAsThoseOfValues) {
  const TableText table = parse_schema(
      "i int32 primary key, a int8, b int16 null, c int64, d decimal(12,2), e decimal(38,9) null, "
      "f decimal(18,18), g date, h date null, j timestamp null, k char(1), l char(7) null, "
      "m char(25), n char(90), o varchar(5), p varchar null, q bytes null, r double null, "
      "s float null, t bool null, u char(10), v decimal(18), w varchar(20) null",
      "t");
  std::uint64_t rows = 0;
  const int rounds = palimpsest::test::repeats(300);
  for (int round = 0; round < rounds; ++round) {
    Dialect dialect = Dialect::of(round % 3 == 0 ? Format::tsv : Format::csv);
    if (round % 5 == 0) {
      dialect.null_rule = NullRule::text;
      dialect.null_text = "a";
    }
    const ColumnPlan plan = any_plan(table.table);
    std::string text;
    for (int record = 0; record < 50; ++record) {
      // Most fields are valid, or no record would be without a fault.
      for (std::size_t i = 0; i < plan.columns.size(); ++i) {
        const std::size_t column = plan.columns[i] == ColumnPlan::kIgnored ? 22 : plan.columns[i];
        const DataType& type = table.table.columns[column].type;
        std::string one = field(type);
        for (int tries = 0; tries < 100 && random_.below(40) != 0 && !is_value(type, one);
             ++tries) {
          one = field(type);
        }
        text += one;
        text += i + 1 < plan.columns.size() ? dialect.delimiter : '\n';
      }
    }
    const auto by_texts = parsed(table.table, dialect, plan, text, By::texts);
    ASSERT_EQ(by_texts, parsed(table.table, dialect, plan, text, By::values)) << text;
    rows += static_cast<std::uint64_t>(std::ranges::count_if(
        by_texts, [](const std::string& record) { return record.starts_with('"'); }));
  }
  EXPECT_GT(3 * rows, 10U * static_cast<unsigned>(rounds)) << "of fifty a round";
}

}  // namespace
}  // namespace palimpsest::load
