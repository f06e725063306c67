// Changes of a transaction that are one call of a tree each. A base of Transaction, which documents
// them.
#pragma once

#include "base/bytes.h"
#include "btree/btree.h"
#include "btree/last_leaf.h"
#include "btree/write_outcome.h"

namespace palimpsest::txn {

/// `Of` has write(call).
template <class Of>
class TreeCalls {
 public:
  [[nodiscard]] btree::WriteOutcome insert(btree::BTree& tree, ByteView key, ByteView value,
                                           btree::LastLeaf* last = nullptr) {
    return change(tree, key, [&](const auto& by) { return tree.insert(by, key, value, last); });
  }
  [[nodiscard]] btree::WriteOutcome upsert(btree::BTree& tree, ByteView key, ByteView value,
                                           btree::LastLeaf* last = nullptr) {
    return change(tree, key, [&](const auto& by) { return tree.upsert(by, key, value, last); });
  }
  [[nodiscard]] btree::WriteOutcome update(btree::BTree& tree, ByteView key, ByteView value,
                                           btree::LastLeaf* last = nullptr) {
    return change(tree, key, [&](const auto& by) { return tree.update(by, key, value, last); });
  }
  [[nodiscard]] btree::WriteOutcome remove(btree::BTree& tree, ByteView key,
                                           btree::LastLeaf* last = nullptr) {
    return change(tree, key, [&](const auto& by) { return tree.remove(by, key, last); });
  }
  /// change(MutableBytes) as BTree::modify().
  template <class Change>
  [[nodiscard]] btree::WriteOutcome modify(btree::BTree& tree, ByteView key, Change&& change,
                                           btree::LastLeaf* last = nullptr) {
    return this->change(tree, key, [&](const auto& by) {
      return tree.edit(by, key, btree::of_all_bytes(change), last);
    });
  }

 private:
  friend Of;
  TreeCalls() = default;

  /// Whatever its outcome, a change reads whether the record exists.
  template <class Call>
  [[nodiscard]] btree::WriteOutcome change(const btree::BTree& tree, ByteView key, Call&& call) {
    return self().write([&](const btree::WriteContext& by) {
      by.note_read(tree.id(), key);
      return call(by);
    });
  }

  [[nodiscard]] Of& self() noexcept { return static_cast<Of&>(*this); }
};

}  // namespace palimpsest::txn
