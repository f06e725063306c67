// The part of a workload on one table with an index: ordinary transactions of a step each, and
// bulks, one at a time, that stay open while the rest of the workload goes on.
//
// A bulk is one transaction of the history, whatever its calls have written before it commits: it
// is all there or not at all. While it is open, writes of other transactions to the table are
// conflicts, and all readers but the bulk itself see the table as before. Thread-safety: belongs to
// one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/random.h"
#include "engine/api/bulk_rows.h"
#include "engine/table/table_writer.h"
#include "tests/crash/history.h"

namespace palimpsest::crash {

class TableWorkload {
 public:
  /// `appended_bytes`: the maximum size of the rows that a bulk appends at once. `make_room` frees
  /// log space before each call. All must outlive it.
  TableWorkload(Random& random, State& now, std::shared_ptr<History>& history, std::size_t ids,
                std::size_t appended_bytes, std::function<void()> make_room)
      : random_(random),
        now_(now),
        history_(history),
        ids_(ids),
        appended_bytes_(appended_bytes),
        make_room_(std::move(make_room)) {}

  /// Uses this database from now on, which must not sweep by itself: options of the campaign.
  void open(engine::Engine& database);
  /// Call it before the database is closed: rolls back an open bulk.
  void close() noexcept;

  /// Throws what the engine throws, and Mismatch. `is_watched`: some transaction may see the state
  /// before the last bulk. `end_other_transactions` ends all transactions, including that one.
  void step(bool is_watched, FunctionRef<void()> end_other_transactions);
  /// Runs a part of the background work; false if there is nothing to do.
  bool sweep();

 private:
  struct Open {
    txn::TransactionPtr by;
    std::unique_ptr<engine::Bulk> bulk;
    bool synchronous = true;
    Content rows{};  ///< as it sees them
  };
  using Write = FunctionRef<Outcome(const engine::TableWriter&)>;

  void try_step(bool is_watched, FunctionRef<void()> end_other_transactions);
  void make_table();
  void begin_bulk();
  void change_in_bulk();
  void erase_some();
  void append();
  void end_bulk();
  void write_rows(bool is_watched);
  void look();
  [[nodiscard]] bool change_one(Content& rows, FunctionRef<Outcome(Write)> write);
  void commit(const Content& rows, bool synchronous, FunctionRef<void()> commit);

  [[nodiscard]] Content& table_now();
  [[nodiscard]] std::string some_body();

  Random& random_;
  State& now_;
  std::shared_ptr<History>& history_;
  const std::size_t ids_;
  const std::size_t appended_bytes_;
  const std::function<void()> make_room_;
  engine::Engine* database_ = nullptr;
  engine::TablePtr table_;  ///< null: there is none
  std::optional<Open> open_;
};

/// The name of the table in a State.
inline constexpr const char* kStateOfTable = "table rows";

/// The rows that a transaction sees, null: what is committed; nothing if there is no such table.
[[nodiscard]] std::optional<Content> rows_of(engine::Engine& database, txn::Transaction* by);

}  // namespace palimpsest::crash
