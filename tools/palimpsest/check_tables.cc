#include "tools/palimpsest/check_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/catalog/definitions_audit.h"
#include "engine/catalog/stored_definitions.h"
#include "engine/table/table_audit.h"

namespace palimpsest::tools {
namespace {

class TableCheck {
 public:
  TableCheck(std::span<const CheckedTree> trees, std::uint64_t batch_bytes, CheckReport& report)
      : trees_(trees), batch_bytes_(batch_bytes), report_(report) {
    for (const CheckedTree& tree : trees) {
      if (!tree.sound) {
        damaged_.push_back(tree.tree);
      }
    }
  }

  void run(txn::TreeCatalog& catalog) {
    const CheckedTree* const tables = find(engine::kTablesTree);
    if (tables != nullptr && !tables->sound) {
      report_.left_out("tables", "not checked: their definitions lie in a damaged tree");
      return;
    }
    const engine::DefinitionsAudit definitions = engine::audit_definitions(catalog);
    for (const engine::DamagedDefinition& damaged : definitions.damaged) {
      report_.find(fmt::format("table \"{}\"", damaged.table), damaged.what);
    }
    for (const auto& table : definitions.tables) {
      check(*table);
    }
    for (const engine::UnusedTree& unused : definitions.unused) {
      show(unused);
    }
    if (!definitions.damaged.empty()) {
      report_.left_out("trees of no table", "cannot be told from those of tables that are damaged");
    }
  }

 private:
  void check(const engine::TableDefinition& table) {
    const std::string name = fmt::format("table \"{}\"", table.format->schema().name);
    if (is_damaged(table.rows)) {
      report_.left_out(name, "not compared with its indexes: its rows lie in a damaged tree");
      return;
    }
    const engine::TableAudit audit =
        engine::audit_table(table, {.damaged = damaged_, .batch_bytes = batch_bytes_});
    report_.show(table.format->schema().name, audit);
    report_.find(name, audit.findings);
    for (const engine::IndexAudit& index : audit.indexes) {
      const std::string where = fmt::format("{}, index \"{}\"", name, index.name);
      report_.find(where, index.findings);
      if (index.is_left_out) {
        report_.left_out(where, "not compared with its table: its tree is damaged");
      }
    }
  }

  void show(const engine::UnusedTree& unused) {
    const CheckedTree* const tree = find(unused.name);
    if (tree != nullptr && tree->sound) {
      report_.show(unused, tree->records);
    }
  }

  [[nodiscard]] const CheckedTree* find(std::string_view name) const {
    const auto found = std::ranges::find(trees_, name, &CheckedTree::name);
    return found == trees_.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool is_damaged(const btree::BTree* tree) const {
    return std::ranges::find(damaged_, tree) != damaged_.end();
  }

  std::span<const CheckedTree> trees_;
  const std::uint64_t batch_bytes_;
  CheckReport& report_;
  std::vector<const btree::BTree*> damaged_;
};

}  // namespace

void check_tables(txn::TreeCatalog& catalog, std::span<const CheckedTree> trees,
                  std::uint64_t batch_bytes, CheckReport& report) {
  TableCheck(trees, batch_bytes, report).run(catalog);
}

}  // namespace palimpsest::tools
