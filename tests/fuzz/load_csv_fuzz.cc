// Fuzz target: any bytes as delimited text, in any dialect, cut anywhere.
//
// Input: the first byte chooses the dialect; with its top bit, each further byte chooses one of a
// few special characters. The second byte determines where the text is cut, and what else the
// dialect allows.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz_target.h"
#include "tools/load/record_reader.h"
#include "tools/load/row_parser.h"
#include "tools/load/schema_text.h"

namespace palimpsest::load::fuzz {
namespace {

void require(bool holds, const char* what) {
  if (!holds) {
    fmt::print(stderr, "{}\n", what);
    std::abort();
  }
}

Dialect dialect_of(unsigned choice) {
  Dialect dialect = Dialect::of(choice % 4 == 0   ? Format::tsv
                                : choice % 4 == 1 ? Format::tbl
                                                  : Format::csv);
  if (dialect.format == Format::csv) {
    if ((choice & 4U) != 0) {
      dialect.escape = '\\';
    }
    if ((choice & 8U) != 0) {
      dialect.quote.reset();
    }
  }
  if ((choice & 16U) != 0) {
    dialect.comment = "#a";
  }
  dialect.skip_blank = (choice & 32U) != 0;
  dialect.null_rule = (choice & 64U) != 0 ? NullRule::text : dialect.null_rule;
  dialect.null_text = "a";
  return dialect;
}

/// Adds options that users' files need.
Dialect with_more(Dialect dialect, unsigned choice) {
  dialect.trim = (choice & 1U) != 0 && !dialect.letter_escapes;
  dialect.fill_missing = (choice & 2U) != 0;
  dialect.drops_empty_end = dialect.drops_empty_end || (choice & 4U) != 0;
  dialect.delimiter_rest = (choice & 8U) != 0 && dialect.format == Format::csv ? "|" : "";
  return dialect;
}

/// The text in memory of exactly its size, so that AddressSanitizer detects a read beyond it.
std::vector<char> text_of(const std::uint8_t* data, std::size_t size, bool of_few_bytes) {
  constexpr std::string_view kFew = "a1,,|\t \"\"\\#N\r\n\n";
  std::vector<char> text(size);
  std::transform(data, data + size, text.begin(), [&](std::uint8_t byte) {
    return of_few_bytes ? kFew[byte % kFew.size()] : static_cast<char>(byte);
  });
  text.shrink_to_fit();
  return text;
}

struct Span {
  std::size_t begin;
  std::size_t end;
  bool has_fault;

  friend bool operator==(const Span&, const Span&) = default;
};

std::vector<Span> read(const Dialect& dialect, std::string_view text, std::size_t offset) {
  RecordReader reader(dialect, text, true, RecordReader::Reads::fields);
  RawRecord record;
  std::vector<Span> spans;
  std::vector<char> meant;
  while (reader.next(record)) {
    spans.push_back({record.begin + offset, record.end + offset, record.fault.has_value()});
    require(record.begin < record.end && record.end <= text.size(), "a record has bytes");
    for (const RawField& field : record.fields) {
      if (field.escaped && !record.fault) {
        meant.resize(field.text.size());
        const Unescaped unescaped = unescape(dialect, field, meant.data());
        require(unescaped.text.size() <= meant.size(), "no field becomes longer");
      }
    }
  }
  require(reader.position() == text.size(), "all of a text is read");
  const auto newlines = static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
  require(reader.lines() == newlines, "all lines are counted");
  return spans;
}

/// Whole records before the cut, and the rest, are the records of the whole.
void cut(const Dialect& dialect, std::string_view text, std::size_t at,
         const std::vector<Span>& whole) {
  RecordReader ends(dialect, text.substr(0, at), false, RecordReader::Reads::ends);
  RawRecord record;
  while (ends.next(record)) {
  }
  const std::size_t position = ends.position();
  require(position <= at, "no record ends behind the text");
  std::vector<Span> parts = read(dialect, text.substr(0, position), 0);
  const std::vector<Span> rest = read(dialect, text.substr(position), position);
  parts.insert(parts.end(), rest.begin(), rest.end());
  require(parts == whole, "cutting a text changes no record");
}

void parse(const Dialect& dialect, std::string_view text, std::size_t records) {
  static const TableText table =
      parse_schema("a int8 primary key, b varchar(3) null, c bytes(4) null", "t");
  Chunk chunk{.bytes = text.size(), .is_first = true, .is_last = true};
  chunk.memory = std::make_unique<char[]>(text.size() + Chunk::kPaddingBytes);
  std::ranges::copy(text, chunk.memory.get());
  const auto plan = std::make_shared<const ColumnPlan>(plan_of(table.table, {}));
  const RowBatch batch =
      RowParser::make(table.table, dialect)->parse({.chunk = std::move(chunk), .plan = plan});
  require(batch.records.size() == records, "each record is a row or a fault");
  for (const Fault& fault : batch.faults) {
    require(fault.at.byte < text.size() + 1 && fault.at.line != 0, "a fault has a place");
    require(!fault.text().empty(), "a fault has a text");
  }
}

}  // namespace
}  // namespace palimpsest::load::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace fuzz = palimpsest::load::fuzz;
  if (size < 2) {
    return 0;
  }
  const palimpsest::load::Dialect dialect = fuzz::with_more(fuzz::dialect_of(data[0]), data[1]);
  const std::vector<char> bytes = fuzz::text_of(data + 2, size - 2, data[0] >= 0x80);
  const std::string_view text(bytes.data(), bytes.size());
  const auto whole = fuzz::read(dialect, text, 0);
  fuzz::cut(dialect, text, text.size() * data[1] / 256, whole);
  fuzz::parse(dialect, text, whole.size());
  return 0;
}
