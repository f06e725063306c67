#include "engine/table/key_list.h"

#include <algorithm>

namespace palimpsest::engine {

KeyList::KeyList(const KeySpace& space, std::span<const Key> keys) {
  keys_.reserve(keys.size());
  if (!std::ranges::all_of(keys, &Key::is_encoded)) {
    encode(space, keys);
    return;
  }
  for (const Key& key : keys) {
    space.require_whole(key.bytes());
    keys_.push_back(key.bytes());
  }
}

// Copies all keys first; views are taken when the copies do not move any more.
void KeyList::encode(const KeySpace& space, std::span<const Key> keys) {
  std::vector<std::size_t> ends;
  ends.reserve(keys.size());
  for (const Key& key : keys) {
    KeyMemory memory;
    bytes_.append(space.whole(key, memory));
    ends.push_back(bytes_.size());
  }
  for (std::size_t begin = 0; const std::size_t end : ends) {
    keys_.push_back(ByteView(bytes_).substr(begin, end - begin));
    begin = end;
  }
}

}  // namespace palimpsest::engine
