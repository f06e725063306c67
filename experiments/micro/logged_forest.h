// Trees of at most two levels, changed by hand and logged: makes logs for replay, in the benchmark
// and in tests, without a whole engine.
//
// Pages are plain memory, changed by the engine's own functions; each change is passed to a
// callback, with its record's body, before it is visible. So replaying the log on an empty file
// must yield exactly these pages.
// Thread-safety: none. Failure: aborts on keys and values beyond the limits of a page.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned_memory.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "btree/node/inner_node.h"
#include "btree/node/leaf_node.h"
#include "btree/node/node_split.h"

namespace palimpsest::experiments {

class LoggedForest {
 public:
  /// Logs a change: of a transaction, or redo-only. Returns the record's GSN, above `at_least`.
  using Append = std::function<Gsn(bool of_transaction, Gsn at_least, ConstBytes body)>;

  /// `trees` empty trees, numbered from 0, whose pages begin at `first_page`.
  LoggedForest(std::uint32_t page_size, PageId first_page, std::uint32_t trees, Append append);

  /// Inserts a record, splitting its leaf if needed. False if the key exists, or if the tree is
  /// full: the root of two levels has no space.
  bool insert(std::uint32_t tree, ByteView key, ByteView value);
  /// Replaces the value; splits if needed. False if the key is absent, or the tree is full.
  bool update(std::uint32_t tree, ByteView key, ByteView value);
  /// Makes the record a ghost. False if there is none.
  bool remove(std::uint32_t tree, ByteView key);
  /// Purges the ghosts of the key's leaf; false if there are none.
  bool purge(std::uint32_t tree, ByteView key);
  /// Merges the key's leaf with its right neighbour, and both into the root if no other leaf is
  /// left. False if there is no neighbour, or they do not fit.
  bool merge(std::uint32_t tree, ByteView key);

  /// The value of a record, nothing if there is none.
  [[nodiscard]] std::optional<std::string> find(std::uint32_t tree, ByteView key) const;
  /// The pages in use.
  [[nodiscard]] const std::map<PageId, AlignedMemory>& pages() const noexcept { return pages_; }
  /// Freed pages that were not reused.
  [[nodiscard]] std::size_t freed_pages() const noexcept { return freed_.size(); }
  /// The id after the highest page ever used.
  [[nodiscard]] PageId end() const noexcept { return end_; }

 private:
  struct Freed {
    PageId page;
    Gsn gsn;  ///< of the record that freed it
  };

  [[nodiscard]] PageId root(std::uint32_t tree) const noexcept { return roots_[tree]; }
  [[nodiscard]] TreeId id_of(std::uint32_t tree) const noexcept { return TreeId{tree + 1}; }
  [[nodiscard]] std::byte* bytes(PageId page) const { return pages_.at(page).data(); }
  [[nodiscard]] btree::LeafNode leaf(PageId page) const { return {bytes(page), page_size_}; }
  [[nodiscard]] btree::InnerNode inner(PageId page) const { return {bytes(page), page_size_}; }
  [[nodiscard]] PageId leaf_of(std::uint32_t tree, ByteView key) const;
  [[nodiscard]] Gsn gsn_of(PageId page) const;
  void set_gsn(PageId page, Gsn gsn) const;
  /// Makes `to` a copy of the node `from`, but for the page's identity.
  void copy_node(PageId from, PageId to) const;
  [[nodiscard]] PageId take_page(Gsn& at_least);
  void free_page(PageId page, Gsn gsn);
  template <class Change>
  [[nodiscard]] Gsn log(bool of_transaction, Gsn at_least, const Change& change);
  bool split(std::uint32_t tree, ByteView key, std::size_t value_len);
  void split_root(std::uint32_t tree, const btree::SplitPlan& plan);
  void merge_root(std::uint32_t tree, PageId left, PageId right);

  const std::uint32_t page_size_;
  const Append append_;
  std::map<PageId, AlignedMemory> pages_;
  std::vector<PageId> roots_;
  std::vector<Freed> freed_;
  PageId end_;
  std::vector<std::byte> body_;
};

}  // namespace palimpsest::experiments
