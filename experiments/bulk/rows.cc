#include "experiments/bulk/rows.h"

#include <algorithm>

#include "experiments/common/mix.h"

namespace palimpsest::experiments::bulk {

void make_row(std::uint64_t number, Row& row) noexcept {
  constexpr std::uint64_t kLetters = 0x0f0f0f0f0f0f0f0f;
  constexpr std::uint64_t kFirstLetter = 0x4141414141414141;
  row.id = static_cast<std::int64_t>(number);
  row.number = row.id;
  row.round = 0;
  std::uint64_t state = number;
  for (std::size_t at = 0; at < row.body.size(); at += sizeof state) {
    state = mix64(state + at + 1);
    const std::uint64_t letters = (state & kLetters) + kFirstLetter;
    std::memcpy(row.body.data() + at, &letters, std::min(sizeof letters, row.body.size() - at));
  }
}

}  // namespace palimpsest::experiments::bulk
