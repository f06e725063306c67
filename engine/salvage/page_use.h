// Which pages of a damaged file are in use: what the pages of the space map say, what the log says
// beyond that, and, where a page of the map is damaged, what pages in use name.
//
// A page that is free may hold the sound image of a leaf of the past: its rows have been erased or
// changed since. So a leaf counts only if something says that it is in use.
// Memory: a byte for each page of the file.
// Thread-safety: belongs to one thread.
// Failure: bad_alloc; what cannot be read is unknown.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "buffer/page_file.h"
#include "engine/recovery/page_ranges.h"

namespace palimpsest::engine {

enum class PageUse : std::uint8_t {
  free = 0,
  used,
  map,      ///< a page of the space map
  unknown,  ///< its page of the space map is damaged, or was never written
};

class PageUses {
 public:
  /// Reads the space map. A page of it that is blank says nothing; in a file that was not closed
  /// cleanly it may never have been written, and is not damaged.
  explicit PageUses(buffer::PageFile& file);

  /// What the log says last.
  void say(const PageRange& range);
  /// A page that is in use says that this one is: whether that was not known.
  bool name(PageId page);

  [[nodiscard]] PageUse of(PageId page) const noexcept {
    return contains(page) ? uses_[raw(page) - first_] : PageUse::free;
  }
  /// Up to which GSN the page of the space map tells of this one; 0 if it is damaged.
  [[nodiscard]] Gsn told_up_to(PageId page) const noexcept {
    return contains(page) ? told_[(raw(page) - first_) / stretch_] : Gsn{0};
  }
  [[nodiscard]] bool contains(PageId page) const noexcept {
    return raw(page) >= first_ && raw(page) - first_ < uses_.size();
  }
  [[nodiscard]] const std::vector<PageId>& damaged_maps() const noexcept { return damaged_maps_; }

 private:
  void read_map(buffer::PageFile& file, std::uint64_t stretch, MutableBytes memory);

  const std::uint64_t first_;
  const std::uint64_t stretch_;  ///< pages
  std::vector<PageUse> uses_;
  std::vector<Gsn> told_;  ///< by stretch
  std::vector<PageId> damaged_maps_;
};

}  // namespace palimpsest::engine
