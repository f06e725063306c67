// A workload of typed rows on any store, as the driver runs it (workload.h): loaders, terminals and
// the check, from one class that describes the workload.
//
// Such a class W has
//   W(options)                      constructed when the database is opened
//   W::Session<S>                   its session on a store's session S, from a TableSession
//   W::Transactions                 those of one thread:
//     choose()                      chooses the next one, and returns its type
//     run(session)                  runs the one chosen; after a conflict it may be called again
//   transactions(number, seed)      with the arguments of Bench::open_terminal()
//   load_part(part, sink)           calls sink.add(key, row) and sink.add(index key) for everything
//                                   of that part, in key order in each table; any thread
//   check(reader)                   CheckResult, of what a TableReader shows
//   prepare_check(reader, state)    optional: as Bench::prepare_check()
// Thread-safety and failure: workload.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "experiments/engines/store.h"
#include "experiments/oltp/batch_inserter.h"
#include "experiments/oltp/options.h"
#include "experiments/oltp/table_reader.h"
#include "experiments/oltp/table_session.h"
#include "experiments/oltp/workload.h"

namespace palimpsest::experiments::oltp {

template <class W>
concept TableWorkload = std::constructible_from<W, const Options&> &&
                        requires(W& workload, typename W::Transactions& transactions,
                                 std::uint32_t number, std::uint64_t seed) {
                          {
                            workload.transactions(number, seed)
                          } -> std::same_as<typename W::Transactions>;
                          { transactions.choose() } -> std::same_as<std::size_t>;
                        };

/// Loads parts in batches.
template <TableWorkload W, StoreSession S>
class TableLoader final : public Loader {
 public:
  /// `workload` outlives the loader.
  TableLoader(const W& workload, std::unique_ptr<S> session)
      : workload_(workload), session_(std::move(session)) {}

  void load(std::uint32_t part, LoadProgress& progress) override {
    BatchInserter<S> inserter(*session_, progress);
    workload_.load_part(part, inserter);
    inserter.finish();
  }

 private:
  const W& workload_;
  std::unique_ptr<S> session_;
};

/// Runs the transactions of a thread.
template <TableWorkload W, StoreSession S>
class TableTerminal final : public Terminal {
 public:
  TableTerminal(typename W::Transactions transactions, std::unique_ptr<S> session)
      : session_(std::move(session)), transactions_(std::move(transactions)) {}

  std::size_t choose() override { return transactions_.choose(); }
  Outcome run() override { return transactions_.run(session_); }
  [[nodiscard]] ConflictReason conflict_reason() const noexcept override {
    return session_.conflict_reason();
  }

 private:
  typename W::template Session<S> session_;
  typename W::Transactions transactions_;
};

template <TableWorkload W, Store S>
class TableBench final : public BenchOn<S> {
  using Session = typename S::Session;

 public:
  TableBench(std::unique_ptr<S> store, const Options& options)
      : BenchOn<S>(std::move(store)), workload_(options) {}

  [[nodiscard]] std::unique_ptr<Loader> open_loader() override {
    return std::make_unique<TableLoader<W, Session>>(workload_, open_session(SessionUse::load));
  }

  [[nodiscard]] std::unique_ptr<Terminal> open_terminal(std::uint32_t number,
                                                        std::uint64_t seed) override {
    return std::make_unique<TableTerminal<W, Session>>(workload_.transactions(number, seed),
                                                       open_session(SessionUse::read_write));
  }

  void prepare_check([[maybe_unused]] DataState state) override {
    if constexpr (requires(TableReader<Session>& any) { workload_.prepare_check(any, state); }) {
      TableSession<Session> session(open_session(SessionUse::read_write));
      TableReader<Session> reader(session);
      workload_.prepare_check(reader, state);
    }
  }

  [[nodiscard]] CheckResult check() override {
    TableSession<Session> session(open_session(SessionUse::read_write));
    TableReader<Session> reader(session);
    return workload_.check(reader);
  }

 private:
  [[nodiscard]] std::unique_ptr<Session> open_session(SessionUse use) {
    return this->store().open_session(use);
  }

  W workload_;
};

/// That workload on that engine.
template <TableWorkload W, Store S>
[[nodiscard]] EngineEntry table_bench_on(StoreEntry<S> engine) {
  return {
      .traits = std::move(engine.traits),
      .open = [open = std::move(engine.open)](
                  const Options& options, const StoreSettings& settings) -> std::unique_ptr<Bench> {
        return std::make_unique<TableBench<W, S>>(open(settings), options);
      }};
}

}  // namespace palimpsest::experiments::oltp
