// Fuzz target: any bytes as JSON lines. A text accepted as a row is JSON to another parser, too.
//
// Input: the text; with the top bit of its first byte, each further byte chooses a piece of an
// object.
#include <fmt/core.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"
#include "tools/load/row_parser.h"
#include "tools/load/schema_text.h"

namespace palimpsest::load::fuzz {
namespace {

constexpr std::array<std::string_view, 32> kPieces{
    "{",        "}",     "\"a\":", "\"b\":",   "\"c\":",      "\"d\":", "\"e\":", ",",
    "1",        "-1.50", "1e3",    "\"x\"",    "\"\\u00e4\"", "null",   "true",   "false",
    "\n",       " ",     "[",      "]",        "\"",          "\\",     "0",      "\"2024-02-29\"",
    "{\"a\":1", "}\n",   "\r\n",   "\"\\\"\"", "\"NaN\"",     ":",      "nul",    "\"\xC3\xA4\""};

std::string text_of(const std::uint8_t* data, std::size_t size) {
  std::string text;
  if (size != 0 && data[0] >= 0x80) {
    for (std::size_t i = 1; i < size; ++i) {
      text += kPieces[data[i] % kPieces.size()];
    }
    return text;
  }
  for (std::size_t i = 0; i < size; ++i) {
    text += static_cast<char>(data[i]);
  }
  return text;
}

void require(bool holds, std::string_view what) {
  if (!holds) {
    fmt::print(stderr, "{}\n", what);
    std::abort();
  }
}

void exercise(const std::string& text) {
  static const TableText table = parse_schema(
      "a int32 primary key, b decimal(20,4) null, c varchar(9) null, d bool null, e double null",
      "t");
  const Dialect dialect = Dialect::of(Format::jsonl);
  Chunk chunk{.bytes = text.size(), .is_first = true, .is_last = true};
  chunk.memory = std::make_unique<char[]>(text.size() + Chunk::kPaddingBytes);
  text.copy(chunk.memory.get(), text.size());
  const auto plan = std::make_shared<const ColumnPlan>(plan_of(table.table, {}));
  const RowBatch batch =
      RowParser::make(table.table, dialect)->parse({.chunk = std::move(chunk), .plan = plan});
  for (const BatchRecord& record : batch.records) {
    if (record.fault == BatchRecord::kNone) {
      require(nlohmann::json::accept(batch.text(record)), batch.text(record));
    } else {
      const Fault& fault = batch.faults[record.fault];
      require(fault.at.byte >= record.begin && fault.at.byte < record.end, fault.text());
    }
  }
}

}  // namespace
}  // namespace palimpsest::load::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  palimpsest::load::fuzz::exercise(palimpsest::load::fuzz::text_of(data, size));
  return 0;
}
