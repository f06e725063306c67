// Snapshot isolation against a model: several logical transactions on one tree, in random order,
// with a pool of a few pages. Each sees what had been committed when it began, and its own changes;
// the first updater wins.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "txn/read_scope.h"

namespace palimpsest::engine::test {
namespace {

using Value = std::optional<std::string>;
using palimpsest::test::SimDisk;

/// Everything that was ever committed, by timestamp.
class History {
 public:
  void commit(Gsn timestamp, const std::map<std::string, Value>& changes) {
    for (const auto& [key, value] : changes) {
      all_[key][raw(timestamp)] = value;
    }
  }
  [[nodiscard]] Value at(const std::string& key, Gsn snapshot) const {
    const auto found = all_.find(key);
    if (found == all_.end()) {
      return std::nullopt;
    }
    const auto after = found->second.upper_bound(raw(snapshot));
    return after == found->second.begin() ? std::nullopt : std::prev(after)->second;
  }
  /// The timestamp of the newest commit that changed the key.
  [[nodiscard]] Gsn changed(const std::string& key) const {
    const auto found = all_.find(key);
    return found == all_.end() ? Gsn{0} : Gsn{found->second.rbegin()->first};
  }
  [[nodiscard]] Content all_at(Gsn snapshot) const {
    Content content;
    for (const auto& [key, values] : all_) {
      if (const Value value = at(key, snapshot)) {
        content.emplace(key, *value);
      }
    }
    return content;
  }

 private:
  std::map<std::string, std::map<std::uint64_t, Value>> all_;
};

struct Failed {
  [[nodiscard]] bool is_done() const { return false; }
};

class ModelRun {
 public:
  explicit ModelRun(std::uint64_t seed)
      : random_(seed),
        device_(disk_.device()),
        database_(Engine::open(*device_, *device_, small_options())),
        tree_(database_->make_tree("records")),
        open_(kTransactions) {}

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
      step();
    }
    if (random_.one_in(2)) {
      crash();
    }
    for (Open& one : open_) {
      if (one.transaction != nullptr) {
        end(one, random_.one_in(2));
      }
    }
    ASSERT_EQ(content_of(*tree_), history_.all_at(Gsn{std::numeric_limits<std::uint64_t>::max()}));
    database_->checkpointer().run();
    ASSERT_TRUE(sound(*database_));
  }

 private:
  static constexpr std::size_t kTransactions = 6;
  static constexpr std::uint64_t kKeys = 400;

  enum class Role : std::uint8_t {
    writer = 1,
    reader,     ///< lives long, and writes nothing
    committed,  ///< read_committed
  };
  struct Open {
    txn::TransactionPtr transaction;
    Role role = Role::writer;
    std::map<std::string, Value> changes;
    std::set<std::string> touched;  ///< changed, or claimed and left unchanged
  };

  [[nodiscard]] static Gsn snapshot_of(const Open& one) {
    const versioning::ReadView* const read_view = one.transaction->read_view();
    return read_view == nullptr ? Gsn{} : read_view->snapshot;  // of read_committed: the largest
  }
  [[nodiscard]] std::string some_key() {
    const std::uint64_t number = random_.one_in(3) ? random_.below(10) : random_.below(kKeys);
    return fmt::format("key{:04}", number);
  }
  [[nodiscard]] std::string some_value() {
    const std::size_t size = random_.one_in(20) ? 2000 : 40 + random_.below(3) * 60;
    return std::string(size, static_cast<char>('a' + random_.below(26)));
  }
  [[nodiscard]] Value expected(const Open& one, const std::string& key) const {
    const auto own = one.changes.find(key);
    return own != one.changes.end() ? own->second : history_.at(key, snapshot_of(one));
  }
  /// Whether a change of the row is a conflict: another transaction has changed it, or has
  /// committed a change since. `maybe`: another one has claimed the row without changing it.
  enum class Taken : std::uint8_t { no, maybe, yes };
  [[nodiscard]] Taken taken(const Open& one, const std::string& key) const {
    bool maybe = false;
    for (const Open& other : open_) {
      if (&other != &one && other.changes.contains(key)) {
        return Taken::yes;
      }
      maybe = maybe || (&other != &one && other.touched.contains(key));
    }
    if (history_.changed(key) > snapshot_of(one)) {
      return Taken::yes;
    }
    const auto touched = touched_.find(key);
    maybe = maybe || (touched != touched_.end() && touched->second > snapshot_of(one));
    return maybe ? Taken::maybe : Taken::no;
  }
  void expect(const btree::WriteOutcome& outcome, Taken taken, const std::string& key) const {
    if (taken != Taken::maybe) {
      ASSERT_EQ(outcome.conflict.has_value(), taken == Taken::yes) << key;
    }
  }

