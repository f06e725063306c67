// What `palimpsest stat` prints: what takes which room in a database, as a table of text, or as
// JSON, an object a line.
//
// JSON: each object has "kind": file, log, table, index, tree, total. What is added later is added
// as further members and kinds. A tree that is not "sound" has the numbers of what could be read,
// and so has the total then.
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
  bool is_sound = true;    ///< false: all numbers are those of what could be read
  std::uint64_t records = 0;
  std::uint64_t height = 0;  ///< levels
  std::uint64_t inner_pages = 0;
  std::uint64_t leaf_pages = 0;
  double leaf_fill = 0;  ///< 0 to 1; the mean; what was removed takes room until that is used
  std::uint64_t large_values = 0;
  std::uint64_t large_value_bytes = 0;
  std::uint64_t large_value_pages = 0;

  [[nodiscard]] std::uint64_t pages() const noexcept {
    return inner_pages + leaf_pages + large_value_pages;
  }
};

/// The page file; the parts make up all of it.
struct FileRoom {
  std::uint32_t page_bytes = 0;
  std::uint64_t pages = 0;
  std::uint64_t header_pages = 0;  ///< before the first page: the header and the ring
  std::uint64_t map_pages = 0;     ///< of the space map
  std::uint64_t tree_pages = 0;
  std::uint64_t unreached_pages = 0;  ///< in use, and no tree was seen to use them
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

/// A line a tree, and a total.
[[nodiscard]] std::string text_of(const Room& room);
/// An object a line.
[[nodiscard]] std::string json_of(const Room& room);

}  // namespace palimpsest::tools
