#include "versioning/writer.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
#include "versioning/unchanged_page.h"

namespace palimpsest::versioning {

namespace {

constexpr std::size_t kClaimsMin = 16;

}  // namespace

Writer::Writer(EntryMemory& memory, WriterId id)
    : memory_(memory), id_(id), prepared_(nullptr, EntryDeleter{&memory}) {
  check(id != kNoWriter, "a writer has a transaction id");
  spares_.reserve(kSparesMax);
  tables_.reserve(kSparesMax);
}

Writer::~Writer() {
  end();
  while (!tables_.empty()) {
    static_cast<void>(take_table());
  }
}

void Writer::set_aside(std::size_t claims, std::size_t key_bytes) {
  if (claims_.capacity() - claims_.size() < claims) {
    claims_.reserve(std::max(kClaimsMin, 2 * claims_.size() + claims));
  }
  if (prepared_ == nullptr && !spares_.empty()) {
    prepared_ = std::move(spares_.back());
    spares_.pop_back();
  }
  if (prepared_ == nullptr || !prepared_->has_room_for(key_bytes)) {
    prepared_ = Entry::make(memory_, key_bytes);
  }
}

void Writer::prepare_many(std::size_t count, std::size_t key_bytes) {
  check(count <= kManyMax, "no more entries are set aside than can be kept");
  set_aside(count, key_bytes);
  std::size_t fitting = 1;
  for (EntryPtr& spare : spares_) {
    if (fitting < count && !spare->has_room_for(key_bytes)) {
      spare = Entry::make(memory_, key_bytes);
    }
    ++fitting;
  }
  for (; fitting < count; ++fitting) {
    spares_.push_back(Entry::make(memory_, key_bytes));
  }
}

// More entries may have been recycled since this one was set aside.
EntryPtr Writer::take_spare(std::size_t key_bytes) noexcept {
  const auto fitting = std::ranges::find_if(
      spares_, [&](const EntryPtr& spare) { return spare->has_room_for(key_bytes); });
  check(fitting != spares_.end(), "a claim is prepared");
  std::swap(*fitting, spares_.back());
  EntryPtr taken = std::move(spares_.back());
  spares_.pop_back();
  return taken;
}

// If it has versions, the thread that collects them takes it out of its table. A thread that has
// just collected the last one may still be at the chain: then the entry stays, and is counted as
// empty.
void Writer::give_up(Entry& entry) noexcept {
  if (entry.has_versions()) {
    entry.release();
    return;
  }
  UnchangedPage page(entry);
  entry.release();
  if (page.holds() && entry.is_empty()) {
    page.take_out(entry, this);
  }
}

void Writer::end_since(std::size_t claims) noexcept {
  for (Entry* entry : std::span(claims_).subspan(claims)) {
    give_up(*entry);
  }
  claims_.resize(claims);
}

}  // namespace palimpsest::versioning
