// TATP on any store, as the driver runs it (oltp/workload.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "experiments/oltp/options.h"
#include "experiments/oltp/table_bench.h"
#include "experiments/oltp/workload.h"
#include "experiments/tatp/consistency.h"
#include "experiments/tatp/input.h"
#include "experiments/tatp/population.h"
#include "experiments/tatp/table_session.h"
#include "experiments/tatp/transactions.h"

namespace palimpsest::experiments::tatp {

/// The flag by which subscribers are chosen; its values are the names of Choice.
inline constexpr const char* kKeysFlag = "keys";

/// The part that one thread loads at once: the rows of one table, or of the index, of so many
/// subscribers. Neighbouring parts belong to different tables, in which rows then ascend.
inline constexpr Number kSubscribersOfPart = 10'000;
inline constexpr std::uint32_t kTables = 5;

/// Its types of transactions, tables, flag, and scale, which is the number of subscribers.
[[nodiscard]] const oltp::Workload& workload();

/// Loads one of the parts of that many subscribers into a sink of rows.
template <class Sink>
void load_part(const Population& population, Number subscribers, std::uint32_t part, Sink& sink) {
  const Number first = static_cast<Number>(part / kTables) * kSubscribersOfPart + 1;
  const Number last = std::min(subscribers, first + (kSubscribersOfPart - 1));
  switch (static_cast<Table>(part % kTables + 1)) {
    case Table::subscriber: population.subscribers(first, last, sink); break;
    case Table::access_info: population.access_infos(first, last, sink); break;
    case Table::special_facility: population.special_facilities(first, last, sink); break;
    case Table::call_forwarding: population.call_forwardings(first, last, sink); break;
    case Table::subscriber_number: population.subscriber_numbers(first, last, sink); break;
  }
}

/// Counts the transactions that have changed the number of rows in CALL_FORWARDING. Any thread.
class ForwardingCounter {
 public:
  /// A transaction of that type has committed.
  void add(TransactionType committed) noexcept;
  [[nodiscard]] std::uint64_t inserted() const noexcept { return inserted_.load(); }
  [[nodiscard]] std::uint64_t deleted() const noexcept { return deleted_.load(); }

 private:
  std::atomic<std::uint64_t> inserted_{0};
  std::atomic<std::uint64_t> deleted_{0};
};

/// TATP as a workload of oltp/table_bench.h.
class Tatp {
 public:
  template <StoreSession S>
  using Session = TableSession<S>;

  class Transactions {
   public:
    /// `counter` outlives the transactions.
    Transactions(const oltp::Options& options, std::uint64_t seed, ForwardingCounter& counter);

    std::size_t choose();
    template <tatp::Session S>
    Outcome run(S& session) {
      const Outcome outcome = tatp::run(session, input_, output_);
      if (outcome == Outcome::committed) {
        counter_.add(type_of(input_));
      }
      return outcome;
    }

   private:
    InputSource source_;
    Input input_;
    Output output_;
    ForwardingCounter& counter_;
  };

  explicit Tatp(const oltp::Options& options)
      : options_(options),
        subscribers_(static_cast<Number>(options.scale)),
        population_(options.seed) {}

  [[nodiscard]] Transactions transactions(std::uint32_t /*number*/, std::uint64_t seed) {
    return Transactions(options_, seed, counter_);
  }

  template <class Sink>
  void load_part(std::uint32_t part, Sink& sink) const {
    tatp::load_part(population_, subscribers_, part, sink);
  }

  /// Counts CALL_FORWARDING if it may differ from the population.
  template <class Reader>
  void prepare_check(Reader& reader, oltp::DataState state) {
    if (state == oltp::DataState::used) {
      forwardings_before_ = count_call_forwardings(reader);
    }
  }

  template <class Reader>
  [[nodiscard]] oltp::CheckResult check(Reader& reader) const {
    const Violations violations = check_consistency(reader, population_, subscribers_,
                                                    {.rows_before = forwardings_before_,
                                                     .inserted = counter_.inserted(),
                                                     .deleted = counter_.deleted()});
    return {.violations = violations.count(), .first = violations.first()};
  }

 private:
  oltp::Options options_;
  Number subscribers_;
  Population population_;
  ForwardingCounter counter_;
  std::optional<std::uint64_t> forwardings_before_;  ///< nothing: as many as were loaded
};

}  // namespace palimpsest::experiments::tatp
