// What is said to the user on standard error. A command's work is not undone, nor its end another
// one, because there is no place to report it: that is ignored.
#pragma once

#include <cstdio>
#include <string_view>

namespace palimpsest::load {

inline void tell(std::string_view text) noexcept {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace palimpsest::load
