// How a row lists its columns as they are stored (encoded_row.h): references to them, in order, and
// which texts always have their full length.
//
// The specifications know fixed and variable texts. In memory both are a FixedText; a fixed one is
// stored without its length, which would be the same in each row.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

namespace palimpsest::experiments {

using Number = std::int32_t;  ///< identifiers from 1 on, and counts

/// A FixedText, or an array of them, that is as long as its capacity.
template <class Texts>
struct Full {
  Texts& texts;
};

template <class Texts>
[[nodiscard]] constexpr Full<Texts> full(Texts& texts) noexcept {
  return {texts};
}

/// References to columns and Full ones, as a tuple.
template <class... Columns>
[[nodiscard]] constexpr std::tuple<Columns...> columns_of(Columns&&... columns) noexcept {
  return std::tuple<Columns...>(std::forward<Columns>(columns)...);
}

}  // namespace palimpsest::experiments
