#include "tools/palimpsest/check_report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "tools/load/message.h"

namespace palimpsest::tools {

using load::tell;

namespace {

using Json = nlohmann::ordered_json;

void print_line(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// A large file may have many lost pages: the first findings of a kind show where.
constexpr std::uint64_t kShownMax = 200;

}  // namespace

void CheckReport::show(const buffer::PageFile& file) const {
  if (json_) {
    print_line({{"kind", "file"},
                {"page_bytes", file.page_size_bytes()},
                {"pages", file.page_count()},
                {"open_count", file.header().open_count}});
    return;
  }
  fmt::print("page file: {} pages of {} bytes, opened {} times\n", file.page_count(),
             file.page_size_bytes(), file.header().open_count);
}

void CheckReport::show(const wal::Segments& segments) const {
  if (json_) {
    print_line({{"kind", "log"},
                {"segments", segments.files()},
                {"segment_bytes", segments.segment_bytes()},
                {"bytes", segments.bytes()}});
    return;
  }
  fmt::print("log: {} segments, {} bytes, closed cleanly, nothing to replay\n", segments.files(),
             segments.bytes());
}

void CheckReport::show(const PageScan& scan) const {
  if (json_) {
    print_line({{"kind", "pages"},
                {"in_use", scan.in_use},
                {"damaged", scan.damaged},
                {"free", scan.free}});
    return;
  }
  fmt::print("pages: {} in use, {} of them damaged, {} free\n", scan.in_use, scan.damaged,
             scan.free);
}

void CheckReport::show(std::string_view tree, const btree::TreeAudit& audit) const {
  const std::uint64_t records = audit.levels.empty() ? 0 : audit.leaves().entries;
  if (json_) {
    print_line({{"kind", "tree"},
                {"name", tree},
                {"levels", audit.levels.size()},
                {"nodes", audit.node_count()},
                {"records", records},
                {"large_values", audit.large_values},
                {"large_value_bytes", audit.large_value_bytes}});
    return;
  }
  fmt::print("{}: {} records in {} nodes on {} levels; {} large values of {} bytes\n", tree,
             records, audit.node_count(), audit.levels.size(), audit.large_values,
             audit.large_value_bytes);
}

void CheckReport::show(std::string_view table, const engine::TableAudit& audit) const {
  if (json_) {
    print_line({{"kind", "table"},
                {"name", table},
                {"rows", audit.rows},
                {"damaged_rows", audit.damaged_rows}});
  } else {
    fmt::print("table \"{}\": {} rows, {} of them damaged\n", table, audit.rows,
               audit.damaged_rows);
  }
  for (const engine::IndexAudit& index : audit.indexes) {
    if (index.is_left_out) {
      continue;
    }
    if (json_) {
      print_line({{"kind", "index"},
                  {"table", table},
                  {"name", index.name},
                  {"unique", index.is_unique},
                  {"entries", index.entries}});
    } else {
      fmt::print("table \"{}\", {}index \"{}\": {} entries\n", table,
                 index.is_unique ? "unique " : "", index.name, index.entries);
    }
  }
}

void CheckReport::show(const engine::UnusedTree& tree, std::uint64_t records) const {
  const std::string_view state = !tree.is_for_tables ? "other"
                                 : records == 0      ? "vacant"
                                                     : "waiting";
  if (json_) {
    print_line(
        {{"kind", "unused_tree"}, {"name", tree.name}, {"state", state}, {"records", records}});
    return;
  }
  fmt::print("tree \"{}\": of no table", tree.name);
  if (state == "vacant") {
    fmt::print(", vacant");
  } else if (state == "waiting") {
    fmt::print(": its {} records will be removed when the database is opened", records);
  }
  fmt::print("\n");
}

void CheckReport::find(std::string_view where, std::string_view message) {
  if (++findings_ > kShownMax) {
    return;
  }
  if (json_) {
    print_line({{"kind", "finding"}, {"where", where}, {"message", message}});
  } else {
    fmt::print("{}: DAMAGED: {}\n", where, message);
  }
}

void CheckReport::find(std::string_view where, const btree::Findings& findings) {
  for (const std::string& what : findings.kept()) {
    find(where, what);
  }
  findings_ += findings.count() - findings.kept().size();
}

void CheckReport::left_out(std::string_view what, std::string_view why) const {
  if (json_) {
    print_line({{"kind", "left_out"}, {"what", what}, {"message", why}});
  } else {
    fmt::print("{}: {}\n", what, why);
  }
}

void CheckReport::refuse(const Error& error) const {
  if (json_) {
    print_line({{"kind", "error"}, {"code", name_of(error.code())}, {"message", error.what()}});
  }
  std::fflush(stdout);
  tell(fmt::format("palimpsest: the database cannot be checked: {}: {}\n", name_of(error.code()),
                   error.what()));
}

void CheckReport::conclude() const {
  if (json_) {
    print_line({{"kind", "result"}, {"sound", sound()}, {"findings", findings_}});
  } else if (sound()) {
    fmt::print("sound\n");
  } else {
    fmt::print("damaged: {} findings\n", findings_);
  }
  if (std::fflush(stdout) != 0) {
    throw std::system_error(errno, std::generic_category(), "the output cannot be written");
  }
}

}  // namespace palimpsest::tools
