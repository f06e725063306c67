// Bulks against a model: one table, a bulk at a time that commits or does not, ordinary writers
// between them, readers that stay, a pool of a few pages, sweeps, and openings after crashes. Every
// transaction sees what had been committed when it began.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "tests/bulk/bulk_fixture.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::CrashKeeps;
using txn::Isolation;

constexpr int kIds = 150;
constexpr std::size_t kReadersMax = 4;

EngineOptions model_options() {
  EngineOptions options = bulk_options();
  options.memory_bytes = std::uint64_t{2} << 20U;  // the smallest allowed; the table is larger
  options.version_bytes_max = std::uint64_t{1} << 20U;
  return options;
}

/// On a table with an index, or on one without, whose rows lie in one tree.
class BulkModel : public BulkRows, public ::testing::WithParamInterface<bool> {
 protected:
  BulkModel() : BulkRows(model_options()), random_(palimpsest::test::seed()) {
    if (!has_index()) {
      make_plain();
    }
  }
  [[nodiscard]] static bool has_index() { return GetParam(); }

  [[nodiscard]] int any(int below) {
    return static_cast<int>(random_() % static_cast<std::uint64_t>(below));
  }
  [[nodiscard]] bool one_in(int many) { return any(many) == 0; }
  [[nodiscard]] std::string any_body() {
    const int bytes = one_in(30) ? 1200 + any(2500) : one_in(4) ? any(900) : any(60);
    return std::string(static_cast<std::size_t>(bytes), static_cast<char>('a' + any(26)));
  }

  /// A change by `by`, also of `rows`, the rows that it sees. Checks that it is done or refused
  /// correctly; returns false for a conflict.
  template <class By>
  [[nodiscard]] bool change(By& by, Rows& rows) {
    const int id = any(kIds);
    const int variant = any(1000);
    const std::string body = any_body();
    const bool is_there = rows.contains(id);
    const int kind = any(5);
    Outcome outcome;
    OutcomeKind expected = is_there ? OutcomeKind::done : OutcomeKind::absent;
    switch (kind) {
      case 0:
        outcome = insert(by, id, variant, body);
        expected = is_there ? OutcomeKind::exists : OutcomeKind::done;
        break;
      case 1:
        outcome = upsert(by, id, variant, body);
        expected = OutcomeKind::done;
        break;
      case 2:
      case 3: outcome = update(by, id, variant, body); break;
      default: outcome = erase(by, id);
    }
    if (outcome.is_conflict()) {
      return false;
    }
    EXPECT_EQ(outcome.kind(), expected) << "kind " << kind << " of " << id;
    if (outcome && kind == 4) {
      rows.erase(id);
    } else if (outcome) {
      rows[id] = {name_of(id, variant), body};
    }
    return true;
  }

  /// As change(), for a range of rows.
  template <class By>
  [[nodiscard]] bool change_range(By& by, Rows& rows) {
    const int lower = any(kIds);
    const int upper = lower + any(one_in(4) ? kIds : 10);
    const ErasedRange erased = erase_range(by, Range::between({lower}, {upper}));
    if (erased.outcome.is_conflict()) {
      EXPECT_EQ(erased.rows, 0U);
      return false;
    }
    const auto gone = std::pair(rows.lower_bound(lower), rows.upper_bound(upper));
    EXPECT_EQ(erased.rows, static_cast<std::uint64_t>(std::distance(gone.first, gone.second)));
    rows.erase(gone.first, gone.second);
    return true;
  }
  template <class By>
  [[nodiscard]] bool change_some(By& by, Rows& rows) {
    return one_in(20) ? change_range(by, rows) : change(by, rows);
  }

