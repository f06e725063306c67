// Leaves of a damaged tree in the order of their keys: which of them decides what each range of
// keys holds, and which ranges no leaf tells of.
//
// A leaf says what its tree holds between its fences: the records that it has, and no others.
// Leaves of one age do not overlap. Where the log could not be replayed, pages are of different
// ages: an older leaf may go on to where a younger one begins. Then the younger one decides, by its
// GSN, for the range that both cover: ranges change hands between leaves by changes that give the
// receiver a higher GSN, so whatever the older one says there was over before.
//
//   older   |--------------------------|
//   younger            |----------|
//   decides older      younger     older          what lies behind the last fence is a gap
//
// Thread-safety: belongs to one thread. Failure: what source and sink throw.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/node/leaf_node.h"

namespace palimpsest::engine {

/// A leaf, by its fences.
struct LeafRef {
  PageId page{};
  Gsn gsn{};
  std::string lower;
  std::optional<std::string> upper;  ///< nothing: it has no upper fence

  [[nodiscard]] static LeafRef of(const btree::LeafView& leaf);
  /// As bytes, but for the lower fence.
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static LeafRef decode(ByteView lower, ByteView bytes);
};

/// Leaves of one tree, ascending by their lower fences.
class LeafSource {
 public:
  LeafSource() = default;
  LeafSource(const LeafSource&) = delete;
  LeafSource& operator=(const LeafSource&) = delete;
  virtual ~LeafSource() = default;

  /// Nothing at the end.
  [[nodiscard]] virtual std::optional<LeafRef> next() = 0;
};

/// Keys from `from` on, before `to`; nothing: up to the end.
struct KeyPart {
  ByteView from;
  std::optional<ByteView> to;
};

class LeafSink {
 public:
  LeafSink() = default;
  LeafSink(const LeafSink&) = delete;
  LeafSink& operator=(const LeafSink&) = delete;
  virtual ~LeafSink() = default;

  /// The leaf decides what lies there.
  virtual void take(const LeafRef& leaf, const KeyPart& part) = 0;
  /// No leaf does.
  virtual void miss(const KeyPart& part) = 0;
};

/// Goes through all keys, in ascending parts.
void sweep(LeafSource& leaves, LeafSink& sink);

}  // namespace palimpsest::engine
