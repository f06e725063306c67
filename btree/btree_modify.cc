// Changes values by a function of the caller (btree.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "palimpsest/error.h"

#include "btree/btree.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;
using versioning::kNoWriter;

namespace {

bool may_modify(const Written& record) noexcept {
  return record.existed && record.conflicting_writer == kNoWriter;
}

[[noreturn]] void refuse_in_place(ByteView key) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the value of the key of {} bytes is stored outside its leaf and cannot "
                          "be changed in place",
                          key.size()));
}

}  // namespace

Written BTree::edit_for(const WriteContext& by, ByteView key, Edit change, LastLeaf* last) {
  check_key(key);
  if (by.is_bulk()) [[unlikely]] {
    return edit_in_bulk(by, key, change, last);
  }
  ExclusivePage leaf = leaf_to_write(by, key, last);
  RecordChange record(by, leaf, descent_.pool().space(), key, page_size());
  const Written written{.existed = record.exists(),
                        .conflicting_writer = record.conflicting_writer()};
  if (!may_modify(written)) {
    record.release_unwritten();
  } else if (record.is_large()) {
    record.release_unwritten();
    refuse_in_place(key);
  } else {
    edit_in(by, record, change);
    let_go(by, std::move(leaf), key, record.slot(), last);
  }
  return written;
}

/// Changes a record in place; it exists, has no conflicting writer, and is not large.
void BTree::edit_in(const WriteContext& by, RecordChange& record, Edit change) {
  record.claim();
  ValueBuffer memory;
  ValueEditor value(as_chars(record.value_bytes()), memory.data(record.value_bytes().size()));
  try {
    change(value);
  } catch (...) {
    value.restore();
    throw;
  }
  if (by.log() != nullptr) {
    record.log_edited(value);
  }
}

ManyWritten BTree::edit_many(const WriteContext& by, std::span<const ByteView> keys,
                             EditMany change) {
  std::ranges::for_each(keys, [&](ByteView key) { check_key(key); });
  if (by.is_bulk()) [[unlikely]] {
    return edit_many_in_bulk(by, keys, change);
  }
  std::array<KeyPlace, kKeysTogether> memory;
  std::span<KeyPlace> places;
  for (std::size_t done = 0; done < keys.size();) {
    if (places.empty()) {
      places = std::span(memory).first(std::min(kKeysTogether, keys.size() - done));
      find_places(descent_, keys.subspan(done, places.size()), places, Purpose::write);
    }
    Written one;
    const std::size_t changed = edit_in_one_leaf(
        by, keys.subspan(done), places,
        [&](std::size_t number, ValueEditor& value) { change(done + number, value); }, one);
    if (changed == 0) {
      return {.done = done, .refused = outcome_of(one, keys[done])};
    }
    done += changed;
    places = places.subspan(changed);
  }
  return {.done = keys.size(), .refused = {}};
}

// Returns how many were changed; if none, `refused` says why. While the leaf is latched, all but
// the first change only if the reservation covers them. A record that is no longer in the leaf ends
// the batch, and is searched for again.
std::size_t BTree::edit_in_one_leaf(const WriteContext& by, std::span<const ByteView> keys,
                                    std::span<const KeyPlace> places, EditMany change,
                                    Written& refused) {
  std::size_t beside = 1;
  while (beside < places.size() && places[beside].is_known() &&
         places[beside].is_beside(places.front())) {
    ++beside;
  }
  by.prepare_some(keys.first(beside), page_size());
  bool is_as_found = false;
  ExclusivePage leaf = leaf_at(by, places.front(), keys.front(), is_as_found);
  std::size_t done = 0;
  SlotIndex slot = 0;
  bool is_large = false;
  do {
    const ByteView key = keys[done];
    RecordChange record(
        by, leaf, descent_.pool().space(), key, page_size(),
        is_as_found ? places[done].at : LeafView(leaf.page(), page_size()).find(key));
    refused = {.existed = record.exists(), .conflicting_writer = record.conflicting_writer()};
    is_large = may_modify(refused) && record.is_large();
    if (!may_modify(refused) || is_large) {
      break;
    }
    edit_in(by, record, [&](ValueEditor& value) { change(done, value); });
    slot = record.slot();
    ++done;
  } while (done < beside && by.has_at_hand(keys[done], page_size()));
  if (done != 0) {
    let_go(by, std::move(leaf), keys[done - 1], slot, nullptr);
    return done;
  }
  LeafEntries(leaf, page_size()).release_unwritten();
  if (is_large) {
    refuse_in_place(keys.front());
  }
  return 0;
}

// As leaf_to_write(), which also prepares. `is_as_found`: the place is still valid, and so are
// those in the same leaf: slots do not move while values change.
ExclusivePage BTree::leaf_at(const WriteContext& by, const KeyPlace& place, ByteView key,
                             bool& is_as_found) {
  if (place.is_known()) [[likely]] {
    auto known = descent_.pool().remembered(place.frame, place.version);
    if (known) [[likely]] {
      auto leaf = (*std::move(known)).to_exclusive();
      if (leaf && !resolver_.is_in_the_way(by, *leaf, key)) [[likely]] {
        is_as_found = true;
        return *std::move(leaf);
      }
      if (leaf) {
        LeafEntries(*leaf, page_size()).release_unwritten();
      }
    }
  }
  return leaf_to_write(by, key, nullptr);
}

// Not in place: the old value becomes the shadow. No other writer changes the record between find()
// and the store: a bulk has the table to itself.
Written BTree::edit_in_bulk(const WriteContext& by, ByteView key, Edit change, LastLeaf* last) {
  ValueBuffer value(page_size());
  const Found found = find(key, value, last, by.newest());
  if (!found.exists) {
    return {.existed = false};
  }
  if ((found.flags & kLargeValue) != 0) {
    refuse_in_place(key);
  }
  ValueBuffer memory(page_size());
  ValueEditor editor(as_chars(value.mutable_bytes()), memory.data(value.mutable_bytes().size()));
  change(editor);
  return write_stored(by, key, {.value = value.view()}, WriteMode::update, last);
}

ManyWritten BTree::edit_many_in_bulk(const WriteContext& by, std::span<const ByteView> keys,
                                     EditMany change) {
  for (std::size_t done = 0; done < keys.size(); ++done) {
    const auto change_one = [&](ValueEditor& value) { change(done, value); };
    const Written one = edit_in_bulk(by, keys[done], change_one, nullptr);
    if (!may_modify(one)) {
      return {.done = done, .refused = outcome_of(one, keys[done])};
    }
  }
  return {.done = keys.size(), .refused = {}};
}

}  // namespace palimpsest::btree
