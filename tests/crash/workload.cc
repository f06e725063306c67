#include "tests/crash/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "palimpsest/error.h"

namespace palimpsest::crash {
namespace {

/// A change succeeded where it should have conflicted with another transaction.
class Overtaken {};

constexpr std::uint32_t kPageBytes = 4096;
/// Largest value that is sure to lie in its leaf.
constexpr std::size_t kInPageBytesMax = 900;
/// The minimum for the largest transactions, so that they are soon reused.
constexpr std::uint64_t kLogSegments = 8;

constexpr std::array kProfiles{
    Profile{.name = "small", .keys = 30},
    Profile{.name = "splits",
            .keys = 600,
            .value_bytes = 700,
            .changes = 75,
            .removals = 10,
            .changes_most = 20},
    Profile{.name = "merges",
            .keys = 400,
            .value_bytes = 700,
            .changes = 75,
            .removals = 45,
            .changes_most = 25},
    Profile{.name = "large",
            .keys = 20,
            .open_most = 2,
            .removals = 25,
            .large = 50,
            .asynchronous = 30},
    Profile{.name = "trees", .keys = 20, .trees_most = 8},
    Profile{.name = "wrap",
            .keys = 60,
            .value_bytes = 850,
            .open_most = 2,
            .removals = 5,
            .checkpoints = 10,
            .changes_most = 30,
            .steps = 35,
            .warm_up = 200},
    Profile{
        .name = "asynchronous", .keys = 60, .value_bytes = 200, .open_most = 4, .asynchronous = 70},
    Profile{.name = "rollbacks",
            .keys = 80,
            .value_bytes = 400,
            .open_most = 4,
            .ends = 30,
            .rollbacks = 70,
            .changes_most = 15},
    Profile{.name = "eviction",
            .keys = 900,
            .value_bytes = 800,
            .open_most = 4,
            .changes = 80,
            .removals = 15,
            .checkpoints = 2,
            .changes_most = 40},
    Profile{.name = "reopened", .keys = 80, .value_bytes = 300, .large = 5, .reopens = 3},
    Profile{.name = "contended", .keys = 8, .value_bytes = 300, .open_most = 6, .removals = 40},
    Profile{.name = "bulks", .keys = 150, .value_bytes = 200, .open_most = 2, .table = 60},
    Profile{.name = "appends",
            .keys = 60,
            .value_bytes = 200,
            .open_most = 2,
            .table = 85,
            .appended = 350'000,
            .steps = 20},
    Profile{.name = "everything",
            .keys = 200,
            .value_bytes = 600,
            .open_most = 5,
            .trees_most = 3,
            .removals = 30,
            .large = 8,
            .rollbacks = 35,
            .asynchronous = 30,
            .reopens = 1,
            .table = 15,
            .changes_most = 15},
};

[[noreturn]] void mismatch(const std::string& what) {
  throw std::runtime_error("the engine returned what the model does not say: " + what);
}

}  // namespace

std::span<const Profile> profiles() {
  return kProfiles;
}

engine::EngineOptions campaign_options() {
  engine::EngineOptions options = engine::test::small_options();
  options.max_transactions = 8;
  options.background_threads = true;  // a writer that waits for log space needs them
  options.background_sweeps = false;  // they would change trees during a judgement
  options.log_bytes_max = kLogSegments * options.log_segment_bytes;
  options.replay_bytes_max = options.log_segment_bytes;  // checkpoints by age, before it runs short
  options.transactions.asynchronous_interval = std::chrono::milliseconds(1);
  return options;
}

Workload::Workload(test::SimDisk& disk, const Profile& profile, std::uint64_t seed)
    : disk_(disk),
      profile_(profile),
      random_(seed),
      device_(disk.device()),
      images_(disk, kPageBytes),
      history_(std::make_shared<History>(State())),
      table_(random_, now_, history_, profile.keys, profile.appended, [this] { make_room(); }) {}

Workload::~Workload() {
  abandon();
}

void Workload::open() {
  database_ = engine::Engine::open(*device_, *device_, campaign_options());
  images_.watch(database_.get());
  table_.open(*database_);
}

void Workload::go_on_from(State state) {
  now_ = state;
  history_ = std::make_shared<History>(std::move(state));
}

void Workload::abandon() noexcept {
  disk_.set_hook({});
  disk_.power_off();
  images_.watch(nullptr);
  open_.clear();
  table_.close();
  old_reader_.reset();
  database_.reset();
}

void Workload::close() {
  end_all();
  table_.close();
  old_reader_.reset();
  database_->close();
  images_.watch(nullptr);
  database_.reset();
  history_->acknowledge();
}

void Workload::reopen() {
  close();
  open();
}

// With an old reader, versions outlive their transactions.
void Workload::look_on() {
  old_reader_.reset();
  if (percent(70)) {
    old_reader_ = database_->begin(txn::Durability::asynchronous, txn::Isolation::snapshot,
                                   txn::SnapshotUse::reads);
  }
}

void Workload::step() {
  make_room();
  if (percent(10)) {
    look_on();
  }
  if (trees() == 0 || (trees() < profile_.trees_most && percent(5))) {
    make_tree();
    return;
  }
  unsigned dice = static_cast<unsigned>(random_.below(100));
  const auto falls_into = [&dice](unsigned share) {
    const bool hit = dice < share;
    dice -= hit ? 0 : share;
    return hit;
  };
  if (falls_into(profile_.checkpoints)) {
    checkpoint();
  } else if (falls_into(profile_.reopens)) {
    reopen();
  } else if (falls_into(profile_.table)) {
    change_table();
  } else if (falls_into(profile_.ends) && !open_.empty()) {
    end_one();
  } else if (open_.empty() || (open_.size() < profile_.open_most && percent(30))) {
    begin();
  } else {
    change_some();
  }
}

// A bulk that begins conflicts with any open writer, and with a reader that sees the state before
// the last bulk.
void Workload::change_table() {
  if (random_.one_in(4)) {
    static_cast<void>(table_.sweep());
    make_room();
  }
  table_.step(old_reader_ != nullptr, [this] {
    end_all();
    old_reader_.reset();
  });
}

void Workload::begin() {
  Open open;
  open.synchronous = !percent(profile_.asynchronous);
  open.handle = database_->begin(
      open.synchronous ? txn::Durability::synchronous : txn::Durability::asynchronous,
      txn::Isolation::read_committed);  // the model knows no other conflicts
  open_.push_back(std::move(open));
}

// Overtaken: a change succeeds although another transaction was in conflict just before, because
// that one was cancelled meanwhile to free the log. The change was made on a state that the model
// does not know, so it is undone.
void Workload::change_some() {
  const txn::Transaction* chosen = open_[random_.below(open_.size())].handle.get();
  const std::size_t count = 1 + random_.below(profile_.changes_most);
  for (std::size_t i = 0; i < count; ++i) {
    make_room();
    const auto open = std::ranges::find_if(
        open_, [&](const Open& other) { return other.handle.get() == chosen; });
    if (open == open_.end()) {
      return;  // it was too old
    }
    try {
      change(*open);
    } catch (const Overtaken&) {
      roll_back(static_cast<std::size_t>(open - open_.begin()));
      return;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::transaction_too_old) {
        throw;
      }
      forget(static_cast<std::size_t>(open - open_.begin()), true);
      return;
    }
  }
}

