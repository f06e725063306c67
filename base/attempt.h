// The result of an optimistic attempt: a value, or "restart from the top".
//
// Restarts are ordinary and frequent under contention, so they are return values (two registers, no
// unwinding). An Attempt never leaves the public headers of `buffer` and `btree`.
#pragma once

#include <optional>
#include <utility>

namespace palimpsest {

/// Returned where an optimistic attempt must be repeated.
struct Restart {};
inline constexpr Restart restart{};

template <class T>
class [[nodiscard]] Attempt {
 public:
  // Implicit on purpose: `return restart;` and `return value;` read as what they are.
  Attempt(Restart) noexcept {}                             // NOLINT(google-explicit-constructor)
  Attempt(T value) noexcept : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] explicit operator bool() const noexcept { return value_.has_value(); }
  [[nodiscard]] T& operator*() & noexcept { return *value_; }
  [[nodiscard]] const T& operator*() const& noexcept { return *value_; }
  [[nodiscard]] T&& operator*() && noexcept { return std::move(*value_); }
  [[nodiscard]] T* operator->() noexcept { return &*value_; }
  [[nodiscard]] const T* operator->() const noexcept { return &*value_; }

 private:
  std::optional<T> value_;
};

}  // namespace palimpsest
