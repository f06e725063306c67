#include "engine/salvage/damaged_database.h"

#include <vector>

#include "palimpsest/error.h"

#include "engine/salvage/mended_header.h"
#include "wal/log_control.h"

namespace palimpsest::engine {
namespace {

std::unique_ptr<buffer::PageFile> open_pages(io::Device& pages) {
  return buffer::PageFile::open(pages, buffer::kPageFileName, {.allow_unclean = true});
}

/// By its log, if that can be read.
std::optional<Uuid> uuid_of(io::Device* log) {
  try {
    return log == nullptr ? std::nullopt
                          : std::optional(wal::LogControl::open(*log, true)->state().uuid);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::locked) {
      throw;
    }
    return std::nullopt;
  }
}

bool may_be_mended(ErrorCode code) noexcept {
  return code == ErrorCode::corruption || code == ErrorCode::not_a_database;
}

}  // namespace

DamagedDatabase::DamagedDatabase(io::Device& pages, io::Device* log, std::size_t memory_bytes) {
  try {
    file_ = open_pages(pages);
  } catch (const Error& error) {
    if (!may_be_mended(error.code())) {
      throw;
    }
    mend_header(pages, uuid_of(log));
    file_ = open_pages(pages);
    is_header_made_ = true;
  }
  log_.emplace(log, *file_, file_->header().uuid != Uuid{});
  log_->replay(memory_bytes, {});
}

bool DamagedDatabase::has_losers() const noexcept {
  return log_->analysis() != nullptr && !log_->analysis()->losers.empty();
}

// The few changes of one tree: for the trees of the catalog, which are read before the others.
std::unique_ptr<ChangeSource> DamagedDatabase::changes_of(TreeId tree) const {
  std::vector<UnfinishedChange> changes;
  if (has_losers()) {
    visit_unfinished(log_->analysis()->losers, log_->segments(), file_->page_size_bytes(),
                     [&](const UnfinishedChange& change) {
                       if (change.tree == tree) {
                         changes.push_back(change);
                       }
                     });
  }
  return std::make_unique<TreeChanges>(changes);
}

void DamagedDatabase::sort_changes(io::Device& scratch, std::size_t sort_bytes) {
  if (has_losers()) {
    changes_.emplace(scratch, bulk::SortOptions{.memory_bytes = sort_bytes, .threads = 0});
    not_undone_ =
        visit_unfinished(log_->analysis()->losers, log_->segments(), file_->page_size_bytes(),
                         [&](const UnfinishedChange& change) { changes_->add(change); });
    changes_->finish();
  }
}

void DamagedDatabase::look(io::Device& scratch, std::size_t sort_bytes, bool with_doubtful,
                           FunctionRef<void(std::uint64_t pages)> done) {
  uses_.emplace(*file_);
  if (log_->analysis() != nullptr) {
    log_->analysis()->space.visit([&](const PageRange& range) { uses_->say(range); });
  }
  directory_.emplace(*file_, *uses_, log_->lost(), log_->is_consistent());
  leaves_.emplace(scratch, bulk::SortOptions{.memory_bytes = sort_bytes, .threads = 0});
  directory_->scan([&](const btree::LeafView& leaf) { leaves_->add(leaf); }, done);
  DefinitionFinder finder(*directory_, log_->known_up_to(), with_doubtful,
                          [this](TreeId tree) { return changes_of(tree); });
  definitions_ = finder.find(file_->catalog_root());
  leaves_->finish(*directory_, with_doubtful);
  sort_changes(scratch, sort_bytes);
}

void DamagedDatabase::read(TreeId tree, RecordSink& sink) {
  TreeChanges none(std::vector<UnfinishedChange>{});
  if (changes_) {
    changes_->begin(tree);
  }
  ChangeSource& changes = changes_ ? static_cast<ChangeSource&>(*changes_) : none;
  CommittedRecords records(*directory_, definitions_.bulks, changes, log_->known_up_to(), sink);
  sweep(*leaves_, records);
  younger_ += records.younger_leaves();
}

void DamagedDatabase::tell(SalvageReport& report) const {
  report.has_all_definitions = definitions_.is_whole;
  report.damaged_definitions = definitions_.damaged;
  report.log_fault = log_->what_is_wrong();
  report.pages_beyond_log = younger_;
  report.transactions_not_undone = not_undone_;
  report.pages = pages();
  report.damaged_pages = directory_->damaged();
  report.doubtful_pages = directory_->doubtful();
  report.is_header_made = is_header_made_;
}

}  // namespace palimpsest::engine
