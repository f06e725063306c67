// A database that may be damaged anywhere, opened to read all that can be read of it.
//
//   open -> the log is replayed on the pages -> every page is looked at once -> the definitions are
//   found -> trees are read, one after the other, each leaf by leaf in the order of its keys
//
// No tree is walked, and no page but the leaves themselves and the space map is needed: leaves say
// whose they are and what they cover. Where the space map is damaged, too, a leaf counts if the
// pages that lead to it can be read (page_use.h). What was not committed is taken back
// (committed_records.h). The devices are written to, so they are such as keep that in memory
// (base/io/overlay_device.h).
//
// Memory: nine bytes for each page, and what sorting takes (SortOptions).
// Thread-safety: belongs to one thread.
// Failure: Error as SalvageOptions says for what is no damage.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "palimpsest/function_ref.h"
#include "palimpsest/salvage.h"

#include "base/ids.h"
#include "base/io/device.h"
#include "buffer/page_file.h"
#include "engine/salvage/committed_records.h"
#include "engine/salvage/found_definitions.h"
#include "engine/salvage/page_directory.h"
#include "engine/salvage/page_use.h"
#include "engine/salvage/sorted_leaves.h"
#include "engine/salvage/source_log.h"
#include "engine/salvage/unfinished_changes.h"

namespace palimpsest::engine {

class DamagedDatabase {
 public:
  /// Opens it, and replays its log. `log`: null: there is none; it may be `pages`. Both outlive it.
  DamagedDatabase(io::Device& pages, io::Device* log, std::size_t memory_bytes);
  DamagedDatabase(const DamagedDatabase&) = delete;
  DamagedDatabase& operator=(const DamagedDatabase&) = delete;

  [[nodiscard]] std::uint32_t page_size_bytes() const noexcept { return file_->page_size_bytes(); }
  [[nodiscard]] std::uint64_t pages() const noexcept {
    return file_->page_count() - raw(file_->first_page());
  }

  /// Looks at all pages and finds the definitions. `scratch`: a device for what is sorted.
  void look(io::Device& scratch, std::size_t sort_bytes, bool with_doubtful,
            FunctionRef<void(std::uint64_t pages)> done);
  [[nodiscard]] const FoundDefinitions& definitions() const noexcept { return definitions_; }
  [[nodiscard]] std::uint64_t damaged_pages_of(TreeId tree) const {
    return directory_->damaged_of(tree);
  }

  /// The next tree that has leaves, ascending; nothing at the end.
  [[nodiscard]] std::optional<TreeId> next_tree() { return leaves_->next_tree(); }
  /// Shows the records of that tree.
  void read(TreeId tree, RecordSink& sink);

  /// What it knows of the report.
  void tell(SalvageReport& report) const;

 private:
  void sort_changes(io::Device& scratch, std::size_t sort_bytes);
  [[nodiscard]] std::unique_ptr<ChangeSource> changes_of(TreeId tree) const;
  [[nodiscard]] bool has_losers() const noexcept;

  bool is_header_made_ = false;
  std::unique_ptr<buffer::PageFile> file_;
  std::optional<SourceLog> log_;
  std::optional<PageUses> uses_;
  std::optional<PageDirectory> directory_;
  FoundDefinitions definitions_;
  std::optional<SortedLeaves> leaves_;
  std::optional<SortedChanges> changes_;
  std::uint64_t not_undone_ = 0;  ///< transactions
  std::uint64_t younger_ = 0;     ///< leaves that were read
};

}  // namespace palimpsest::engine
