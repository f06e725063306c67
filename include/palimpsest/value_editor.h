// A value that is changed in place, and its former bytes.
//
// A caller asks for the bytes that it is going to change, and the editor copies these first. So
// changing a column costs what its bytes take, however long the row: only what was asked for is
// copied, compared with what it was, and logged.
//
// Invariant: bytes of the value outside [begin(), end()) are unchanged; the former bytes of those
//            within are in the memory for that, at the same offsets.
// Thread-safety: the thread that holds the value's latch. Failure: none.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace palimpsest {

class ValueEditor {
 public:
  /// `before`: memory for as many bytes; null if nothing is to be saved or restored.
  ValueEditor(std::span<char> value, char* before) noexcept : value_(value), before_(before) {}
  ValueEditor(const ValueEditor&) = delete;
  ValueEditor& operator=(const ValueEditor&) = delete;

  [[nodiscard]] std::span<const char> bytes() const noexcept { return value_; }

  /// Some bytes of the value, which the caller may change from now on.
  [[nodiscard]] std::span<char> edit(std::size_t offset, std::size_t count) noexcept {
    keep(offset, offset + count);
    return value_.subspan(offset, count);
  }
  [[nodiscard]] std::span<char> edit_all() noexcept { return edit(0, value_.size()); }

  /// The range that may have changed.
  [[nodiscard]] std::size_t begin() const noexcept { return begin_; }
  [[nodiscard]] std::size_t end() const noexcept { return end_; }

  /// The former value, if it is saved. Valid between begin() and end(); the rest is undefined.
  [[nodiscard]] std::string_view before() const noexcept { return {before_, value_.size()}; }
  /// All of the former value.
  [[nodiscard]] std::string_view whole_before() noexcept {
    keep(0, value_.size());
    return before();
  }
  /// Restores the former value.
  void restore() noexcept {
    if (before_ != nullptr && begin_ != end_) {
      std::memcpy(value_.data() + begin_, before_ + begin_, end_ - begin_);
    }
  }

 private:
  void keep(std::size_t from, std::size_t to) noexcept {
    if (begin_ == end_) {
      begin_ = end_ = from;
    }
    if (from < begin_) {
      copy(from, begin_);
      begin_ = from;
    }
    if (to > end_) {
      copy(end_, to);
      end_ = to;
    }
  }
  void copy(std::size_t from, std::size_t to) noexcept {
    if (before_ != nullptr) {
      std::memcpy(before_ + from, value_.data() + from, to - from);
    }
  }

  std::span<char> value_;
  char* before_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace palimpsest
