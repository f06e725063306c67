#include "tools/palimpsest/salvage_report.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

namespace palimpsest::tools {
namespace {

using Json = nlohmann::ordered_json;

void print_line(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

void show_json(const SalvagedTable& table) {
  print_line({{"kind", "table"},
              {"name", table.name},
              {"whole", table.is_whole()},
              {"rows", table.rows},
              {"damaged_pages", table.damaged_pages},
              {"gaps", table.gap_count},
              {"lost_large_values", table.lost_large_values},
              {"of_unknown_bulks", table.of_unknown_bulks},
              {"of_unfinished", table.of_unfinished},
              {"undecodable", table.undecodable}});
  for (const SalvageGap& gap : table.gaps) {
    print_line({{"kind", "gap"},
                {"table", table.name},
                {"after", text_or_null(gap.after)},
                {"before", text_or_null(gap.before)}});
  }
  for (const SalvagedIndex& index : table.lost_indexes) {
    print_line(
        {{"kind", "lost_index"}, {"table", table.name}, {"name", index.name}, {"why", index.why}});
  }
}

void show_json(const SalvageReport& report) {
  for (const SalvagedTable& table : report.tables) {
    show_json(table);
  }
  for (const std::string& name : report.damaged_definitions) {
    print_line({{"kind", "damaged_definition"}, {"table", name}});
  }
  for (const LostTree& tree : report.lost_trees) {
    print_line({{"kind", "lost_tree"},
                {"tree", tree.number},
                {"records", tree.records},
                {"table", text_or_null(tree.table)}});
  }
  print_line({{"kind", "result"},
              {"whole", report.is_whole()},
              {"tables", report.tables.size()},
              {"rows", report.rows},
              {"has_all_definitions", report.has_all_definitions},
              {"log_fault", text_or_null(report.log_fault)},
              {"pages_beyond_log", report.pages_beyond_log},
              {"transactions_not_undone", report.transactions_not_undone},
              {"pages", report.pages},
              {"damaged_pages", report.damaged_pages},
              {"doubtful_pages", report.doubtful_pages},
              {"is_header_made", report.is_header_made},
              {"seconds", std::chrono::duration<double>(report.duration).count()}});
}

std::string text_of(const SalvageGap& gap) {
  if (gap.after.empty() && gap.before.empty()) {
    return "all of them, if there were any";
  }
  if (gap.after.empty()) {
    return fmt::format("before {}", gap.before);
  }
  return gap.before.empty() ? fmt::format("after {}", gap.after)
                            : fmt::format("between {} and {}", gap.after, gap.before);
}

void show_left_out(std::uint64_t rows, std::string_view why) {
  if (rows != 0) {
    fmt::print("  {} rows left out: {}\n", rows, why);
  }
}

void show_text(const SalvagedTable& table) {
  fmt::print("table \"{}\": {} rows{}\n", table.name, table.rows,
             table.is_whole() ? "" : ", and some are missing");
  if (table.damaged_pages != 0) {
    fmt::print("  {} of its pages are damaged\n", table.damaged_pages);
  }
  for (const SalvageGap& gap : table.gaps) {
    fmt::print("  rows may be missing: {}\n", text_of(gap));
  }
  if (table.gap_count > table.gaps.size()) {
    fmt::print("  and at {} more places\n", table.gap_count - table.gaps.size());
  }
  show_left_out(table.lost_large_values, "pages of their large values are damaged");
  show_left_out(table.of_unknown_bulks,
                "a bulk has changed them, and it is unknown whether it committed");
  show_left_out(table.of_unfinished,
                "a transaction that had not ended changed them, and cannot be undone");
  show_left_out(table.undecodable, "they are not rows of the table");
  for (const SalvagedIndex& index : table.lost_indexes) {
    fmt::print("  index \"{}\" is left out: {}\n", index.name, index.why);
  }
}

void show_log(const SalvageReport& report) {
  if (report.log_fault.empty()) {
    return;
  }
  fmt::print(
      "log: {}\n"
      "  the last committed changes may be missing, wholly or in part\n",
      report.log_fault);
  if (report.pages_beyond_log != 0) {
    fmt::print(
        "  rows of {} pages are newer than the readable log: they may be in a state that was not "
        "committed\n",
        report.pages_beyond_log);
  }
}

void show_definitions(const SalvageReport& report) {
  for (const std::string& name : report.damaged_definitions) {
    fmt::print(
        "table \"{}\": its definition is damaged, and its rows cannot be told from those of other "
        "tables\n",
        name);
  }
  if (!report.has_all_definitions) {
    fmt::print("definitions: some are missing: there may have been more tables\n");
  }
  for (const LostTree& tree : report.lost_trees) {
    fmt::print(
        "tree {}: {} records of a table or an index whose definition is lost, or that was dropped; "
        "{}\n",
        tree.number, tree.records,
        tree.table.empty() ? "--lost-trees copies them as they are stored"
                           : fmt::format("they are in the table \"{}\"", tree.table));
  }
}

void show_text(const SalvageReport& report, std::string_view copy) {
  for (const SalvagedTable& table : report.tables) {
    show_text(table);
  }
  show_definitions(report);
  show_log(report);
  if (report.transactions_not_undone != 0) {
    fmt::print("{} transactions had not ended, and some of their changes may be in the copy\n",
               report.transactions_not_undone);
  }
  if (report.doubtful_pages != 0) {
    fmt::print(
        "{} pages with rows may be outdated: nothing readable shows that they are in use "
        "(--doubtful copies them)\n",
        report.doubtful_pages);
  }
  const std::chrono::duration<double> seconds = report.duration;
  fmt::print(
      "{} pages, {} of them damaged; {} rows of {} tables are copied into {}, in {:.2f} s: "
      "{}\n",
      report.pages, report.damaged_pages, report.rows, report.tables.size(), copy, seconds.count(),
      report.is_whole() ? "nothing is missing" : "something is missing, as listed above");
}

}  // namespace

void show_salvage_error(const Error& error) {
  print_line({{"kind", "error"}, {"code", name_of(error.code())}, {"message", error.what()}});
}

void show_salvage(const SalvageReport& report, std::string_view copy, bool json) {
  json ? show_json(report) : show_text(report, copy);
}

}  // namespace palimpsest::tools
