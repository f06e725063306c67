#include "engine/salvage/leaf_sweep.h"

#include <algorithm>
#include <cstring>
#include <list>

namespace palimpsest::engine {
namespace {

/// What of a leaf is sorted beside its lower fence; the upper fence follows.
struct EncodedLeaf {
  std::uint64_t page;
  std::uint64_t gsn;
  std::uint64_t is_bounded;
};

class Sweep {
 public:
  Sweep(LeafSource& leaves, LeafSink& sink) : leaves_(leaves), sink_(sink) {}

  void run() {
    coming_ = leaves_.next();
    while (!is_done_) {
      take_in();
      if (active_.empty()) {
        pass(std::nullopt);
      } else {
        pass(*std::ranges::max_element(active_, {}, &LeafRef::gsn));
      }
    }
  }

 private:
  [[nodiscard]] bool is_over(const LeafRef& leaf) const { return leaf.upper && *leaf.upper <= at_; }
  /// Lets go of leaves that end here or before, and takes those that begin.
  void take_in() {
    std::erase_if(active_, [&](const LeafRef& leaf) { return is_over(leaf); });
    for (; coming_ && coming_->lower <= at_; coming_ = leaves_.next()) {
      if (!is_over(*coming_)) {
        active_.push_back(std::move(*coming_));
      }
    }
  }
  /// Goes on to where the owner's part ends, nothing: that of the gap: at its fence, or where a
  /// younger leaf begins.
  void pass(const std::optional<LeafRef>& owner) {
    std::optional<std::string> to = owner ? owner->upper : std::nullopt;
    while (coming_ && (!to || coming_->lower < *to)) {
      if (!owner || coming_->gsn > owner->gsn) {
        to = coming_->lower;
        break;
      }
      active_.push_back(std::move(*coming_));
      coming_ = leaves_.next();
    }
    const KeyPart part{.from = at_, .to = to};
    owner ? sink_.take(*owner, part) : sink_.miss(part);
    is_done_ = !to;
    at_ = to.value_or("");
  }

  LeafSource& leaves_;
  LeafSink& sink_;
  std::optional<LeafRef> coming_;
  std::list<LeafRef> active_;
  std::string at_;
  bool is_done_ = false;
};

}  // namespace

LeafRef LeafRef::of(const btree::LeafView& leaf) {
  LeafRef ref{.page = leaf.page_id(),
              .gsn = buffer::header_of(leaf.bytes()).gsn,
              .lower = std::string(leaf.lower_fence()),
              .upper = {}};
  if (!leaf.upper_is_infinite()) {
    ref.upper = std::string(leaf.upper_fence());
  }
  return ref;
}

std::string LeafRef::encode() const {
  const EncodedLeaf head{.page = raw(page), .gsn = raw(gsn), .is_bounded = upper ? 1U : 0U};
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes + upper.value_or("");
}

LeafRef LeafRef::decode(ByteView lower, ByteView bytes) {
  EncodedLeaf head{};
  std::memcpy(&head, bytes.data(), sizeof head);
  LeafRef ref{
      .page = PageId{head.page}, .gsn = Gsn{head.gsn}, .lower = std::string(lower), .upper = {}};
  if (head.is_bounded != 0) {
    ref.upper = std::string(bytes.substr(sizeof head));
  }
  return ref;
}

void sweep(LeafSource& leaves, LeafSink& sink) {
  Sweep(leaves, sink).run();
}

}  // namespace palimpsest::engine
