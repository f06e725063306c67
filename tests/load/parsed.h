// Runs text through a parser, in chunks of any size, for tests of readers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temporary_directory.h"
#include "tools/load/chunk_reader.h"
#include "tools/load/column_plan.h"
#include "tools/load/row_parser.h"
#include "tools/load/schema_text.h"

namespace palimpsest::load::test {

/// A file with that text, as long as the object lives.
class TextFile {
 public:
  explicit TextFile(std::string_view text, const std::string& name = "input")
      : path_(directory_.path() + "/" + name) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  palimpsest::test::TemporaryDirectory directory_{};
  std::string path_;
};

/// Rows as "(1, \"Ada\", null)", without a key.
class RowTexts : public RowCoder {
 public:
  EncodedRow row_of(std::span<const Value> values) override {
    text_ = "(";
    for (const Value& value : values) {
      text_ += text_.size() == 1 ? "" : ", ";
      const bool is_bytes = value.kind() == ValueKind::bytes;
      text_ += is_bytes ? in_quotes(value.as_bytes()) : value.text();
    }
    text_ += ")";
    return EncodedRow::of("", text_);
  }

 private:
  std::string text_{};
};

/// The result of a file: a line for each record, "(1, \"Ada\", null)" or the fault's text.
inline std::vector<std::string> parsed(const TableText& table, const Dialect& dialect,
                                       std::string_view text,
                                       std::size_t chunk_bytes = ChunkReader::kChunkBytes,
                                       Header header = Header::off) {
  const TextFile file(text);
  std::atomic<std::uint64_t> taken = 0;
  ChunkReader reader({file.path()}, dialect, taken, chunk_bytes);
  const ColumnPlanner planner(table.table, dialect, header, {});
  const auto parser = RowParser::make(table.table, dialect, std::make_unique<RowTexts>());
  std::shared_ptr<const ColumnPlan> plan;
  std::vector<std::string> lines;
  while (auto chunk = reader.next()) {
    if (chunk->is_first) {
      plan = planner.begin_file(*chunk, "f");
    }
    RowBatch batch = parser->parse({.chunk = std::move(*chunk), .plan = plan});
    for (const BatchRecord& record : batch.records) {
      if (record.fault != BatchRecord::kNone) {
        Fault fault = batch.faults[record.fault];
        fault.at.file = "f";
        lines.push_back(fault.text());
      } else {
        lines.emplace_back(batch.row(record).bytes);
      }
    }
  }
  return lines;
}

}  // namespace palimpsest::load::test
