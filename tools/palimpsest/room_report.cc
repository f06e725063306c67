#include "tools/palimpsest/room_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "tools/load/schema_text.h"

namespace palimpsest::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kColumns = 9;
using Line = std::array<std::string, kColumns>;

constexpr std::string_view kIncomplete = "damaged: only a part of it could be read";

double percent_of(double share) {
  return std::round(share * 1000) / 10;
}

/// The displayed name: a tree of no table is in parentheses, which unquoted names cannot have.
std::string shown_name(const TreeRoom& tree) {
  switch (tree.kind) {
    case TreeRoom::Kind::table: return load::name_text_of(tree.name);
    case TreeRoom::Kind::index:
      return load::name_text_of(tree.table) + "." + load::name_text_of(tree.name);
    case TreeRoom::Kind::tree: break;
  }
  return fmt::format("({})", load::name_text_of(tree.name));
}

std::string_view name_of(TreeRoom::Kind kind) {
  switch (kind) {
    case TreeRoom::Kind::table: return "table";
    case TreeRoom::Kind::index: return "index";
    case TreeRoom::Kind::tree: break;
  }
  return "tree";
}

/// All pages of trees. Sums of rows with entries of indexes, of heights or of fills would be
/// meaningless.
TreeRoom total_of(std::span<const TreeRoom> trees) {
  TreeRoom total{.name = "total"};
  for (const TreeRoom& tree : trees) {
    total.is_sound = total.is_sound && tree.is_sound;
    total.inner_pages += tree.inner_pages;
    total.leaf_pages += tree.leaf_pages;
    total.large_values += tree.large_values;
    total.large_value_bytes += tree.large_value_bytes;
    total.large_value_pages += tree.large_value_pages;
  }
  return total;
}

Line line_of(std::string name, const TreeRoom& tree, std::uint32_t page_bytes) {
  return {std::move(name),
          tree.height == 0 ? "-" : fmt::format("{}", tree.records),
          tree.height == 0 ? "-" : fmt::format("{}", tree.height),
          fmt::format("{}", tree.inner_pages),
          fmt::format("{}", tree.leaf_pages),
          tree.height == 0 || tree.leaf_pages == 0
              ? "-"
              : fmt::format("{:.1f}", percent_of(tree.leaf_fill)),
          fmt::format("{}", tree.large_value_pages),
          fmt::format("{}", tree.pages()),
          fmt::format("{}", tree.pages() * page_bytes)};
}

std::string text_of_lines(std::span<const Line> lines, std::span<const std::string_view> remarks) {
  std::array<std::size_t, kColumns> widths{};
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (std::size_t row = 0; row < lines.size(); ++row) {
    text += fmt::format("{:<{}}", lines[row][0], widths[0]);
    for (std::size_t i = 1; i < kColumns; ++i) {
      text += fmt::format("  {:>{}}", lines[row][i], widths[i]);
    }
    text += fmt::format("{}{}\n", remarks[row].empty() ? "" : "  ", remarks[row]);
  }
  return text;
}

std::string text_of(const FileRoom& file) {
  std::string text = fmt::format("page file: {} pages of {} bytes, {} bytes\n", file.pages,
                                 file.page_bytes, file.pages * file.page_bytes);
  const auto add = [&](std::string_view part, std::uint64_t pages) {
    text += fmt::format("  {:<15}  {:>{}}\n", part, pages, fmt::formatted_size("{}", file.pages));
  };
  add("header and ring", file.header_pages);
  add("space map", file.map_pages);
  add("trees", file.tree_pages);
  if (file.unreached_pages != 0) {
    add("in no tree", file.unreached_pages);
  }
  add("free", file.free_pages);
  return text;
}

void add_numbers(Json& line, const TreeRoom& tree, std::uint32_t page_bytes) {
  line["inner_pages"] = tree.inner_pages;
  line["leaf_pages"] = tree.leaf_pages;
  line["large_values"] = tree.large_values;
  line["large_value_bytes"] = tree.large_value_bytes;
  line["large_value_pages"] = tree.large_value_pages;
  line["pages"] = tree.pages();
  line["bytes"] = tree.pages() * page_bytes;
  line["sound"] = tree.is_sound;
}

Json json_of(const TreeRoom& tree, std::uint32_t page_bytes) {
  Json line = {{"kind", name_of(tree.kind)}};
  if (tree.kind == TreeRoom::Kind::index) {
    line["table"] = tree.table;
  }
  line["name"] = tree.name;
  if (tree.kind == TreeRoom::Kind::index) {
    line["unique"] = tree.is_unique;
  }
  line["records"] = tree.records;
  line["height"] = tree.height;
  line["leaf_fill_percent"] = tree.leaf_pages == 0 ? Json() : Json(percent_of(tree.leaf_fill));
  add_numbers(line, tree, page_bytes);
  return line;
}

Json json_of(const FileRoom& file) {
  return {{"kind", "file"},
          {"page_bytes", file.page_bytes},
          {"pages", file.pages},
          {"bytes", file.pages * file.page_bytes},
          {"header_pages", file.header_pages},
          {"space_map_pages", file.map_pages},
          {"tree_pages", file.tree_pages},
          {"unreached_pages", file.unreached_pages},
          {"free_pages", file.free_pages}};
}

}  // namespace

std::string text_of(const Room& room) {
  std::vector<Line> lines{
      {"name", "records", "height", "inner", "leaf", "fill %", "large", "pages", "bytes"}};
  std::vector<std::string_view> remarks{""};
  const auto add = [&](std::string name, const TreeRoom& tree) {
    lines.push_back(line_of(std::move(name), tree, room.file.page_bytes));
    remarks.push_back(tree.is_sound ? "" : kIncomplete);
  };
  for (const TreeRoom& tree : room.trees) {
    add(shown_name(tree), tree);
  }
  add("total", total_of(room.trees));
  return text_of(room.file) +
         fmt::format("log: {} segments, {} bytes\n\n", room.log.segments, room.log.bytes) +
         text_of_lines(lines, remarks);
}

std::string json_of(const Room& room) {
  std::vector<Json> lines{json_of(room.file),
                          {{"kind", "log"},
                           {"segments", room.log.segments},
                           {"segment_bytes", room.log.segment_bytes},
                           {"bytes", room.log.bytes}}};
  for (const TreeRoom& tree : room.trees) {
    lines.push_back(json_of(tree, room.file.page_bytes));
  }
  const TreeRoom total = total_of(room.trees);
  lines.push_back({{"kind", "total"}});
  add_numbers(lines.back(), total, room.file.page_bytes);
  std::string text;
  for (const Json& line : lines) {
    text += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return text;
}

}  // namespace palimpsest::tools
