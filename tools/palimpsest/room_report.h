// The output of `palimpsest stat`: the space that each part of a database takes, as a text table,
// or as JSON, an object on each line.
//
// JSON: each object has "kind": file, log, table, index, tree, total. Later versions may add
// members and kinds. The numbers of a tree that is not "sound" cover its readable pages, and those
// of the total as well.
// Thread-safety: plain values, pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace palimpsest::tools {

/// A tree: its pages, and what is in them.
struct TreeRoom {
  enum class Kind : std::uint8_t { table = 1, index, tree };

  Kind kind = Kind::tree;
  std::string name;        ///< of the table, of the index, of a tree of no table
  std::string table{};     ///< of an index: its table
  bool is_unique = false;  ///< of an index
  bool is_sound = true;    ///< false: all numbers cover readable pages only
  std::uint64_t records = 0;
  std::uint64_t height = 0;  ///< levels
  std::uint64_t inner_pages = 0;
  std::uint64_t leaf_pages = 0;
  double leaf_fill = 0;  ///< 0 to 1; the mean; removed records take space until it is reused
  std::uint64_t large_values = 0;
  std::uint64_t large_value_bytes = 0;
  std::uint64_t large_value_pages = 0;

  [[nodiscard]] std::uint64_t pages() const noexcept {
    return inner_pages + leaf_pages + large_value_pages;
  }
};

/// The page file; the sum of its parts is its size.
struct FileRoom {
  std::uint32_t page_bytes = 0;
  std::uint64_t pages = 0;
  std::uint64_t header_pages = 0;  ///< before the first page: the header and the ring
  std::uint64_t map_pages = 0;     ///< of the space map
  std::uint64_t tree_pages = 0;
  std::uint64_t unreached_pages = 0;  ///< in use, but by no tree
  std::uint64_t free_pages = 0;
};

/// The log's segments; its control file, of a few blocks, is left out.
struct LogRoom {
  std::uint64_t segments = 0;
  std::uint64_t segment_bytes = 0;  ///< of a full one
  std::uint64_t bytes = 0;          ///< of all
};

struct Room {
  FileRoom file;
  LogRoom log;
  std::vector<TreeRoom> trees;  ///< in the order in which they are shown
};

/// A line for each tree, and a total.
[[nodiscard]] std::string text_of(const Room& room);
/// An object on each line.
[[nodiscard]] std::string json_of(const Room& room);

}  // namespace palimpsest::tools
