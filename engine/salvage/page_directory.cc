#include "engine/salvage/page_directory.h"

#include <algorithm>
#include <limits>

#include "btree/node/inner_node.h"
#include "buffer/page_header.h"
#include "buffer/swip.h"
#include "engine/recovery/replay_pages.h"

namespace palimpsest::engine {
namespace {

constexpr std::size_t kPagesAtOnce = 64;

}  // namespace

PageDirectory::PageDirectory(buffer::PageFile& file, PageUses& uses, const LostPages& lost,
                             bool is_consistent)
    : file_(file),
      uses_(uses),
      lost_(lost),
      is_consistent_(is_consistent),
      pages_(file.page_count() - std::min(file.page_count(), raw(file.first_page()))) {}

bool PageDirectory::may_be_in_use(PageId page) const noexcept {
  const PageUse use = uses_.of(page);
  return use == PageUse::used || use == PageUse::unknown ||
         (use == PageUse::free && !is_consistent_);
}

void PageDirectory::scan(FunctionRef<void(const btree::LeafView&)> leaf,
                         FunctionRef<void(std::uint64_t pages)> done) {
  const std::uint32_t page_size = file_.page_size_bytes();
  const AlignedMemory memory(kPagesAtOnce * page_size, page_size);
  std::vector<buffer::PageRead> reads;
  for (std::uint64_t page = raw(file_.first_page()); page < file_.page_count();) {
    reads.clear();
    for (; page < file_.page_count() && reads.size() < kPagesAtOnce; ++page) {
      if (may_be_in_use(PageId{page})) {
        reads.push_back({.id = PageId{page},
                         .into = memory.bytes().subspan(reads.size() * page_size, page_size)});
      }
    }
    file_.read_pages(reads);
    for (const buffer::PageRead& read : reads) {
      note(read, leaf);
    }
    done(page - raw(file_.first_page()));
  }
}

PageContent PageDirectory::judge(const buffer::PageRead& read) const {
  if (!read.ok() || lost_.contains(read.id)) {
    return PageContent::damaged;
  }
  const buffer::PageType type = buffer::header_of(read.into).type;
  if (type != buffer::PageType::tree_leaf && type != buffer::PageType::tree_inner) {
    return PageContent::other;
  }
  if (btree::validate_node(read.into, replay_swip_rule(file_))) {
    return PageContent::damaged;
  }
  return type == buffer::PageType::tree_leaf ? PageContent::leaf : PageContent::inner;
}

// In a file that is not consistent, what the map has for free is of the past unless it is younger
// than the map, or may be, since it has no GSN; and so is what was never a page.
void PageDirectory::note(const buffer::PageRead& read,
                         FunctionRef<void(const btree::LeafView&)> leaf) {
  const bool is_free = uses_.of(read.id) == PageUse::free;
  PageContent content = judge(read);
  const Gsn gsn = buffer::header_of(read.into).gsn;
  const bool is_fresh = !is_consistent_ && content == PageContent::leaf && gsn == Gsn{0};
  if (is_free && !is_fresh &&
      (content == PageContent::damaged || gsn <= uses_.told_up_to(read.id))) {
    return;
  }
  Page& page = pages_[raw(read.id) - raw(file_.first_page())];
  page.content = content;
  if (content == PageContent::damaged) {
    const bool is_blank = uses_.of(read.id) == PageUse::unknown && is_zero(read.into);
    if (!is_blank) {
      ++damaged_;
    }
  } else if (content != PageContent::other) {
    page.tree = buffer::header_of(read.into).tree_id;
  }
  if (content == PageContent::leaf) {
    if (is_fresh) {
      fresh_.emplace(read.id, Gsn{0});
    }
    leaf(btree::LeafView(read.into.data(), file_.page_size_bytes()));
  }
}

void PageDirectory::follow_names() {
  const AlignedMemory memory(file_.page_size_bytes(), file_.page_size_bytes());
  std::vector<PageId> found;
  for (std::uint64_t at = 0; at < pages_.size(); ++at) {
    const PageId page{raw(file_.first_page()) + at};
    if (pages_[at].content == PageContent::inner && counts(page, false)) {
      found.push_back(page);
    }
    while (!found.empty()) {
      const PageId next = found.back();
      found.pop_back();
      follow(next, memory.bytes(), found);
    }
  }
}

void PageDirectory::follow(PageId inner, MutableBytes memory, std::vector<PageId>& found) {
  if (!read(inner, memory)) {
    return;
  }
  const btree::InnerView node(memory.data(), file_.page_size_bytes());
  for (btree::SlotIndex child = 0; child < node.child_count(); ++child) {
    const PageId page = buffer::Swip::of_word(node.swip_at(child)).page();
    const bool is_new = uses_.name(page);
    const auto fresh = fresh_.find(page);
    if (fresh != fresh_.end() && at(page).tree == node.tree_id()) {
      fresh->second = std::max(fresh->second, buffer::header_of(node.bytes()).gsn);
    }
    const Page named = at(page);
    if (named.content == PageContent::damaged || !uses_.contains(page)) {
      damaged_of_.emplace(node.tree_id(), page);
    } else if (is_new && named.content == PageContent::inner) {
      found.push_back(page);
    }
  }
}

void PageDirectory::name_root(TreeId tree, PageId page) {
  uses_.name(page);
  if (at(page).content == PageContent::damaged || !uses_.contains(page)) {
    damaged_of_.emplace(tree, page);
  }
}

bool PageDirectory::counts(PageId leaf, bool with_doubtful) const noexcept {
  if (!is_consistent_) {
    return uses_.of(leaf) != PageUse::free || !fresh_.contains(leaf) || named_at(leaf) != Gsn{0};
  }
  return with_doubtful || uses_.of(leaf) != PageUse::unknown;
}

void PageDirectory::visit_leaves(TreeId tree, FunctionRef<void(PageId)> show) const {
  for (std::uint64_t at = 0; at < pages_.size(); ++at) {
    if (pages_[at].tree == tree && pages_[at].content == PageContent::leaf) {
      show(PageId{raw(file_.first_page()) + at});
    }
  }
}

std::set<TreeId> PageDirectory::trees() const {
  std::set<TreeId> trees;
  for (const Page& page : pages_) {
    if (page.content == PageContent::leaf) {
      trees.insert(page.tree);
    }
  }
  return trees;
}

std::uint64_t PageDirectory::doubtful() const noexcept {
  std::uint64_t doubtful = 0;
  for (std::uint64_t at = 0; at < pages_.size(); ++at) {
    const PageId page{raw(file_.first_page()) + at};
    if (pages_[at].content == PageContent::leaf && !counts(page, false)) {
      ++doubtful;
    }
  }
  return doubtful;
}

std::uint64_t PageDirectory::damaged_of(TreeId tree) const {
  return static_cast<std::uint64_t>(std::distance(
      damaged_of_.lower_bound({tree, PageId{0}}),
      damaged_of_.upper_bound({tree, PageId{std::numeric_limits<std::uint64_t>::max()}})));
}

bool PageDirectory::read(PageId page, MutableBytes into) const {
  buffer::PageRead read{.id = page, .into = into};
  file_.read_pages({&read, 1});
  return read.ok() && !btree::validate_node(into, replay_swip_rule(file_));
}

}  // namespace palimpsest::engine
