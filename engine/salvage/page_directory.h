// What the pages of a damaged file are: read once, from the first to the last.
//
// Memory: eight bytes for each page of the file.
// Thread-safety: belongs to one thread. Failure: bad_alloc, and what the callbacks throw; a page
// that cannot be read is damaged.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/aligned_memory.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "btree/node/leaf_node.h"
#include "btree/node/node_validate.h"
#include "buffer/page_file.h"
#include "engine/recovery/lost_pages.h"
#include "engine/salvage/page_use.h"

namespace palimpsest::engine {

enum class PageContent : std::uint8_t {
  none = 0,  ///< free, or of the space map: not looked at
  damaged,   ///< or not brought up to date
  leaf,
  inner,
  other,  ///< of a large value
};

class PageDirectory {
 public:
  /// All outlive it. Not `is_consistent`: pages are of different ages, and one that the space map
  /// has for free counts if it is younger than that.
  PageDirectory(buffer::PageFile& file, PageUses& uses, const LostPages& lost, bool is_consistent);
  PageDirectory(const PageDirectory&) = delete;
  PageDirectory& operator=(const PageDirectory&) = delete;

  /// Reads all pages that may be in use; shows the leaves. `done(pages)` is told now and then how
  /// far it is.
  void scan(FunctionRef<void(const btree::LeafView&)> leaf,
            FunctionRef<void(std::uint64_t pages)> done);
  /// Goes through the inner pages in use: what they name is in use, and the damaged pages among
  /// that are the tree's. Again when more is known to be in use.
  void follow_names();
  /// A root, as the catalog says.
  void name_root(TreeId tree, PageId page);

  struct Page {
    TreeId tree = kNoTree;  ///< of leaves and inner pages
    PageContent content = PageContent::none;
  };
  [[nodiscard]] Page at(PageId page) const noexcept {
    return uses_.contains(page) ? pages_[raw(page) - raw(file_.first_page())] : Page{};
  }
  /// Shows the leaves that count of a tree, by their ids.
  void visit_leaves(TreeId tree, FunctionRef<void(PageId)> show) const;
  /// Whether a leaf counts: it is in use, or that cannot be told and doubtful ones are wanted. In a
  /// file that is not consistent, one that was written without a GSN and is free by the map counts
  /// if some page names it.
  [[nodiscard]] bool counts(PageId leaf, bool with_doubtful) const noexcept;
  /// All trees that have leaves.
  [[nodiscard]] std::set<TreeId> trees() const;
  /// In a file that is not consistent, when a page last named a leaf that was written without a GSN
  /// (bulk/leaf_builder.h); 0: none did, or the leaf has a GSN.
  [[nodiscard]] Gsn named_at(PageId leaf) const noexcept {
    const auto found = fresh_.find(leaf);
    return found == fresh_.end() ? Gsn{0} : found->second;
  }

  /// Reads a sound page again; false if it cannot be read any more.
  [[nodiscard]] bool read(PageId page, MutableBytes into) const;

  /// Of pages that are in use, or may be.
  [[nodiscard]] std::uint64_t damaged() const noexcept { return damaged_; }
  /// Leaves of which it cannot be told whether they are in use.
  [[nodiscard]] std::uint64_t doubtful() const noexcept;
  /// That other pages of the tree name.
  [[nodiscard]] std::uint64_t damaged_of(TreeId tree) const;
  [[nodiscard]] buffer::PageFile& file() const noexcept { return file_; }
  [[nodiscard]] bool is_consistent() const noexcept { return is_consistent_; }

 private:
  [[nodiscard]] bool may_be_in_use(PageId page) const noexcept;
  [[nodiscard]] PageContent judge(const buffer::PageRead& read) const;
  void note(const buffer::PageRead& read, FunctionRef<void(const btree::LeafView&)> leaf);
  void follow(PageId inner, MutableBytes memory, std::vector<PageId>& found);

  buffer::PageFile& file_;
  PageUses& uses_;
  const LostPages& lost_;
  const bool is_consistent_;
  std::vector<Page> pages_;
  std::set<std::pair<TreeId, PageId>> damaged_of_;
  std::unordered_map<PageId, Gsn> fresh_;
  std::uint64_t damaged_ = 0;
};

}  // namespace palimpsest::engine
