// Fuzz target: any bytes as a value of any type. A value that was read is printed, and read again
// as the same.
//
// Input: the first byte chooses the type; with its top bit, the remaining ones are digits and
// signs.
#include <fmt/core.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"
#include "tools/load/value_text.h"

namespace palimpsest::load::fuzz {
namespace {

using namespace palimpsest::types;

const std::array kTypes{int8(),    int16(),        int32(),       int64(),     float32(),
                        float64(), decimal(38, 9), decimal(5, 5), decimal(18), boolean(),
                        date(),    timestamp(),    character(5),  varchar(6),  types::bytes(7)};

std::string text_of(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kFew = "0123456789012345+-.:TZ e\\xaf9-";
  std::string text;
  for (std::size_t i = 1; i < size; ++i) {
    text += data[0] >= 0x80 ? kFew[data[i] % kFew.size()] : static_cast<char>(data[i]);
  }
  return text;
}

void exercise(const DataType& type, const std::string& text) {
  TextArena arena;
  Value value;
  if (const auto fault = parse_value(type, text, BytesText::hex, arena, value)) {
    const bool is_kind = fault->kind == FaultKind::type || fault->kind == FaultKind::range;
    if (!is_kind || fault->reason.empty()) {
      std::abort();
    }
    return;
  }
  std::string printed;
  append_value(type, value, BytesText::hex, printed);
  Value again;
  std::string reprinted;
  if (!parse_value(type, printed, BytesText::hex, arena, again)) {
    append_value(type, again, BytesText::hex, reprinted);
  }
  if (printed != reprinted || !(value == again)) {
    fmt::print(stderr, "{}: {} and {}\n", palimpsest::text_of(type), printed, reprinted);
    std::abort();
  }
}

}  // namespace
}  // namespace palimpsest::load::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace fuzz = palimpsest::load::fuzz;
  if (size != 0) {
    fuzz::exercise(fuzz::kTypes[data[0] % fuzz::kTypes.size()], fuzz::text_of(data, size));
  }
  return 0;
}
