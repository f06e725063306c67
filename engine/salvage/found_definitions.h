// What the catalog of a damaged database says, as far as it can be read: which trees there are, the
// definitions of tables, and which bulks have not committed.
//
// Where records of the catalog are missing, the trees with the definitions and with the bulks are
// found by what is in them: every record of theirs has to be one, and no other tree may look so. A
// definition is never guessed.
// Thread-safety: belongs to one thread. Failure: bad_alloc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "engine/format/schema_format.h"
#include "engine/salvage/committed_records.h"
#include "engine/salvage/page_directory.h"
#include "engine/salvage/unfinished_changes.h"

namespace palimpsest::engine {

struct FoundDefinitions {
  std::map<std::string, StoredTable> tables;  ///< by name
  std::vector<std::string> damaged;           ///< names of tables whose record is none
  bool is_whole = true;  ///< there are no other tables: nothing of the catalog is missing
  BulkOutcomes bulks;
  std::set<TreeId> own_trees;  ///< of the catalog, the definitions, the bulks

  /// The table whose rows lie in that tree; null if there is none.
  [[nodiscard]] const StoredTable* table_of(TreeId tree) const;
  [[nodiscard]] bool names(TreeId tree) const;
};

/// How a tree of the catalog is known by its records.
struct TreeLook {
  bool (*has_record)(ByteView key, ByteView value);
  bool (*is_one)(const struct TreeContent& content);  ///< all of them together
};

/// All records of a tree, in memory.
struct TreeContent {
  std::vector<std::pair<std::string, std::string>> records;
  bool is_whole = true;  ///< nothing is missing, and nothing was left out
};

/// Reads small trees.
class DefinitionFinder {
 public:
  /// `with_doubtful`: leaves that may not be in use count, too; `changes_of`: the unfinished
  /// changes of a tree. All outlive it.
  using ChangesOf = std::function<std::unique_ptr<ChangeSource>(TreeId)>;
  DefinitionFinder(PageDirectory& pages, Gsn known_up_to, bool with_doubtful, ChangesOf changes_of)
      : pages_(pages),
        known_up_to_(known_up_to),
        with_doubtful_(with_doubtful),
        changes_of_(std::move(changes_of)) {}

  /// `root`: of the catalog, kNoPage if that is not known.
  [[nodiscard]] FoundDefinitions find(PageId root);

 private:
  struct CatalogContent {
    std::map<std::string, TreeId, std::less<>> trees;
    bool is_whole = true;
  };

  [[nodiscard]] CatalogContent read_catalog(PageId root);
  [[nodiscard]] TreeContent read(TreeId tree, const BulkOutcomes& bulks) const;
  [[nodiscard]] TreeId tree_named(const CatalogContent& catalog, std::string_view name,
                                  const std::set<TreeId>& others, const TreeLook& look) const;
  [[nodiscard]] bool looks_so(TreeId tree, const TreeLook& look) const;
  void read_tables(const CatalogContent& catalog, FoundDefinitions& found) const;
  void read_bulks(const CatalogContent& catalog, FoundDefinitions& found) const;

  PageDirectory& pages_;
  const Gsn known_up_to_;
  const bool with_doubtful_;
  const ChangesOf changes_of_;
};

}  // namespace palimpsest::engine
