// Checks whether records can be appended to a tree (bulk/append.h).
#include <algorithm>
#include <span>

#include "btree/btree.h"

namespace palimpsest::btree {

bool BTree::lie_in_leaves(std::span<const NewRecord> records) const noexcept {
  return std::ranges::all_of(records, [&](const NewRecord& record) {
    return record.key.size() + record.value.size() <= record_bytes_max(page_size());
  });
}

bool BTree::is_beyond_end(ByteView key) const {
  KeyBuffer last;
  for (;;) {
    const auto leaf = descent_.try_node<buffer::OptimisticPage>(Target{key}, 0);
    const auto is_beyond = leaf ? leaf->read([&](const std::byte* page) {
      const LeafView view(page, page_size());
      const SlotIndex count = view.count();
      if (count != 0) {
        view.copy_key(count - 1, last);
      }
      return view.upper_is_infinite() && (count == 0 || last.view() < key);
    })
                                : Attempt<bool>(restart);
    if (is_beyond) {
      return *is_beyond;
    }
  }
}

}  // namespace palimpsest::btree
