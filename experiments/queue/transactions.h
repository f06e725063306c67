// The two transactions of the queue, over any store: put a job in; take the oldest one out.
//
//   Outcome put(S& session, const JobKey& key)
//   Outcome take(S& session)       rolled back if no job waits
// Taking finds the oldest job by a scan from the front, reads it, and erases it. Two concurrent
// takes find the same job; one of them gets a conflict, and may be run again.
// Failure: DamagedRecord for a job that differs from what was put; the session's errors.
// Thread-safety: that of the session.
#pragma once

#include <limits>

#include "experiments/oltp/table_session.h"
#include "experiments/queue/job.h"
#include "experiments/tables/session.h"
#include "experiments/tables/transaction_scope.h"

namespace palimpsest::experiments::queue {

/// All keys lie between these.
inline constexpr JobKey kFirstJob{0, 0};
inline constexpr JobKey kLastJob{std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<Number>::max()};

template <StoreSession S>
class TableSession : public oltp::TableSession<S> {
  using Base = oltp::TableSession<S>;

 public:
  using Base::Base;

  /// Missing: no job waits.
  Access find_oldest(JobKey& key, JobRow& row) {
    bool found = false;
    const Access access = Base::visit_rows(kFirstJob, kLastJob, Direction::forward,
                                           [&](const JobKey& at, const JobRow& there) {
                                             key = at;
                                             row = there;
                                             found = true;
                                             return false;
                                           });
    return access == Access::done && !found ? Access::missing : access;
  }
};

template <class S>
Outcome put(S& session, const JobKey& key) {
  TransactionScope scope(session, Intent::read_write);
  return scope.insert(key, job_of(key)) ? scope.commit() : Outcome::conflict;
}

template <class S>
Outcome take(S& session) {
  TransactionScope scope(session, Intent::read_write);
  JobKey key;
  JobRow job;
  const Access found = session.find_oldest(key, job);
  if (found != Access::done) {
    return found == Access::missing ? Outcome::rolled_back : Outcome::conflict;
  }
  if (job != job_of(key)) {
    oltp::report_damaged_bytes(describe(key));
  }
  // Missing: without a snapshot, another transaction may have taken it meanwhile.
  return session.erase(key) == Access::done ? scope.commit() : Outcome::conflict;
}

}  // namespace palimpsest::experiments::queue