  void step() {
    Open& one = open_[random_.below(kTransactions)];
    if (one.transaction == nullptr) {
      begin(one);
      return;
    }
    if (one.role == Role::reader) {
      random_.one_in(60) ? end(one, true) : random_.one_in(4) ? scan(one) : read(one);
      return;
    }
    switch (random_.below(21)) {
      case 0: end(one, true); break;
      case 1: end(one, random_.one_in(2)); break;
      case 2: scan(one); break;
      case 3: fail_statement(one); break;
      case 4:
      case 5:
      case 6:
      case 7: read(one); break;
      case 8: read_many(one); break;
      case 9: database_->checkpointer().run(); break;
      case 10: database_->transactions().prune_tables([] { return false; }); break;
      default: random_.one_in(4) ? modify_many(one) : write(one); break;
    }
  }

  /// Committed changes survive, those of open transactions do not.
  void crash() {
    database_->log().write_pending();
    const SimDisk crashed = disk_.crash(1, palimpsest::test::CrashKeeps::nothing);
    database_->log().fail("the power has failed");
    open_ = std::vector<Open>(kTransactions);
    database_.reset();
    disk_ = crashed;
    device_ = disk_.device();
    database_ = Engine::open(*device_, *device_, small_options());
    tree_ = database_->find_tree("records");
  }

  void begin(Open& one) {
    constexpr Role kRoles[] = {Role::writer, Role::writer, Role::writer, Role::reader,
                               Role::committed};
    one.role = kRoles[random_.below(std::size(kRoles))];
    one.transaction = database_->begin(
        txn::Durability::asynchronous,
        one.role == Role::committed ? txn::Isolation::read_committed : txn::Isolation::snapshot,
        one.role == Role::reader ? txn::SnapshotUse::reads : txn::SnapshotUse::reads_and_writes);
  }

  void end(Open& one, bool commits) {
    if (commits) {
      const Gsn timestamp = one.transaction->commit();
      history_.commit(timestamp, one.changes);
      for (const std::string& key : one.touched) {
        touched_[key] = timestamp;
      }
    } else {
      one.transaction->rollback();
    }
    one.transaction.reset();
    one.changes.clear();
    one.touched.clear();
  }

  void read(const Open& one) {
    const std::string key = some_key();
    std::string value;
    const bool found = txn::lookup(*one.transaction, *tree_, key, value);
    ASSERT_EQ(found ? Value(value) : std::nullopt, expected(one, key)) << key;
  }

  [[nodiscard]] std::vector<std::string> some_keys() {
    std::vector<std::string> keys(1 + random_.below(24));
    std::ranges::generate(keys, [&] { return some_key(); });
    if (random_.one_in(2)) {
      std::ranges::sort(keys);
    }
    return keys;
  }

