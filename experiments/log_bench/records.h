// The records of log_bench, and how a value read back is verified.
//
// Value of record i, 120 bytes: pseudo-random bytes derived from i, except 8 bytes in the middle,
// the field that updates replace. The field says which update wrote it: the worker and how many
// updates that worker had made. It is scrambled, so that all its bytes change from update to update
// and no engine gains by logging fewer of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "experiments/common/bytes.h"
#include "experiments/common/record_key.h"

namespace palimpsest::experiments {

inline constexpr std::size_t kValueBytes = 120;
inline constexpr std::size_t kFieldBytes = 8;
inline constexpr std::size_t kFieldOffset = 56;

using Value = std::array<char, kValueBytes>;
using Field = std::array<char, kFieldBytes>;

/// Which update wrote a field. All zero: none since the load.
struct UpdateMark {
  std::uint32_t worker = 0;    ///< from 1 on
  std::uint32_t sequence = 0;  ///< of this worker's updates, from 1 on

  friend bool operator==(const UpdateMark&, const UpdateMark&) = default;
};

[[nodiscard]] Field field_of(UpdateMark mark) noexcept;
[[nodiscard]] UpdateMark mark_of(const Field& field) noexcept;

/// The value of a record as loaded.
[[nodiscard]] Value fresh_value(std::uint64_t record) noexcept;

/// The mark a value carries; throws DamagedRecord if another byte than the field's is not as
/// loaded.
[[nodiscard]] UpdateMark verified_mark(std::uint64_t record, const Value& value);

[[nodiscard]] inline ByteView view_of(const Value& value) noexcept {
  return {value.data(), value.size()};
}

}  // namespace palimpsest::experiments
