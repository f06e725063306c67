// A queue of jobs on any store, as the driver runs it (oltp/workload.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "experiments/oltp/options.h"
#include "experiments/oltp/table_bench.h"
#include "experiments/oltp/workload.h"
#include "experiments/queue/job.h"
#include "experiments/queue/transactions.h"

namespace palimpsest::experiments::queue {

enum class TransactionType : std::uint8_t { put, take };

inline constexpr std::uint64_t kJobsOfPart = 10'000;

/// Its types of transactions, table, and scale: how many jobs wait.
[[nodiscard]] const oltp::Workload& workload();

/// The change of the number of jobs by committed transactions. Any thread.
struct Traffic {
  std::atomic<std::uint64_t> put{0};
  std::atomic<std::uint64_t> taken{0};
};

/// Whether the number of jobs is right, and each job is as it was put. Wraps if more were taken
/// than existed: then the number is wrong as well.
[[nodiscard]] oltp::CheckResult judge(std::uint64_t found, std::uint64_t damaged,
                                      std::uint64_t expected);

/// The queue as a workload of oltp/table_bench.h.
class Queue {
 public:
  template <StoreSession S>
  using Session = TableSession<S>;

  /// Puts a job and takes one, alternately, so that the number of waiting jobs stays the same.
  class Transactions {
   public:
    /// `traffic` outlives the transactions; no other terminal has that number.
    Transactions(Number producer, Traffic& traffic) noexcept
        : key_{.producer = producer}, traffic_(traffic) {}

    std::size_t choose();
    template <class S>
    Outcome run(S& session) {
      const bool puts = type_ == TransactionType::put;
      const Outcome outcome = puts ? queue::put(session, key_) : queue::take(session);
      if (outcome == Outcome::committed) {
        (puts ? traffic_.put : traffic_.taken).fetch_add(1, std::memory_order_relaxed);
      }
      return outcome;
    }

   private:
    JobKey key_;  ///< of the last job put
    TransactionType type_ = TransactionType::take;
    Traffic& traffic_;
  };

  explicit Queue(const oltp::Options& options) : jobs_(options.scale) {}

  [[nodiscard]] Transactions transactions(std::uint32_t number, std::uint64_t /*seed*/) {
    return Transactions(static_cast<Number>(number) + 1, traffic_);
  }

  template <class Sink>
  void load_part(std::uint32_t part, Sink& sink) const {
    const std::uint64_t first = part * kJobsOfPart;
    const std::uint64_t end = std::min(jobs_, first + kJobsOfPart);
    for (std::uint64_t job = first; job < end; ++job) {
      const JobKey key{.put_at_ns = static_cast<std::int64_t>(job)};
      sink.add(key, job_of(key));
    }
  }

  /// Counts the jobs if there were runs since the load.
  template <class Reader>
  void prepare_check(Reader& reader, oltp::DataState state) {
    if (state == oltp::DataState::used) {
      jobs_before_ = 0;
      reader.scan(kFirstJob, kLastJob, [&](const JobKey&, const JobRow&) { ++*jobs_before_; });
    }
  }

  template <class Reader>
  [[nodiscard]] oltp::CheckResult check(Reader& reader) const {
    std::uint64_t found = 0;
    std::uint64_t damaged = 0;
    reader.scan(kFirstJob, kLastJob, [&](const JobKey& key, const JobRow& row) {
      ++found;
      damaged += row == job_of(key) ? 0U : 1U;
    });
    return judge(found, damaged,
                 jobs_before_.value_or(jobs_) + traffic_.put.load() - traffic_.taken.load());
  }

 private:
  std::uint64_t jobs_;
  Traffic traffic_;
  std::optional<std::uint64_t> jobs_before_;  ///< nothing: as many as were loaded
};

}  // namespace palimpsest::experiments::queue
