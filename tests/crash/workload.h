// Transactions at random on a small database, several open at once and interleaved on one thread,
// with the history by which recovery is judged.
//
// Compares each call's result with a model that sees what the transactions see: isolation `none`,
// so the changes of all, and conflicts where another open transaction has changed a record.
// Determinism: calls depend on profile and seed; what the engine's background threads write in
// between does not. Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/crash/history.h"
#include "tests/crash/image_checker.h"
#include "tests/crash/table_workload.h"
#include "tests/support/sim_disk.h"

namespace palimpsest::crash {

/// How often a workload does what; in percent unless noted.
struct Profile {
  const char* name = "";
  std::size_t keys = 100;        ///< different ones in a tree
  std::size_t value_bytes = 60;  ///< most, as a rule
  unsigned open_most = 3;        ///< transactions at once
  unsigned trees_most = 1;
  unsigned changes = 70;          ///< of steps: a change of an open transaction
  unsigned removals = 25;         ///< of changes
  unsigned large = 0;             ///< of changes that store: a value of several pages
  unsigned ends = 20;             ///< of steps: an open transaction ends
  unsigned rollbacks = 20;        ///< of ends
  unsigned asynchronous = 0;      ///< of transactions
  unsigned checkpoints = 5;       ///< of steps
  unsigned reopens = 0;           ///< of steps: clean close and opening
  unsigned table = 0;             ///< of steps: on a table, mostly in a bulk
  std::size_t appended = 20'000;  ///< maximum size of the rows that a bulk appends in one call
  std::size_t changes_most = 8;   ///< in one step, of one transaction
  int steps = 40;                 ///< of the scripted workload; random ones are longer by half
  int warm_up = 0;                ///< steps before those, without crashes
};

/// Profiles that together use all features of the engine.
[[nodiscard]] std::span<const Profile> profiles();

/// Options of every database in the campaign.
[[nodiscard]] engine::EngineOptions campaign_options();

class Workload {
 public:
  /// Opens the database on the disk, recovering it; everything else must outlive the workload. The
  /// history begins with the existing contents, if there are any.
  Workload(test::SimDisk& disk, const Profile& profile, std::uint64_t seed);
  ~Workload();
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  /// Opens the database; from here on the history can be asked. Throws as Database::open().
  void open();
  /// Continues from the state that was found after opening.
  void go_on_from(State state);
  /// Throws what the engine throws, and Mismatch when a result differs from the model's.
  void look_on();
  void step();
  /// Rolls back open transactions, and compares everything with the model.
  void finish();
  /// Closes it cleanly.
  void close();
  /// Switches its disk's power off; nothing is written any more.
  void abandon() noexcept;

  [[nodiscard]] engine::Engine& database() noexcept { return *database_; }
  [[nodiscard]] const std::shared_ptr<History>& history() const noexcept { return history_; }
  [[nodiscard]] ImageChecker& images() noexcept { return images_; }

 private:
  struct Undo {
    std::string tree;
    std::string key;
    std::optional<std::string> before;
  };
  struct Open {
    txn::TransactionPtr handle;
    bool synchronous = true;
    std::vector<Change> changes;
    std::vector<Undo> undo;
  };
  using Place = std::pair<std::string, std::string>;

  void begin();
  void change_some();
  void change(Open& open);
  void store(Open& open, const std::string& tree, const std::string& key);
  void remove(Open& open, const std::string& tree, const std::string& key);
  void modify(Open& open, const std::string& tree, const std::string& key);
  void end_one();
  void commit(std::size_t which);
  void roll_back(std::size_t which);
  void forget(std::size_t which, bool undone);
  void checkpoint();
  void make_room();
  void make_tree();
  void reopen();
  void end_all();
  void change_table();
  void sweep_all();

  [[nodiscard]] bool percent(unsigned share) { return random_.below(100) < share; }
  [[nodiscard]] btree::BTree& tree_of(const std::string& name);
  [[nodiscard]] std::size_t trees() const { return now_.size() - now_.count(kStateOfTable); }
  [[nodiscard]] std::string some_tree();
  [[nodiscard]] std::string some_key();
  [[nodiscard]] std::string some_value(const std::string* old);
  [[nodiscard]] const std::string* value_of(const std::string& tree, const std::string& key) const;
  [[nodiscard]] bool has_conflicting_writer(const Open& open, const Place& place) const;
  [[nodiscard]] bool agrees(const char* what, const Open& open, const Place& place,
                            const btree::WriteOutcome& outcome) const;
  void note(Open& open, const Place& place, std::optional<std::string> value);

  test::SimDisk& disk_;
  const Profile profile_;
  Random random_;
  std::unique_ptr<io::Device> device_;
  ImageChecker images_;
  std::unique_ptr<engine::Engine> database_;
  txn::TransactionPtr old_reader_;  ///< has a snapshot, and reads nothing
  std::shared_ptr<History> history_;
  State now_;  ///< as transactions see it
  std::vector<Open> open_;
  std::map<Place, const txn::Transaction*> owners_;
  TableWorkload table_;
};

}  // namespace palimpsest::crash
