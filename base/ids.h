// The engine's identifiers as distinct types, so that none is mistaken for another.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace palimpsest {

/// Number of a page in the page file: its byte offset divided by the page size. Page 0 is the file
/// header, so 0 is never a page of a tree.
enum class PageId : std::uint64_t {};

/// A tree (table or index) of one database; 0 means "none".
enum class TreeId : std::uint32_t {};

/// Global sequence number, the one clock of log, pages and commits.
enum class Gsn : std::uint64_t {};

/// Names a bulk operation; 0 means "none".
enum class BulkEpoch : std::uint64_t {};

/// Index of a frame in its buffer pool.
enum class FrameIndex : std::uint32_t {};

/// A worker slot of a database, and that slot's log.
enum class SlotId : std::uint32_t {};

/// Position in one slot's log: the bytes appended to it since the database was opened.
enum class Lsn : std::uint64_t {};

inline constexpr PageId kNoPage{0};
inline constexpr TreeId kNoTree{0};
inline constexpr BulkEpoch kNoEpoch{0};
inline constexpr FrameIndex kNoFrame{std::numeric_limits<std::uint32_t>::max()};

/// The number behind an identifier, for formats, arithmetic and messages.
template <class Id>
  requires std::is_enum_v<Id>
[[nodiscard]] constexpr auto raw(Id id) noexcept {
  return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace palimpsest
