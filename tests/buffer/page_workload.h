// A random workload on a page file that records, outside of the engine, what a crash may leave.
//
// The oracle. Every image of a page has a version, rising over the whole run. At any moment the
// journal holds, for each page in use:
//   newest    the newest version handed to the writer
//   hardened  the newest version in place when a later sync of the file succeeded
//   copied    whether a version of the page was in a batch whose copy was synced
// After a crash now, and any number of crashes in the restore, the page reads as one whole version
// v with hardened <= v <= newest; it may be damaged only if it was neither hardened nor copied.
// Versions from before a page was freed are older than any of its next life. The space map is one
// of the flushed maps, none older than the newest one hardened; the catalog root is the last one
// set or the one being set.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "buffer/page_file.h"
#include "buffer/page_writer.h"
#include "buffer/space_map.h"
#include "tests/support/sim_disk.h"

namespace palimpsest::test {

/// Makes an image (not sealed) each byte of which follows from page and version.
void fill_image(MutableBytes image, PageId id, std::uint64_t version);
/// The version of a whole image, or nothing if some byte does not match.
[[nodiscard]] std::optional<std::uint64_t> version_of(ConstBytes image, PageId id);

struct PageHistory {
  std::uint64_t newest = 0;
  std::uint64_t hardened = 0;
  bool copied = false;
};

using PageSet = std::set<PageId>;

/// What a crash may leave; a copy is taken at every crash point.
struct PageJournal {
  std::map<PageId, PageHistory> pages;
  std::vector<std::shared_ptr<const PageSet>> maps;  ///< pages in use, at each flush begun
  std::size_t map_hardened = 0;                      ///< number of the map, plus 1; 0 none
  PageId root = kNoPage;
  PageId root_next = kNoPage;
};

struct WorkloadOptions {
  std::uint64_t seed = 1;
  std::uint32_t ring_batches = 2;
  std::uint32_t steps = 24;
  std::uint32_t batch_pages_most = 6;  ///< pages of one batch, at most
  bool reopens = true;                 ///< whether steps may close and reopen the file
};

class PageWorkload {
 public:
  PageWorkload(const SimDisk& disk, const WorkloadOptions& options);

  /// Creates the file.
  void create();
  /// Takes the next step; throws what the engine throws. After an error that leaves the file
  /// usable, the workload may go on.
  void step();
  [[nodiscard]] bool done() const noexcept { return steps_ == options_.steps; }
  void close();

  /// Records an operation that the disk is about to do: call it from the disk's hook.
  void observe(const SimOperation& operation);

  [[nodiscard]] const PageJournal& journal() const noexcept { return journal_; }
  /// What reads must return now: of a failed file, without the pages it failed to write in place.
  [[nodiscard]] PageJournal journal_of_reads() const;
  [[nodiscard]] buffer::PageFile* file() noexcept { return file_.get(); }
  [[nodiscard]] buffer::PageWriter& writer() noexcept { return *writer_; }
  [[nodiscard]] buffer::SpaceMap& map() noexcept { return *map_; }

 private:
  void start(std::unique_ptr<buffer::PageFile> file);
  void write_some();
  void allocate_some();
  void free_some();
  void write_extent();
  void flush_map();
  void set_root();
  void harden();
  void truncate();
  void reopen();
  void note_synced();
  [[nodiscard]] PageId some_page();

  SimDisk disk_;
  WorkloadOptions options_;
  Random random_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<buffer::PageFile> file_;
  std::unique_ptr<buffer::PageWriter> writer_;
  std::unique_ptr<buffer::SpaceMap> map_;
  std::uint32_t steps_ = 0;
  std::uint64_t last_version_ = 0;
  PageJournal journal_;
  /// In place and not hardened: versions, and the number of a map plus 1.
  std::map<PageId, std::uint64_t> in_place_;
  std::size_t map_in_place_ = 0;
  /// The batch being written.
  std::map<PageId, std::uint64_t> batch_;
  std::size_t map_batch_ = 0;
  /// The last batch that failed.
  std::map<PageId, std::uint64_t> failed_batch_;
  bool map_failed_ = false;
};

/// The errors of the opened file according to the journal; empty if there are none.
[[nodiscard]] std::string judge(buffer::PageFile& file, const PageJournal& journal);

}  // namespace palimpsest::test
