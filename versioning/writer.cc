#include "versioning/writer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace palimpsest::versioning {

namespace {

constexpr std::size_t kClaimsMin = 16;

}  // namespace

Writer::Writer(EntryMemory& memory, WriterId id)
    : memory_(memory), id_(id), prepared_(nullptr, EntryDeleter{&memory}) {
  check(id != kNoWriter, "a writer has an id");
  spares_.reserve(kSparesMax);
}

Writer::~Writer() {
  end();
}

void Writer::prepare(TreeId tree, ByteView key) {
  if (claims_.size() == claims_.capacity()) {
    claims_.reserve(std::max(kClaimsMin, 2 * claims_.size()));
  }
  if (prepared_ == nullptr && !spares_.empty()) {
    prepared_ = std::move(spares_.back());
    spares_.pop_back();
  }
  if (prepared_ != nullptr && prepared_->has_room_for(key)) [[likely]] {
    prepared_->rename(tree, key);
  } else {
    prepared_ = Entry::make(memory_, tree, key);
  }
}

void Writer::end() noexcept {
  for (Entry* entry : claims_) {
    entry->release();
  }
  claims_.clear();
}

EntryPtr Writer::take_prepared() noexcept {
  PALIMPSEST_DEBUG_CHECK(prepared_ != nullptr, "a claim is prepared");
  return std::move(prepared_);
}

void Writer::add(Entry& entry) noexcept {
  PALIMPSEST_DEBUG_CHECK(claims_.size() < claims_.capacity(), "a claim is prepared");
  claims_.push_back(&entry);
}

}  // namespace palimpsest::versioning