  void begin_bulk() {
    bulk_.emplace(*database_, one_in(2) ? Isolation::snapshot : Isolation::read_committed);
    bulk_rows_ = now_;
    has_table_ = false;
  }
  void change_in_bulk() {
    try {
      has_table_ = change_some(*bulk_, bulk_rows_);
      EXPECT_TRUE(has_table_) << "no other transaction writes";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::gate_timeout) << error.what();
      EXPECT_TRUE(!has_table_ && !readers_.empty()) << error.what();
      bulk_.reset();
    }
  }
  void end_bulk() {
    if (one_in(3)) {
      bulk_->in->rollback();
    } else {
      bulk_->commit();
      now_ = bulk_rows_;
    }
    bulk_.reset();
  }

  void write() {
    if (bulk_ && !has_table_) {
      bulk_.reset();  // it would not see this
    }
    if (readers_.empty()) {
      static_cast<void>(database_->bulk_sweep().step());  // the last bulk is retired
    }
    const auto by = begin(one_in(2) ? Isolation::snapshot : Isolation::read_committed);
    Rows rows = now_;
    for (int changes = 1 + any(4); changes > 0; --changes) {
      if (!change_some(*by, rows)) {
        EXPECT_TRUE(bulk_ || !readers_.empty()) << "no transaction is in the way";
        by->rollback();
        return;
      }
    }
    EXPECT_FALSE(bulk_) << "a bulk has the table";
    if (one_in(4)) {
      by->rollback();
      return;
    }
    by->commit();
    now_ = rows;
  }

  void look(txn::Transaction* by, const Rows& rows) {
    EXPECT_EQ(rows_of(by), rows);
    EXPECT_EQ(rows_of(by, Direction::backward), rows);
    for (int looks = 0; looks < 10; ++looks) {
      const int id = any(kIds);
      const auto found = rows.find(id);
      const auto row = row_of(by, id);
      ASSERT_EQ(row.has_value(), found != rows.end()) << id;
      if (row) {
        EXPECT_EQ(*row, found->second);
      }
      if (has_index()) {
        EXPECT_EQ(row ? id_of(by, row->name) : id, id);
        EXPECT_EQ(id_of(by, name_of(id, 1000)), std::nullopt);
      }
    }
  }
  void look_at_all() {
    for (auto& [reader, rows] : readers_) {
      look(reader.get(), rows);
    }
    if (bulk_) {
      look(bulk_->in.get(), bulk_rows_);
    }
    look(nullptr, now_);
  }

  void open_again(bool after_crash) {
    bulk_.reset();
    readers_.clear();
    if (after_crash) {
      database_->log().wait_durable(database_->transactions().now());
      palimpsest::test::SimDisk crashed = disk_.crash(random_(), CrashKeeps::nothing);
      disk_.power_off();
      database_.reset();
      disk_ = crashed;
    } else {
      database_.reset();
    }
    open();
    look(nullptr, now_);
  }

  void step() {
    switch (any(24)) {
      case 0: bulk_ ? void() : begin_bulk(); break;
      case 1: bulk_&& one_in(3) ? end_bulk() : void(); break;
      case 2:
        if (readers_.size() < kReadersMax) {
          readers_.emplace_back(begin(), now_);
        }
        break;
      case 3:
        if (!readers_.empty()) {
          readers_.erase(readers_.begin() + any(static_cast<int>(readers_.size())));
        }
        break;
      case 4: one_in(4) ? look_at_all() : void(); break;
      case 5: static_cast<void>(database_->bulk_sweep().step()); break;
      case 6: one_in(60) ? open_again(one_in(2)) : void(); break;
      case 7:
        if (!readers_.empty()) {
          const auto& [reader, rows] =
              readers_[static_cast<std::size_t>(any(static_cast<int>(readers_.size())))];
          look(reader.get(), rows);
        }
        break;
      case 8: one_in(5) ? make_log_space() : void(); break;
      default: bulk_ && !one_in(5) ? change_in_bulk() : write();
    }
    if (database_->log().end_position() - spaced_ > options_.log_bytes_max / 4) {
      make_log_space();
      spaced_ = database_->log().end_position();
    }
  }

  Random random_;
  Rows now_;
  std::vector<std::pair<txn::TransactionPtr, Rows>> readers_;
  std::optional<InBulk> bulk_;
  Rows bulk_rows_;
  bool has_table_ = false;  ///< the bulk
  std::uint64_t spaced_ = 0;
};

TEST_P(BulkModel, EverySnapshotSeesWhatItShould) {
  for (palimpsest::test::Rounds rounds(4000, 2); rounds.next() && !HasFailure();) {
    step();
  }
  look_at_all();
  bulk_.reset();
  readers_.clear();
  sweep();
  EXPECT_TRUE(database_->bulk_epochs().is_empty());
  look_at_all();
  database_->log().wait_durable(database_->transactions().now());
  database_->transactions().free_due();
  EXPECT_TRUE(sound(*database_));
}

INSTANTIATE_TEST_SUITE_P(Tables, BulkModel, ::testing::Bool(), [](const auto& test) {
  return test.param ? "WithAnIndex" : "WithoutIndexes";
});

}  // namespace
}  // namespace palimpsest::engine::test
