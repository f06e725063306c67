#include "tests/buffer/page_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"

namespace palimpsest::test {
namespace {

using buffer::PageFile;
using buffer::PageWriter;
using buffer::SpaceMap;

constexpr std::uint32_t kPageSize = 4096;

std::uint64_t pattern(PageId id, std::uint64_t version) {
  std::uint64_t state = raw(id) * 1'000'003 + version;
  return splitmix64(state);
}

}  // namespace

void fill_image(MutableBytes image, PageId id, std::uint64_t version) {
  buffer::PageHeader header{};
  header.page_id = id;
  header.gsn = Gsn{version};
  header.type = buffer::PageType::tree_leaf;
  std::memcpy(image.data(), &header, sizeof(header));
  std::uint64_t word = pattern(id, version);
  for (std::size_t at = sizeof(header); at < image.size(); at += sizeof(word)) {
    std::memcpy(image.data() + at, &word, sizeof(word));
    word += 0x9e3779b97f4a7c15U;
  }
}

std::optional<std::uint64_t> version_of(ConstBytes image, PageId id) {
  const std::uint64_t version = raw(buffer::header_of(image).gsn);
  std::vector<std::byte> expected(image.size());
  fill_image(expected, id, version);
  const std::size_t from = sizeof(buffer::PageHeader);
  const bool same =
      std::memcmp(expected.data() + from, image.data() + from, image.size() - from) == 0;
  return same ? std::optional(version) : std::nullopt;
}

PageWorkload::PageWorkload(const SimDisk& disk, const WorkloadOptions& options)
    : disk_(disk), options_(options), random_(options.seed), device_(disk_.device()) {}

void PageWorkload::start(std::unique_ptr<PageFile> file) {
  auto writer = std::make_unique<PageWriter>(*file);
  map_ = std::make_unique<SpaceMap>(*file);
  writer_ = std::move(writer);
  file_ = std::move(file);
}

void PageWorkload::create() {
  start(PageFile::create(*device_, buffer::kPageFileName,
                         {.page_size_bytes = kPageSize,
                          .ring_batches = options_.ring_batches,
                          .batch_pages = buffer::kBatchPagesMin,
                          .uuid = Uuid{}}));
}

void PageWorkload::step() {
  steps_ = std::min(steps_ + 1, options_.steps);
  if (journal_.pages.size() < 3) {
    allocate_some();
    return;
  }
  const std::uint64_t dice = random_.below(100);
  if (dice < 50) {
    write_some();
  } else if (dice < 60) {
    allocate_some();
  } else if (dice < 66) {
    free_some();
  } else if (dice < 73) {
    write_extent();
  } else if (dice < 80) {
    flush_map();
  } else if (dice < 85) {
    set_root();
  } else if (dice < 90) {
    harden();
  } else if (dice < 94 || !options_.reopens) {
    truncate();
  } else {
    reopen();
  }
}

PageId PageWorkload::some_page() {
  auto page = journal_.pages.begin();
  std::advance(page, static_cast<std::ptrdiff_t>(random_.below(journal_.pages.size())));
  return page->first;
}

void PageWorkload::write_some() {
  PageSet chosen;
  for (std::uint64_t i = random_.between(1, options_.batch_pages_most); i != 0; --i) {
    chosen.insert(some_page());
  }
  PageWriter::Batch batch = writer_->begin_batch();
  for (const PageId id : chosen) {
    fill_image({batch.slot(), kPageSize}, id, ++last_version_);
    batch.add(id);
    journal_.pages[id].newest = last_version_;
    batch_[id] = last_version_;
  }
  try {
    batch.write();
  } catch (const Error&) {
    failed_batch_ = std::exchange(batch_, {});
    throw;
  }
  in_place_.merge(std::exchange(batch_, {}));
  for (const PageId id : chosen) {
    in_place_[id] = journal_.pages[id].newest;
  }
}

void PageWorkload::allocate_some() {
  for (std::uint64_t i = random_.between(1, 3); i != 0; --i) {
    const PageId id = map_->allocate(static_cast<std::uint32_t>(random_.below(3)));
    // An image of an earlier life may still be there, nothing newer.
    journal_.pages[id] = {.newest = last_version_};
  }
}

void PageWorkload::free_some() {
  const PageId id = some_page();
  if (id == journal_.root) {
    return;  // in use
  }
  journal_.pages.erase(id);
  in_place_.erase(id);
  map_->free(id);
}

void PageWorkload::write_extent() {
  const auto pages = static_cast<std::uint32_t>(random_.between(1, 5));
  const std::vector<buffer::PageRun> runs = map_->allocate_extent(pages, 3);
  const AlignedMemory memory(pages * std::size_t{kPageSize}, kPageSize);
  std::vector<buffer::PageImage> images;
  for (const buffer::PageRun& run : runs) {
    for (std::uint32_t i = 0; i < run.pages; ++i) {
      const PageId id{raw(run.first) + i};
      const MutableBytes image = memory.bytes().subspan(images.size() * kPageSize, kPageSize);
      fill_image(image, id, ++last_version_);
      images.push_back({id, image});
      journal_.pages[id] = {.newest = last_version_};
    }
  }
  writer_->write_fresh(images);
  for (const buffer::PageImage& image : images) {
    in_place_[image.id] = journal_.pages[image.id].newest;
  }
}

void PageWorkload::flush_map() {
  auto used = std::make_shared<PageSet>();
  for (const auto& [id, history] : journal_.pages) {
    used->insert(id);
  }
  journal_.maps.push_back(std::move(used));
  map_batch_ = journal_.maps.size();
  try {
    map_->flush(*writer_);
  } catch (const Error&) {
    map_failed_ = std::exchange(map_batch_, 0) != 0;
    throw;
  }
  map_in_place_ = std::exchange(map_batch_, 0);
}

void PageWorkload::set_root() {
  journal_.root_next = some_page();
  file_->set_catalog_root(journal_.root_next);
  journal_.root = journal_.root_next;
}

void PageWorkload::harden() {
  writer_->harden();
  note_synced();
}

void PageWorkload::truncate() {
  map_->truncate_free_tail();
}

void PageWorkload::close() {
  flush_map();
  harden();
  file_->close_cleanly();
  map_.reset();
  writer_.reset();
  file_.reset();
}

void PageWorkload::reopen() {
  close();
  start(PageFile::open(*device_, buffer::kPageFileName));
}

/// Everything in place is durable.
void PageWorkload::note_synced() {
  for (const auto& [id, version] : in_place_) {
    if (const auto page = journal_.pages.find(id); page != journal_.pages.end()) {
      page->second.hardened = version;
    }
  }
  in_place_.clear();
  journal_.map_hardened = std::max(journal_.map_hardened, map_in_place_);
}

PageJournal PageWorkload::journal_of_reads() const {
  PageJournal journal = journal_;
  if (file_->failed()) {
    for (const auto& [id, version] : failed_batch_) {
      journal.pages.erase(id);
    }
    if (map_failed_) {
      journal.map_hardened = 0;
    }
  }
  return journal;
}

void PageWorkload::observe(const SimOperation& operation) {
  const bool writes_pages = operation.kind == SimKind::write && file_ != nullptr &&
                            operation.offset_bytes >= file_->offset_of(file_->first_page());
  const bool in_batch = !batch_.empty() || map_batch_ != 0;
  if (!writes_pages || !in_batch || writer_->atomic_writes()) {
    return;
  }
  // A batch goes in place: the sync of its copy has succeeded.
  note_synced();
  for (const auto& [id, version] : batch_) {
    journal_.pages[id].copied = true;
  }
}

namespace {

std::string judge_page(PageFile& file, PageId id, const PageHistory& history,
                       const AlignedMemory& memory) {
  try {
    file.read_page(id, memory.bytes());
  } catch (const Error& error) {
    return history.hardened == 0 && !history.copied
               ? ""
               : fmt::format("hardened {} newest {}: {}", history.hardened, history.newest,
                             error.what());
  }
  const std::optional<std::uint64_t> version = version_of(memory.bytes(), id);
  if (!version) {
    return fmt::format("page {} is a mixture", raw(id));
  }
  if (*version < history.hardened || *version > history.newest) {
    return fmt::format("page {} has version {}, hardened {}, newest {}", raw(id), *version,
                       history.hardened, history.newest);
  }
  return "";
}

std::string judge_map(PageFile& file, const PageJournal& journal) {
  if (journal.map_hardened == 0) {
    return "";
  }
  const SpaceMap map(file);
  for (std::size_t i = journal.map_hardened - 1; i < journal.maps.size(); ++i) {
    const PageSet& used = *journal.maps[i];
    bool same = true;
    for (std::uint64_t page = raw(file.first_page()) + 1; page < file.page_count() && same;
         ++page) {
      same = map.is_allocated(PageId{page}) == used.contains(PageId{page});
    }
    if (same) {
      return "";
    }
  }
  return "the space map is none of those that were flushed";
}

}  // namespace

std::string judge(PageFile& file, const PageJournal& journal) {
  const AlignedMemory memory(file.page_size_bytes(), file.page_size_bytes());
  for (const auto& [id, history] : journal.pages) {
    if (std::string fault = judge_page(file, id, history, memory); !fault.empty()) {
      return fault;
    }
  }
  const PageId root = file.catalog_root();
  if (root != journal.root && root != journal.root_next) {
    return fmt::format("catalog root {} is neither {} nor {}", raw(root), raw(journal.root),
                       raw(journal.root_next));
  }
  return judge_map(file, journal);
}

}  // namespace palimpsest::test
