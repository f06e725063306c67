// Backups of a small database on a simulated disk; the test knows the state after each commit.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "tests/engine/engine_fixture.h"

namespace palimpsest::engine::test {

/// Repeats the call as long as its error asks for another attempt.
template <class Call>
void try_often(const Call& call) {
  for (;;) {
    try {
      return call();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::snapshot_too_old &&
          error.code() != ErrorCode::transaction_too_old) {
        throw;
      }
    }
  }
}

/// One writer's part of a tree: its own keys, and a record that counts its commits.
class KnownWriter {
 public:
  KnownWriter(std::string name, std::uint64_t seed) : name_(std::move(name)), random_(seed) {}

  /// One transaction of a few changes, of rows of all sizes, some of them in pages of their own.
  void commit_one(Engine& database) {
    const auto transaction = database.begin(random_.below(4) == 0 ? txn::Durability::synchronous
                                                                  : txn::Durability::asynchronous);
    btree::BTree& tree = *database.find_tree("records");
    State next = states_.back();
    for (auto changes = 1 + random_.below(5); changes != 0; --changes) {
      const std::string key = fmt::format("{}/{:03}", name_, random_.below(kKeys));
      if (random_.below(4) == 0) {
        static_cast<void>(transaction->remove(tree, key));
        next.erase(key);
      } else {
        const Value value{.seed = random_(), .bytes = some_size()};
        static_cast<void>(transaction->upsert(tree, key, text_of(value)));
        next[key] = value;
      }
    }
    static_cast<void>(transaction->upsert(tree, counter(), std::to_string(states_.size())));
    transaction->commit();
    states_.push_back(std::move(next));
  }

  /// The number of commits so far.
  [[nodiscard]] std::size_t commits() const noexcept { return states_.size() - 1; }

  /// Whether the content is the state after one of the commits, the `least`-th or a later one.
  [[nodiscard]] ::testing::AssertionResult explains(const Content& content,
                                                    std::size_t least) const {
    const auto count = content.find(counter());
    const std::size_t commits = count == content.end() ? 0 : std::stoul(count->second);
    if (commits < least || commits >= states_.size()) {
      return ::testing::AssertionFailure()
             << name_ << " has committed " << states_.size() - 1 << ", at least " << least
             << " before the backup; the copy has " << commits;
    }
    const State& state = states_[commits];
    std::size_t found = 0;
    for (auto record = content.lower_bound(name_ + "/");
         record != content.end() && record->first.starts_with(name_ + "/"); ++record, ++found) {
      const auto known = state.find(record->first);
      if (known == state.end() || text_of(known->second) != record->second) {
        return ::testing::AssertionFailure()
               << record->first << " is not what it was after commit " << commits;
      }
    }
    if (found != state.size()) {
      return ::testing::AssertionFailure()
             << found << " records after commit " << commits << ", not " << state.size();
    }
    return ::testing::AssertionSuccess();
  }

 private:
  static constexpr std::uint64_t kKeys = 150;
  struct Value {
    std::uint64_t seed = 0;
    std::size_t bytes = 0;
  };
  using State = std::map<std::string, Value>;

  [[nodiscard]] std::string counter() const { return "commits of " + name_; }
  [[nodiscard]] std::size_t some_size() {
    switch (random_.below(12)) {
      case 0: return 280'000 + random_.below(100'000);  // written at once, in several pages
      case 1:
      case 2:
      case 3:
      case 4: return 1'100 + random_.below(6'000);  // by a round
      default: return random_.below(700);
    }
  }
  static std::string text_of(const Value& value) {
    Random random(value.seed);
    std::string text(value.bytes, '\0');
    for (std::size_t at = 0; at < text.size(); at += 61) {
      text[at] = static_cast<char>(random());
    }
    return text;
  }

  const std::string name_;
  Random random_;
  std::vector<State> states_{State{}};
};

/// Opens what a power failure leaves of a completed copy.
class OpenedCopy {
 public:
  explicit OpenedCopy(const palimpsest::test::SimDisk& disk,
                      EngineOptions options = small_options())
      : disk_(disk.crash(1, palimpsest::test::CrashKeeps::nothing)), device_(disk_.device()) {
    options.create_if_missing = false;
    database_ = Engine::open(*device_, *device_, options);
  }

  [[nodiscard]] Engine& database() noexcept { return *database_; }
  [[nodiscard]] io::Device& device() noexcept { return *device_; }
  [[nodiscard]] Content content() { return content_of(*database_->find_tree("records")); }

 private:
  palimpsest::test::SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
};

}  // namespace palimpsest::engine::test