void Workload::change(Open& open) {
  const std::string tree = some_tree();
  const std::string key = some_key();
  if (percent(profile_.removals)) {
    remove(open, tree, key);
  } else if (random_.one_in(6)) {
    modify(open, tree, key);
  } else {
    store(open, tree, key);
  }
}

void Workload::store(Open& open, const std::string& tree, const std::string& key) {
  const std::string* old = value_of(tree, key);
  const std::string value = some_value(old);
  btree::BTree& in = tree_of(tree);
  const Place place(tree, key);
  const auto dice = random_.below(3);
  const bool existed = old != nullptr;
  if (dice == 0 && existed) {
    if (agrees("update", open, place, open.handle->update(in, key, value))) {
      note(open, place, value);
    }
  } else if (dice == 1) {
    if (agrees("insert", open, place, open.handle->insert(in, key, value)) && !existed) {
      note(open, place, value);
    }
  } else if (agrees("upsert", open, place, open.handle->upsert(in, key, value))) {
    note(open, place, value);
  }
}

void Workload::remove(Open& open, const std::string& tree, const std::string& key) {
  const Place place(tree, key);
  const bool existed = value_of(tree, key) != nullptr;
  if (agrees("remove", open, place, open.handle->remove(tree_of(tree), key)) && existed) {
    note(open, place, std::nullopt);
  }
}

