// `palimpsest stat DB`: shows how much space each part of a closed database takes.
//
// Nothing is estimated: every node of every tree is read, once; of large values only their
// descriptors in leaves. In a tree with records left by an aborted bulk, the records are also
// counted one by one, without those. Damage is reported, and marked; all other numbers are right.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "btree/audit.h"
#include "btree/cursor.h"
#include "bulk/bulk_ledger.h"
#include "engine/catalog/definitions_audit.h"
#include "tools/load/fault.h"
#include "tools/palimpsest/closed_command.h"
#include "tools/palimpsest/room_report.h"

namespace palimpsest::tools {
namespace {

constexpr const char* kName = "stat";
constexpr std::size_t kRecordsHint = 1024;

/// The purpose of a tree.
using Uses = std::map<TreeId, TreeRoom>;

void add_uses(const engine::TableDefinition& table, Uses& uses) {
  const engine::StoredTable& stored = table.format->stored();
  uses[stored.tree] = {.kind = TreeRoom::Kind::table, .name = stored.schema.name};
  for (const engine::StoredIndex& index : stored.indexes) {
    uses[index.tree] = {.kind = TreeRoom::Kind::index,
                        .name = index.schema.name,
                        .table = stored.schema.name,
                        .is_unique = index.schema.unique};
  }
}

std::uint64_t count_records(const btree::BTree& tree) {
  std::uint64_t records = 0;
  btree::Cursor cursor(tree, kRecordsHint);
  for (cursor.seek_first(); cursor.valid(); cursor.next()) {
    ++records;
  }
  return records;
}

/// Tables with their indexes by name, then the other trees.
auto order_of(const TreeRoom& room) {
  const bool is_index = room.kind == TreeRoom::Kind::index;
  return std::tuple(room.kind == TreeRoom::Kind::tree, is_index ? room.table : room.name, is_index,
                    room.name);
}

class Stat {
 public:
  explicit Stat(ClosedFiles& files) : database_(files.database()), log_(files.log()) {}

  int run(bool json) {
    measure_trees();
    measure_file();
    room_.log = {.segments = log_.segments().files(),
                 .segment_bytes = log_.segments().segment_bytes(),
                 .bytes = log_.segments().bytes()};
    print(json ? json_of(room_) : text_of(room_));
    for (const Problem& problem : problems_) {
      tell_problem(kName, problem.code, problem.what);
    }
    return problems_.empty() ? kOk : kFailed;
  }

 private:
  struct Problem {
    ErrorCode code{};
    std::string what;
  };

  void add_problem(std::string what, ErrorCode code = ErrorCode::corruption) {
    problems_.push_back({code, std::move(what)});
  }
  /// Damage is reported as a problem, and the rest continues.
  template <class Call>
  void attempt(const std::string& where, const Call& call) {
    try {
      call();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::out_of_memory) {
        throw;
      }
      add_problem(fmt::format("{}: {}", where, error.what()), error.code());
    }
  }

  void measure_trees() {
    attempt("tables", [&] { read_uses(); });
    attempt("bulks", [&] {
      for (const auto& [epoch, trees] : bulk::read_bulks(database_.catalog()).aborted) {
        has_leftovers_.insert(trees.begin(), trees.end());
      }
    });
    for (const txn::TreeCatalog::Entry& entry : database_.catalog().entries()) {
      room_.trees.push_back(measure(entry));
    }
    std::ranges::sort(room_.trees, {}, order_of);
  }

  void read_uses() {
    const engine::DefinitionsAudit definitions = engine::audit_definitions(database_.catalog());
    for (const auto& table : definitions.tables) {
      add_uses(*table, uses_);
    }
    for (const engine::DamagedDefinition& damaged : definitions.damaged) {
      add_problem(fmt::format("table {}: {}; its trees are listed as those of no table",
                              load::in_quotes(damaged.table), damaged.what));
    }
  }

  TreeRoom measure(const txn::TreeCatalog::Entry& entry) {
    const auto use = uses_.find(entry.id);
    TreeRoom room = use == uses_.end()
                        ? TreeRoom{.name = entry.name.empty() ? "catalog" : entry.name}
                        : use->second;
    room.is_sound = false;  // until it was read
    const std::string where =
        "tree " + load::in_quotes(entry.name.empty() ? "catalog" : entry.name);
    attempt(where, [&] {
      const btree::BTree& tree = database_.catalog().tree(entry.id);
      const btree::TreeAudit audit = btree::audit(tree, reached_, {.read_large_values = false});
      take(audit, room);
      if (audit.sound() && has_leftovers_.contains(entry.id)) {
        room.records = count_records(tree);
      }
      room.is_sound = audit.sound();
      for (const std::string& finding : audit.findings.kept()) {
        add_problem(fmt::format("{}: {}", where, finding));
      }
    });
    return room;
  }

  static void take(const btree::TreeAudit& audit, TreeRoom& room) {
    room.records = audit.leaves().entries;
    room.height = audit.levels.size();
    room.leaf_pages = audit.leaves().nodes;
    room.inner_pages = audit.node_count() - room.leaf_pages;
    room.leaf_fill = audit.leaves().fill();
    room.large_values = audit.large_values;
    room.large_value_bytes = audit.large_value_bytes;
    room.large_value_pages = audit.extent_pages;
  }

  void measure_file() {
    const buffer::PageFile& pages = database_.file();
    const buffer::SpaceMap& space = database_.space();
    FileRoom& file = room_.file;
    file = {.page_bytes = pages.page_size_bytes(),
            .pages = pages.page_count(),
            .header_pages = raw(pages.first_page())};
    for (std::uint64_t page = file.header_pages; page < file.pages; ++page) {
      const PageId id{page};
      std::uint64_t& part = space.is_map_page(id)    ? file.map_pages
                            : reached_.contains(id)  ? file.tree_pages
                            : space.is_allocated(id) ? file.unreached_pages
                                                     : file.free_pages;
      ++part;
    }
    if (file.unreached_pages != 0 && problems_.empty()) {
      add_problem(
          fmt::format("{} pages are in use, but no tree reaches them; palimpsest check names them",
                      file.unreached_pages));
    }
  }

  engine::OfflineDatabase& database_;
  const wal::LogStore& log_;
  Uses uses_;
  std::set<TreeId> has_leftovers_;  ///< of an aborted bulk
  btree::PageSet reached_;
  Room room_;
  std::vector<Problem> problems_;
};

int run(const ClosedOptions& options) {
  return look_at(kName, options, [&](ClosedFiles& files) { return Stat(files).run(options.json); });
}

}  // namespace

void add_stat_command(CLI::App& app, Action& chosen) {
  CLI::App* const command = app.add_subcommand(
      kName,
      "Shows how the space of a closed database is used: the page file, the log, each table and\n"
      "each index. Reads every page of every tree, but not large values. Changes nothing.");
  const auto options = std::make_shared<ClosedOptions>();
  add_closed_options(*command, *options);
  command->footer(
      std::string("Trees of no table are in parentheses. Fill is the mean of a tree's leaves.\n") +
      kClosedExitCodes);
  command->callback([options, &chosen] {
    chosen = [options](const load::MessagePlace& messages) {
      options->messages = messages;
      return run(*options);
    };
  });
}

}  // namespace palimpsest::tools
