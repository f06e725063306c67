#include "txn/commit_decision.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "txn/transactions.h"

namespace palimpsest::txn {

void CommitDecision::add(versioning::CommitStatus& commit_status) noexcept {
  const auto at = std::ranges::find_if(others_, [&](const versioning::CommitStatus* other) {
    return other == &commit_status || other == nullptr;
  });
  check(at != others_.end(),
        "a transaction has no more commit statuses than those of its definitions and of its bulk");
  *at = &commit_status;
}

template <class Use>
void CommitDecision::for_each(Use&& use) noexcept {
  use(own_);
  for (versioning::CommitStatus* const commit_status : others_) {
    commit_status != nullptr ? use(*commit_status) : void();
  }
}

void CommitDecision::announce() noexcept {
  for_each([](versioning::CommitStatus& commit_status) { commit_status.announce(); });
}

void CommitDecision::date(Gsn timestamp) noexcept {
  for_each([&](versioning::CommitStatus& commit_status) { commit_status.date(timestamp); });
}

void CommitDecision::commit(Gsn date) noexcept {
  if (redefines()) {
    all_.begin_publishing(date);
    publishes_ = true;
  }
  for_each([](versioning::CommitStatus& commit_status) { commit_status.commit(); });
  others_ = {};
}

void CommitDecision::abort() noexcept {
  for_each([](versioning::CommitStatus& commit_status) { commit_status.abort(); });
}

void CommitDecision::end(const Transaction& transaction, bool committed) noexcept {
  for (versioning::CommitStatus* const commit_status : std::exchange(others_, {})) {
    commit_status != nullptr ? commit_status->abort() : void();
  }
  if (EndListener* const listener = std::exchange(listener_, nullptr)) [[unlikely]] {
    listener->ended(transaction, committed);
  }
  if (std::exchange(publishes_, false)) [[unlikely]] {
    all_.end_publishing();
  }
}

}  // namespace palimpsest::txn
