// The interface that the driver needs from a workload on an engine: transactions, a load in parts,
// a check.
//
// Calls are virtual here: once for each transaction, at negligible cost. The transaction itself is
// compiled for its engine (store.h).
// Thread-safety: a Bench, any thread; loaders and terminals belong to the thread that opened them,
// and end there before close().
// Failure: std::exception; the driver ends the run.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/engines/store.h"
#include "experiments/oltp/long_reader.h"
#include "experiments/oltp/options.h"
#include "experiments/tables/session.h"

namespace palimpsest::experiments::oltp {

/// Transaction types of a workload, at most.
inline constexpr std::size_t kTypesMax = 8;

/// Shared by all threads of a load: rows done, and whether a thread has failed.
class LoadProgress {
 public:
  /// Thrown in a thread that must end its load because another one has failed.
  class Stopped : public std::runtime_error {
   public:
    Stopped() : std::runtime_error("the load was stopped") {}
  };

  /// So many more rows have been committed.
  void add(std::uint64_t rows) {
    rows_.fetch_add(rows, std::memory_order_relaxed);
    if (stopped_.load(std::memory_order_relaxed)) {
      throw Stopped();
    }
  }
  void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t rows() const noexcept {
    return rows_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> rows_{0};
  std::atomic<bool> stopped_{false};
};

/// One thread of a load.
class Loader {
 public:
  Loader() = default;
  virtual ~Loader() = default;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Loads one of the parts [0, Scale::load_parts), to its end.
  virtual void load(std::uint32_t part, LoadProgress& progress) = 0;
};

/// One thread of a run.
class Terminal {
 public:
  Terminal() = default;
  virtual ~Terminal() = default;
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Chooses the next transaction, and returns its type.
  virtual std::size_t choose() = 0;
  /// Runs the chosen transaction; after a conflict it may be called again.
  virtual Outcome run() = 0;
  /// The reason of the last run() that was a conflict.
  [[nodiscard]] virtual ConflictReason conflict_reason() const noexcept = 0;
};

/// What has happened to a database since its load.
enum class DataState : std::uint8_t {
  as_loaded = 1,  ///< nothing
  used,           ///< earlier runs, which may have been killed
};

/// The result of a check.
struct CheckResult {
  std::uint64_t violations = 0;
  std::vector<std::string> first;  ///< some of them, for people
};

/// The workload on an engine that is open.
class Bench {
 public:
  Bench() = default;
  virtual ~Bench() = default;
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  [[nodiscard]] virtual std::unique_ptr<Loader> open_loader() = 0;
  /// As Store::finish_load().
  virtual void finish_load() = 0;
  /// Reads all rows of the first `tables` tables once, so that they are in memory if they fit.
  /// Returns their bytes. No transaction is under way.
  virtual std::uint64_t read_everything(std::size_t tables) = 0;
  /// `number` counts the terminals of a run from 0; `seed` is that of its choices, and neither
  /// that of another terminal nor that of an earlier run on the same data.
  [[nodiscard]] virtual std::unique_ptr<Terminal> open_terminal(std::uint32_t number,
                                                                std::uint64_t seed) = 0;
  /// Of the first `tables` tables. Terminals may be running.
  [[nodiscard]] virtual std::unique_ptr<LongReader> open_long_reader(std::size_t tables) = 0;
  /// Called once before check(), and before the run if there is one; records the state that the
  /// check compares with. No transaction is open.
  virtual void prepare_check(DataState /*state*/) {}
  /// Checks everything; no transaction is open.
  [[nodiscard]] virtual CheckResult check() = 0;
  [[nodiscard]] virtual StoreCounts counts() const = 0;
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual EngineOptions effective_options() const = 0;
  virtual void close() = 0;
};

/// The part of a Bench that belongs to the engine.
template <Store S>
class BenchOn : public Bench {
 public:
  explicit BenchOn(std::unique_ptr<S> store) : store_(std::move(store)) {}

  void finish_load() override { store_->finish_load(); }
  std::uint64_t read_everything(std::size_t tables) override {
    const auto session = store_->open_session(SessionUse::read_write);
    std::uint64_t bytes = 0;
    for (std::size_t table = 0; table < tables; ++table) {
      bytes += read_table(*session, TableId{static_cast<std::uint8_t>(table)});
    }
    return bytes;
  }
  [[nodiscard]] std::unique_ptr<LongReader> open_long_reader(std::size_t tables) override {
    return std::make_unique<LongReaderOn<typename S::Session>>(
        store_->open_session(SessionUse::read_write), tables);
  }
  [[nodiscard]] StoreCounts counts() const override { return store_->counts(); }
  [[nodiscard]] std::string description() const override { return store_->description(); }
  [[nodiscard]] EngineOptions effective_options() const override {
    return store_->effective_options();
  }
  void close() override { store_->close(); }

 protected:
  [[nodiscard]] S& store() noexcept { return *store_; }

 private:
  static std::uint64_t read_table(typename S::Session& session, TableId table) {
    static constexpr std::size_t kLongestKey = 128;
    const std::string above(kLongestKey, '\xFF');
    std::uint64_t bytes = 0;
    session.begin(Intent::read_only);
    const Access access = session.scan(table, ByteView("\0", 1), above, Direction::forward,
                                       [&](ByteView key, ByteView row) noexcept {
                                         bytes += key.size() + row.size();
                                         return true;
                                       });
    session.rollback();
    if (access != Access::done) {
      throw std::runtime_error(
          "reading everything met a conflict, although nothing else is running");
    }
    return bytes;
  }

  std::unique_ptr<S> store_;
};

/// The size of a workload at a scale.
struct Scale {
  std::uint64_t rows = 0;        ///< loaded, more or less
  std::uint64_t data_bytes = 0;  ///< of keys and rows as loaded, more or less
  std::uint32_t load_parts = 0;
};

/// The commits of a minute of one type of transactions: the workload's main figure.
struct Figure {
  std::size_t type = 0;
  std::string key;   ///< in results: "tpmc"
  std::string name;  ///< for people: "tpmC"
};

struct Workload {
  WorkloadTraits traits;
  std::vector<std::string> types;  ///< of transactions, at most kTypesMax
  std::optional<Figure> figure;
  std::vector<std::string> tables;  ///< in the order of TableId
  std::function<Scale(std::uint64_t scale)> scale_of;
};

/// A workload on one of the engines, as passed to the driver.
struct EngineEntry {
  StoreTraits traits;
  std::function<std::unique_ptr<Bench>(const Options&, const StoreSettings&)> open;
};

}  // namespace palimpsest::experiments::oltp