void Workload::modify(Open& open, const std::string& tree, const std::string& key) {
  const std::string* old = value_of(tree, key);
  if (old == nullptr || old->empty() || old->size() > kInPageBytesMax) {
    return;  // in place, and there is nothing, or it lies elsewhere
  }
  std::string value = *old;
  const std::size_t at = random_.below(value.size());
  value[at] = static_cast<char>(random_());
  const Place place(tree, key);
  const auto outcome = open.handle->modify(tree_of(tree), key, [&](MutableBytes bytes) {
    bytes[at] = static_cast<std::byte>(value[at]);
  });
  if (agrees("modify", open, place, outcome)) {
    note(open, place, value);
  }
}

// Whether the change has been made, except where the record existed or did not.
bool Workload::agrees(const char* what, const Open& open, const Place& place,
                      const btree::WriteOutcome& outcome) const {
  const bool conflicting_writer = has_conflicting_writer(open, place);
  const bool existed = value_of(place.first, place.second) != nullptr;
  if (conflicting_writer && !outcome.conflict && !owners_.find(place)->second->is_active()) {
    throw Overtaken();
  }
  if (conflicting_writer != outcome.conflict.has_value()) {
    mismatch(fmt::format("{} of {}: {}", what, place.second,
                         conflicting_writer ? "no conflict" : "a conflict without another writer"));
  }
  if (!conflicting_writer && outcome.existed != existed) {
    mismatch(fmt::format("{} of {}: existed is {}", what, place.second, outcome.existed));
  }
  return !conflicting_writer;
}

bool Workload::has_conflicting_writer(const Open& open, const Place& place) const {
  const auto owner = owners_.find(place);
  return owner != owners_.end() && owner->second != open.handle.get();
}

void Workload::note(Open& open, const Place& place, std::optional<std::string> value) {
  Content& content = now_[place.first];
  const auto old = content.find(place.second);
  open.undo.push_back({place.first, place.second,
                       old == content.end() ? std::nullopt : std::optional(old->second)});
  if (value) {
    content[place.second] = *value;
  } else {
    content.erase(place.second);
  }
  owners_[place] = open.handle.get();
  open.changes.push_back({place.first, place.second, std::move(value)});
}

void Workload::end_one() {
  const std::size_t which = random_.below(open_.size());
  if (percent(profile_.rollbacks)) {
    roll_back(which);
  } else {
    commit(which);
  }
}

void Workload::commit(std::size_t which) {
  Open& open = open_[which];
  if (open.changes.empty()) {
    open.handle->commit();
    forget(which, false);
    return;
  }
  history_->committing(open.changes);
  open.handle->commit();
  if (open.synchronous) {
    history_->acknowledge();
  }
  forget(which, false);
}

void Workload::roll_back(std::size_t which) {
  if (random_.one_in(2)) {
    open_[which].handle->rollback();
  } else {
    open_[which].handle.reset();
  }
  forget(which, true);
}

void Workload::forget(std::size_t which, bool undone) {
  Open& open = open_[which];
  if (undone) {
    for (auto undo = open.undo.rbegin(); undo != open.undo.rend(); ++undo) {
      if (undo->before) {
        now_[undo->tree][undo->key] = *undo->before;
      } else {
        now_[undo->tree].erase(undo->key);
      }
    }
  }
  for (const Undo& undo : open.undo) {
    owners_.erase({undo.tree, undo.key});
  }
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
}

