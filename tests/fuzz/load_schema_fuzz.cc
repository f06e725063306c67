// Fuzz target: any bytes as the text of a table. A schema that was read is printed, and read again
// as the same.
//
// Input: the text; with the top bit of its first byte, each further byte chooses a word.
#include <fmt/core.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"
#include "tools/load/schema_text.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load::fuzz {
namespace {

constexpr std::array<std::string_view, 32> kWords{"a ",
                                                  "b ",
                                                  "c ",
                                                  "\"d\"\"\" ",
                                                  ",",
                                                  ",",
                                                  ", ",
                                                  "int8 ",
                                                  "int64 ",
                                                  "decimal",
                                                  "(12,2) ",
                                                  "(3) ",
                                                  "(",
                                                  ")",
                                                  "null ",
                                                  "not null ",
                                                  "primary key ",
                                                  "primary key (a) ",
                                                  "index ",
                                                  "unique ",
                                                  "varchar ",
                                                  "char(3) ",
                                                  "date ",
                                                  "bytes ",
                                                  "index i (a) ",
                                                  "-- x\n",
                                                  "\n",
                                                  "double ",
                                                  "bool ",
                                                  "timestamp ",
                                                  "\"",
                                                  "float "};

std::string text_of(const std::uint8_t* data, std::size_t size) {
  std::string text;
  const bool of_words = size != 0 && data[0] >= 0x80;
  for (std::size_t i = of_words ? 1 : 0; i < size; ++i) {
    if (of_words) {
      text += kWords[data[i] % kWords.size()];
    } else {
      text += static_cast<char>(data[i]);
    }
  }
  return text;
}

void exercise(const std::string& text) {
  TableText table;
  try {
    table = parse_schema(text, "t");
  } catch (const UsageError&) {
    return;
  }
  if (parse_schema(text_of(table), "t") != table) {
    fmt::print(stderr, "not read as the same: {}\n", text_of(table));
    std::abort();
  }
}

}  // namespace
}  // namespace palimpsest::load::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  palimpsest::load::fuzz::exercise(palimpsest::load::fuzz::text_of(data, size));
  return 0;
}
