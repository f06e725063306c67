#include "versioning/writer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace palimpsest::versioning {

namespace {

constexpr std::size_t kClaimsMin = 16;

}  // namespace

Writer::Writer(EntryMemory& memory, WriterId id) noexcept
    : memory_(memory), id_(id), spare_(nullptr, EntryDeleter{&memory}) {
  check(id != kNoWriter, "a writer has an id");
}

Writer::~Writer() {
  end();
}

void Writer::prepare(TreeId tree, ByteView key) {
  if (claims_.size() == claims_.capacity()) {
    claims_.reserve(std::max(kClaimsMin, 2 * claims_.size()));
  }
  if (spare_ != nullptr && spare_->has_room_for(key)) {
    spare_->rename(tree, key);
  } else {
    spare_ = Entry::make(memory_, tree, key);
  }
}

void Writer::end() noexcept {
  for (Entry* entry : claims_) {
    entry->release();
  }
  claims_.clear();
}

EntryPtr Writer::take_spare() noexcept {
  debug_check(spare_ != nullptr, "a claim is prepared");
  return std::move(spare_);
}

void Writer::add(Entry& entry) noexcept {
  debug_check(claims_.size() < claims_.capacity(), "a claim is prepared");
  claims_.push_back(&entry);
}

}  // namespace palimpsest::versioning
