#include "txn/decision.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "txn/transactions.h"

namespace palimpsest::txn {

void Decision::add(versioning::Fate& fate) noexcept {
  const auto at = std::ranges::find_if(
      others_, [&](const versioning::Fate* other) { return other == &fate || other == nullptr; });
  check(at != others_.end(), "a transaction decides on definitions, and on a bulk");
  *at = &fate;
}

template <class Use>
void Decision::for_each(Use&& use) noexcept {
  use(own_);
  for (versioning::Fate* const fate : others_) {
    fate != nullptr ? use(*fate) : void();
  }
}

void Decision::announce() noexcept {
  for_each([](versioning::Fate& fate) { fate.announce(); });
}

void Decision::date(Gsn timestamp) noexcept {
  for_each([&](versioning::Fate& fate) { fate.date(timestamp); });
}

void Decision::commit(Gsn date) noexcept {
  if (redefines()) {
    all_.begin_publishing(date);
    publishes_ = true;
  }
  for_each([](versioning::Fate& fate) { fate.commit(); });
  others_ = {};
}

void Decision::abort() noexcept {
  for_each([](versioning::Fate& fate) { fate.abort(); });
}

void Decision::end(const Transaction& transaction, bool committed) noexcept {
  for (versioning::Fate* const fate : std::exchange(others_, {})) {
    fate != nullptr ? fate->abort() : void();
  }
  if (EndListener* const listener = std::exchange(listener_, nullptr)) [[unlikely]] {
    listener->ended(transaction, committed);
  }
  if (std::exchange(publishes_, false)) [[unlikely]] {
    all_.end_publishing();
  }
}

}  // namespace palimpsest::txn
