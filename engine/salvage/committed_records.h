// The records of a damaged tree as they were last committed, leaf by leaf: what transactions and
// bulks that have not committed did is taken back, and what cannot be told is left out.
//
// Thread-safety: belongs to one thread.
// Failure: what the sink throws; bad_alloc. What cannot be read is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/aligned_memory.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "btree/node/leaf_node.h"
#include "btree/node/virtual_version.h"
#include "bulk/bulk_ledger.h"
#include "engine/salvage/leaf_sweep.h"
#include "engine/salvage/page_directory.h"
#include "engine/salvage/unfinished_changes.h"

namespace palimpsest::engine {

/// The outcomes of bulks, as far as that is known (bulk/bulk_ledger.h).
struct BulkOutcomes {
  bulk::StoredBulks stored{};  ///< what the ledger says; of epochs from `next` on nothing is known
  bool is_whole = true;        ///< the ledger is: other bulks before `next` have committed

  /// Nothing: that is not known.
  [[nodiscard]] std::optional<btree::Resolution> of(BulkEpoch epoch) const;
};

/// Why a record that there may be is not shown.
enum class LeftOut : std::uint8_t {
  large_value = 1,  ///< pages that its value lies in are damaged
  bulk,             ///< a bulk has changed it of which it is not known whether it has committed
  unfinished,       ///< a transaction that has not ended has changed it, and that cannot be undone
  undecodable,      ///< it is no record
};
inline constexpr std::size_t kLeftOutKinds = 5;  ///< an array by LeftOut has so many places

class RecordSink {
 public:
  RecordSink() = default;
  RecordSink(const RecordSink&) = delete;
  RecordSink& operator=(const RecordSink&) = delete;
  virtual ~RecordSink() = default;

  virtual void record(ByteView key, ByteView value) = 0;
  virtual void left_out(ByteView key, LeftOut why) = 0;
  /// No page tells what lies there.
  virtual void miss(const KeyPart& part) = 0;
};

/// Shows the records of one tree in the order of their keys.
class CommittedRecords final : public LeafSink {
 public:
  /// `known_up_to`: changes of pages that are younger are not known from the log. All outlive it.
  CommittedRecords(const PageDirectory& pages, const BulkOutcomes& bulks, ChangeSource& changes,
                   Gsn known_up_to, RecordSink& sink);

  void take(const LeafRef& leaf, const KeyPart& part) override;
  void miss(const KeyPart& part) override { sink_.miss(part); }

  /// Leaves that were read of a file whose pages are of different ages, and are younger than what
  /// is known.
  [[nodiscard]] std::uint64_t younger_leaves() const noexcept { return younger_.size(); }

 private:
  void take_back(btree::LeafNode leaf, const KeyPart& part);
  [[nodiscard]] bool undo(btree::LeafNode leaf, const UnfinishedChange& change) const;
  void show(const btree::LeafView& leaf, btree::SlotIndex slot);
  void show_refused_before(std::optional<ByteView> key);
  void show_value(ByteView key, const btree::RecordState& record);
  [[nodiscard]] std::optional<std::string> large_value(ByteView descriptor) const;

  const PageDirectory& pages_;
  const BulkOutcomes& bulks_;
  ChangeSource& changes_;
  const Gsn known_up_to_;
  RecordSink& sink_;
  const std::uint32_t page_size_;
  AlignedMemory memory_;
  std::vector<std::string> refused_;  ///< keys of the part, ascending, whose changes stay
  std::size_t shown_refused_ = 0;
  std::set<PageId> younger_;
};

}  // namespace palimpsest::engine