void Workload::end_all() {
  while (!open_.empty()) {
    roll_back(open_.size() - 1);
  }
}

void Workload::checkpoint() {
  if (random_.one_in(3)) {
    database_->checkpointer().run();
  } else {
    for (int i = 0; i < 4 && database_->checkpointer().step(); ++i) {
    }
  }
}

// One thread must not wait for log space that only itself can free. Rolls back transactions that
// hold the log back.
void Workload::make_room() {
  wal::Log& log = database_->log();
  if (log.replay_bytes() > log.capacity_bytes() / 4) {
    for (int i = 0; i < 64 && database_->checkpointer().step(); ++i) {
    }
  }
  for (std::size_t i = open_.size(); i-- > 0;) {
    if (!open_[i].handle->is_active()) {
      forget(i, true);
    }
  }
}

void Workload::make_tree() {
  const std::string name = fmt::format("tree{}", trees());
  history_->committing({{.tree = name, .key = "", .value = std::nullopt}});
  if (database_->make_tree(name) == nullptr) {
    mismatch("a tree that was never made exists");
  }
  history_->acknowledge();
  now_[name];
}

// Pages freed by asynchronous commits are reusable once these are durable, and no snapshot is
// older.
void Workload::finish() {
  end_all();
  table_.close();
  old_reader_.reset();
  table_.open(*database_);
  sweep_all();
  const Gsn now = database_->begin()->commit();
  database_->log().wait_durable(now);
  history_->acknowledge();
  database_->transactions().free_due();
  if (const std::string text = difference(state_of(*database_), now_); !text.empty()) {
    mismatch("content" + text);
  }
  if (const auto sound = engine::test::sound(*database_); !sound) {
    mismatch(sound.message());
  }
  if (const std::string fault = images_.fault(); !fault.empty()) {
    mismatch(fault);
  }
}

// Log space may be too short for some of it.
void Workload::sweep_all() {
  for (int i = 0; table_.sweep() || !database_->bulk_epochs().is_empty(); ++i) {
    if (i == 10'000) {
      mismatch("what bulks have left is never swept");
    }
    make_room();
  }
}

btree::BTree& Workload::tree_of(const std::string& name) {
  btree::BTree* tree = database_->find_tree(name);
  if (tree == nullptr) {
    mismatch("there is no tree " + name);
  }
  return *tree;
}

std::string Workload::some_tree() {
  const std::uint64_t which = random_.below(trees());
  auto tree = now_.begin();
  for (std::uint64_t i = 0; tree->first == kStateOfTable || i++ != which;) {
    ++tree;
  }
  return tree->first;
}

// Numbers followed by a part of varying length, so that fences and prefixes vary.
std::string Workload::some_key() {
  const std::uint64_t number = random_.below(profile_.keys);
  return fmt::format("key{:05}{}", number * 7919 % 100'000, std::string(number % 11, 'k'));
}

std::string Workload::some_value(const std::string* old) {
  std::size_t size = random_.below(profile_.value_bytes + 1);
  if (percent(profile_.large)) {
    size = random_.between(1500, 30'000);
  } else if (old != nullptr && random_.one_in(3)) {
    size = std::min(old->size(), kInPageBytesMax);
  }
  std::string value(size, static_cast<char>('a' + random_.below(26)));
  const std::string mark = fmt::format("{:x}", random_());
  std::copy_n(mark.begin(), std::min(mark.size(), size), value.begin());
  return value;
}

const std::string* Workload::value_of(const std::string& tree, const std::string& key) const {
  const auto content = now_.find(tree);
  if (content == now_.end()) {
    return nullptr;
  }
  const auto record = content->second.find(key);
  return record == content->second.end() ? nullptr : &record->second;
}

}  // namespace palimpsest::crash
