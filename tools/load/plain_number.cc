#include "tools/load/plain_number.h"

namespace palimpsest::load::detail {
namespace {

bool is_digit(char byte) noexcept {
  return byte >= '0' && byte <= '9';
}

}  // namespace

std::optional<PlainNumber> long_number(std::string_view text) noexcept {
  if (text.empty() || text.size() > PlainNumber::kSizeMax) {
    return std::nullopt;
  }
  PlainNumber number;
  std::size_t at = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    number.digits = number.digits * 10 + (text[at] - '0');
  }
  number.before = at;
  if (at == text.size()) {
    return number;
  }
  if (at == 0 || text[at] != '.' || at + 1 == text.size()) {
    return std::nullopt;
  }
  ++at;
  number.behind = text.size() - at;
  for (; at < text.size(); ++at) {
    if (!is_digit(text[at])) {
      return std::nullopt;
    }
    number.digits = number.digits * 10 + (text[at] - '0');
  }
  return number;
}

}  // namespace palimpsest::load::detail
