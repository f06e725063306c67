// A small database on a simulated disk, and checks of its contents from outside the engine.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/io/device.h"
#include "btree/audit.h"
#include "btree/cursor.h"
#include "engine/catalog/definitions_audit.h"
#include "engine/engine.h"
#include "engine/table/table_audit.h"
#include "tests/support/sim_disk.h"
#include "tests/support/wait_for_writes.h"

namespace palimpsest::engine::test {

using Content = std::map<std::string, std::string>;

/// Small in every respect, so that pages are evicted, segments reused and leaves split.
inline EngineOptions small_options() {
  EngineOptions options;
  options.memory_bytes = 0;  // the pool's minimum
  options.pages = {.page_size_bytes = 4096, .ring_batches = 2, .batch_pages = 64, .uuid = {}};
  options.log_segment_bytes = wal::kSegmentBytesMin;
  options.log_bytes_max = 12 * wal::kSegmentBytesMin;
  options.recovery_threads = 1;
  options.max_transactions = 16;
  options.transactions.begin_patience = std::chrono::milliseconds(2000);
  options.background_threads = false;
  return options;
}

/// The power fails; what is not durable is lost, except what `keeps` retains. Destroys the
/// database; all objects that use it must be gone before.
inline void lose_power(palimpsest::test::SimDisk& disk, std::unique_ptr<Engine>& database,
                       palimpsest::test::CrashKeeps keeps = palimpsest::test::CrashKeeps::nothing) {
  const palimpsest::test::SimDisk crashed = disk.crash(1, keeps);
  disk.power_off();
  database.reset();
  disk = crashed;
}

/// All records of a tree, large values read.
inline Content content_of(const btree::BTree& tree) {
  Content content;
  btree::Cursor cursor(tree, 64);
  for (cursor.seek_first(); cursor.valid(); cursor.next()) {
    std::string value;
    if (cursor.read_value(value)) {
      content.emplace(cursor.key(), value);
    }
  }
  return content;
}

/// Success if every table's rows belong to it, and its indexes agree with them.
inline ::testing::AssertionResult tables_agree(Engine& database) {
  const DefinitionsAudit definitions = audit_definitions(database.catalog());
  for (const DamagedDefinition& damaged : definitions.damaged) {
    return ::testing::AssertionFailure() << "table \"" << damaged.table << "\": " << damaged.what;
  }
  for (const auto& table : definitions.tables) {
    const TableAudit audit = audit_table(*table);
    if (!audit.sound()) {
      return ::testing::AssertionFailure()
             << "table \"" << table->format->schema().name << "\": " << audit.text();
    }
  }
  return ::testing::AssertionSuccess();
}

/// Success if all trees, the space map and the pages agree, and all tables with their indexes. No
/// transaction may be active.
inline ::testing::AssertionResult sound(Engine& database) {
  palimpsest::test::wait_for_writes(database.pool().writer());
  btree::PageSet reached;
  for (const txn::TreeCatalog::Entry& entry : database.catalog().entries()) {
    const btree::BTree& tree = database.catalog().tree(entry.id);
    const btree::TreeAudit audit = btree::audit(tree, reached);
    if (!audit.sound()) {
      return ::testing::AssertionFailure() << "tree \"" << entry.name << "\": " << audit.text();
    }
  }
  const btree::Findings space = btree::audit_space(database.file(), database.space(), reached);
  if (!space.none()) {
    return ::testing::AssertionFailure() << "space map: " << space.text();
  }
  return tables_agree(database);
}

}  // namespace palimpsest::engine::test
