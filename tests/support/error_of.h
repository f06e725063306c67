// The error with which a call fails, for tests of failures.
#pragma once

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/error.h"

namespace palimpsest::test {

/// The code of the Error that `call` throws, and its message if `message` is given; nothing if it
/// throws none.
template <class Call>
[[nodiscard]] std::optional<ErrorCode> error_of(const Call& call, std::string* message = nullptr) {
  try {
    static_cast<void>(call());
  } catch (const Error& error) {
    if (message != nullptr) {
      *message = error.what();
    }
    return error.code();
  }
  return std::nullopt;
}

/// The same; expects a message that contains `part_of_message`, if an Error is thrown.
template <class Call>
[[nodiscard]] std::optional<ErrorCode> error_of(const Call& call,
                                                std::string_view part_of_message) {
  std::string message;
  const auto code = error_of(call, &message);
  if (code) {
    EXPECT_THAT(message, ::testing::HasSubstr(part_of_message));
  }
  return code;
}

}  // namespace palimpsest::test
