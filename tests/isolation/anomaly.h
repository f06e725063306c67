// The anomalies of a history that isolation levels forbid.
//
// Names as Adya, Liskov, O'Neil, Generalized Isolation Level Definitions (ICDE 2000), and Elle
// (Kingsbury, Alvaro, VLDB 2020). G-SI is a cycle in which no two rw edges are adjacent: snapshot
// isolation has none (Cerone, Gotsman, PODC 2016). Thread-safety: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::isolation {

enum class Level : std::uint8_t {
  none = 1,
  read_committed,
  snapshot,
  serializable,
};

enum class Anomaly : std::uint8_t {
  unwritten = 0,       ///< a value that was never written
  duplicate,           ///< an element occurs twice
  incompatible_order,  ///< of two reads of a list, none is a prefix of the other
  internal,            ///< a transaction does not see its own write
  lost_write,          ///< acknowledged, and invisible to later transactions
  stale_read,          ///< the same, and visible to other ones
  g0,                  ///< a cycle of ww
  g1a,                 ///< a value of a transaction that was rolled back
  g1b,                 ///< a value that its transaction has overwritten
  g1c,                 ///< a cycle of ww and wr
  unrepeatable,        ///< two reads of a transaction differ
  lost_update,         ///< two have overwritten the same value that both have read
  g_single,            ///< a cycle with one rw
  g_si,                ///< a cycle with several, no two of them adjacent
  g2_item,             ///< any other cycle: write skew
};
inline constexpr std::size_t kAnomalies = 15;

[[nodiscard]] std::string_view name_of(Anomaly anomaly) noexcept;
[[nodiscard]] bool is_forbidden(Anomaly anomaly, Level level) noexcept;

/// How often each was found, and the first ones in words.
class Findings {
 public:
  /// Whether further ones of that kind are to be described in words.
  [[nodiscard]] bool wants(Anomaly anomaly) const noexcept;
  void add(Anomaly anomaly, std::string text);
  [[nodiscard]] std::uint64_t count(Anomaly anomaly) const noexcept;
  [[nodiscard]] std::uint64_t count_forbidden(Level level) const noexcept;
  /// A readable report: all counts, and what the level forbids in words.
  [[nodiscard]] std::string text(Level level) const;

 private:
  std::array<std::uint64_t, kAnomalies> counts_{};
  std::array<std::vector<std::string>, kAnomalies> texts_{};
};

}  // namespace palimpsest::isolation
