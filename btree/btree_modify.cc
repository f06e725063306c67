// Changes of a value by a function of the caller (btree.h).
#include <fmt/format.h>

#include "palimpsest/error.h"

#include "btree/btree.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;
using versioning::kNoWriter;

void BTree::refuse_in_place(ByteView key) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the value of the key of {} bytes is stored outside its leaf and cannot "
                          "be changed in place",
                          key.size()));
}

Written BTree::modify_for(const WriteContext& by, ByteView key,
                          FunctionRef<void(MutableBytes)> change, LastLeaf* last) {
  check_key(key);
  if (by.is_bulk()) [[unlikely]] {
    return modify_in_bulk(by, key, change, last);
  }
  ExclusivePage leaf = leaf_to_write(by, key, last);
  RecordChange record(by, leaf, descent_.pool().space(), key, page_size());
  Written written{.existed = record.exists(), .rival = record.rival()};
  if (claim_to_modify(record, written, key)) {
    const MutableBytes value = record.value_bytes();
    ValueBuffer before;
    if (by.log != nullptr) {
      before.assign_clamped(as_view(value.data(), value.size()));
    }
    change_whole(change, value, before.view());
    if (by.log != nullptr) {
      record.log_modified(before.view());
    }
    let_go(by, std::move(leaf), key, record.slot(), last);
  }
  return written;
}

// Out of place: the value that was there becomes the shadow. Nobody else changes the record between
// looking and storing: a bulk has the table to itself.
Written BTree::modify_in_bulk(const WriteContext& by, ByteView key,
                              FunctionRef<void(MutableBytes)> change, LastLeaf* last) {
  ValueBuffer value;
  const Found found = find(key, value, last, by.newest());
  if (!found.exists) {
    return {.existed = false};
  }
  if ((found.flags & kLargeValue) != 0) {
    refuse_in_place(key);
  }
  change(value.mutable_bytes());
  return write_stored(by, key, {.value = value.view()}, WriteMode::update, last);
}

// False if it must not be changed: the leaf has been let go.
bool BTree::claim_to_modify(RecordChange& record, const Written& written, ByteView key) {
  if (!written.existed || written.rival != kNoWriter) {
    record.release_unwritten();
    return false;
  }
  if (record.is_large()) {
    record.release_unwritten();
    refuse_in_place(key);
  }
  record.claim();
  return true;
}

}  // namespace palimpsest::btree