  void read_many(const Open& one) {
    const std::vector<std::string> texts = some_keys();
    const std::vector<ByteView> keys(texts.begin(), texts.end());
    std::vector<Value> values(keys.size());
    std::vector<Value> visited(keys.size());
    txn::ReadScope(*one.transaction).confirmed([&] {
      const txn::TransactionPtr view =
          one.role == Role::committed ? one.transaction->begin_view() : txn::TransactionPtr();
      const auto* const read_view = (view != nullptr ? view : one.transaction)->read_view();
      tree_->lookup_many(
          keys, [&](std::size_t i, ByteView value) { values[i] = std::string(value); }, read_view);
      tree_->visit_many(
          keys, [&](std::size_t i, ByteView value) { visited[i] = std::string(value); }, read_view);
    });
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(values[i], expected(one, texts[i])) << keys[i];
      ASSERT_EQ(visited[i], values[i]) << keys[i];
    }
  }

  /// Modifies existing rows, which other transactions may have claimed.
  void modify_many(Open& one) {
    std::vector<std::string> texts = some_keys();
    std::erase_if(texts, [&](const std::string& key) {
      const Value before = expected(one, key);
      return !before || before->size() > 1000;
    });
    const std::vector<ByteView> keys(texts.begin(), texts.end());
    const std::string with = some_value();
    const btree::ManyWritten written = one.transaction->write([&](const btree::WriteContext& by) {
      return tree_->edit_many(by, keys,
                              [&](std::size_t, ValueEditor& bytes) { scribble(bytes, with); });
    });
    for (std::size_t i = 0; i < written.done; ++i) {
      ASSERT_NE(taken(one, texts[i]), Taken::yes) << texts[i];
      Value after = expected(one, texts[i]);
      scribble(*after, with);
      one.touched.insert(texts[i]);
      one.changes[texts[i]] = after;
    }
    if (written.done < keys.size()) {
      ASSERT_TRUE(written.refused.conflict.has_value());
      ASSERT_NE(taken(one, texts[written.done]), Taken::no) << texts[written.done];
    }
  }

  void scan(const Open& one) {
    Content content = history_.all_at(snapshot_of(one));
    for (const auto& [key, value] : one.changes) {
      content.erase(key);
      if (value) {
        content.emplace(key, *value);
      }
    }
    Content seen;
    const txn::TransactionPtr view =
        one.role == Role::committed ? one.transaction->begin_view() : txn::TransactionPtr();
    btree::Cursor cursor(*tree_, 3, (view != nullptr ? view : one.transaction)->read_view());
    const bool backward = random_.one_in(2);
    for (backward ? cursor.seek_last() : cursor.seek_first(); cursor.valid();
         backward ? cursor.previous() : cursor.next()) {
      std::string value;
      ASSERT_TRUE(cursor.read_value(value));
      seen.emplace(cursor.key(), value);
    }
    ASSERT_EQ(seen, content);
  }

  /// A statement that changes some records and is undone: it releases its claims, except those that
  /// the transaction had before.
  void fail_statement(Open& one) {
    const std::map<std::string, Value> before = one.changes;
    static_cast<void>(one.transaction->statement([&](const btree::WriteContext& by) {
      for (std::uint64_t left = 1 + random_.below(6); left > 0; --left) {
        write_in_statement(one, by);
      }
      return Failed();
    }));
    one.changes = before;
  }
  void write_in_statement(Open& one, const btree::WriteContext& by) {
    const std::string key = some_key();
    const std::string value = some_value();
    Value after = expected(one, key);
    btree::WriteOutcome outcome;
    if (after && after->size() < 1000 && random_.one_in(3)) {
      outcome = tree_->edit(by, key, [&](ValueEditor& bytes) { scribble(bytes, value); });
      scribble(*after, value);
    } else if (random_.one_in(3)) {
      outcome = tree_->remove(by, key);
      after.reset();
    } else {
      outcome = tree_->upsert(by, key, value);
      after = value;
    }
    expect(outcome, taken(one, key), key);
    if (!outcome.conflict) {
      one.changes[key] = after;
    }
  }

  /// Overwrites some bytes of a value: all of it or a small part.
  static void scribble(std::size_t size, ByteView with,
                       FunctionRef<void(std::size_t at, char to)> put) {
    const auto first = static_cast<std::size_t>(static_cast<unsigned char>(with.front()));
    const std::size_t end = first % 3 == 0 ? size : std::min(size, first % 5 + size / 3);
    const std::size_t step = first % 4 == 0 ? 1 : 11 + first % 29;
    for (std::size_t at = first % 5; at < end; at += step) {
      put(at, with.front());
    }
  }
  static void scribble(std::span<char> bytes, ByteView with) {
    scribble(bytes.size(), with, [&](std::size_t at, char to) { bytes[at] = to; });
  }
  static void scribble(ValueEditor& value, ByteView with) {
    scribble(value.bytes().size(), with,
             [&](std::size_t at, char to) { value.edit(at, 1).front() = to; });
  }

  void write(Open& one) {
    const std::string key = some_key();
    const Value before = expected(one, key);
    const std::string value = some_value();
    Value after = before;
    btree::WriteOutcome outcome;
    switch (random_.below(5)) {
      case 0:
        outcome = one.transaction->insert(*tree_, key, value);
        after = before ? before : Value(value);
        break;
      case 1:
        outcome = one.transaction->upsert(*tree_, key, value);
        after = value;
        break;
      case 2:
        outcome = one.transaction->update(*tree_, key, value);
        after = before ? Value(value) : std::nullopt;
        break;
      case 3:
        outcome = one.transaction->remove(*tree_, key);
        after = std::nullopt;
        break;
      default:
        if (!before || before->size() > 1000) {
          return;
        }
        outcome = one.transaction->modify(
            *tree_, key, [&](MutableBytes bytes) { scribble(as_chars(bytes), value); });
        scribble(*after, value);
        break;
    }
    ASSERT_NO_FATAL_FAILURE(expect(outcome, taken(one, key), key));
    if (outcome.conflict) {
      return;
    }
    ASSERT_EQ(outcome.existed, before.has_value()) << key;
    one.touched.insert(key);
    if (after != before || one.changes.contains(key)) {
      one.changes[key] = after;
    }
  }

  Random random_;
  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
  btree::BTree* tree_;
  std::vector<Open> open_;
  History history_;
  std::map<std::string, Gsn> touched_;  ///< by a committed one, and when
};

TEST(SnapshotModel, EachTransactionSeesWhatItsSnapshotHas) {
  palimpsest::test::Rounds rounds(3, 5);
  std::uint64_t seed = palimpsest::test::seed();
  while (rounds.next()) {
    SCOPED_TRACE(seed);
    ModelRun(seed++).run(3000);
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace palimpsest::engine::test
