// A store that is open, for the suites over all stores (store_operations.h, store_sessions.h).
//
// An engine here is a small class of the tests:
//   Store                      the type of its stores
//   kIsolation, kDurability    as it is opened
//   kConcurrency               which transactions may be open at the same time
//   open(settings)             a std::unique_ptr<Store>; called again after close(), of the same
//                              engine, it finds what was there
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/engines/store.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments::oltp::test {

/// Which transactions of an engine may be open at the same time, even in one thread.
enum class Concurrency : std::uint8_t {
  one = 1,     ///< one alone; the next begin() waits
  one_writer,  ///< and any number of read-only ones
  any,
};

inline constexpr TableId kFirst{0};
inline constexpr TableId kSecond{1};
inline constexpr TableId kThird{2};

using Rows = std::vector<std::pair<std::string, std::string>>;

template <class Engine>
class StoreFixture : public ::testing::Test {
 protected:
  using Session = typename Engine::Store::Session;

  void SetUp() override { open(); }
  void TearDown() override {
    session_.reset();
    store_->close();
  }

  void open() {
    store_ = engine_.open({.directory = directory_.path(),
                           .tables = {"first", "second", "third"},
                           .memory_bytes = std::uint64_t{64} << 20U,
                           .data_bytes = std::uint64_t{1} << 20U,
                           .sessions_max = 8,
                           .isolation = Engine::kIsolation,
                           .durability = Engine::kDurability});
    session_ = store_->open_session(SessionUse::read_write);
  }

  void reopen() {
    session_.reset();
    store_->close();
    store_.reset();
    open();
  }

  /// A transaction that changes something, with no other one open.
  template <class Body>
  void write(Body&& body) {
    session_->begin(Intent::read_write);
    body(*session_);
    EXPECT_EQ(session_->commit(), Access::done);
  }

  /// Inserts rows whose value is their key and an exclamation mark.
  void insert_keys(TableId table, const std::vector<std::string>& keys) {
    write([&](Session& session) {
      for (const std::string& key : keys) {
        EXPECT_EQ(session.insert(table, key, key + "!"), Access::done) << key;
      }
    });
  }

  static std::optional<std::string> value_in(Session& session, TableId table, ByteView key) {
    std::optional<std::string> value;
    const Access access = session.get(table, key, [&](ByteView bytes) { value = bytes; });
    EXPECT_EQ(access, value ? Access::done : Access::missing);
    return value;
  }

  /// The value that a new transaction finds.
  std::optional<std::string> value_of(TableId table, ByteView key) {
    session_->begin(Intent::read_only);
    auto value = value_in(*session_, table, key);
    EXPECT_EQ(session_->commit(), Access::done);
    return value;
  }

  static Access replace(Session& session, TableId table, ByteView key, const std::string& value) {
    return session.rewrite(table, key, [&](ByteView) { return ByteView(value); });
  }

  static Rows rows_in(Session& session, TableId table, ByteView first, ByteView last,
                      Direction direction, std::size_t most = 100) {
    Rows rows;
    EXPECT_EQ(session.scan(table, first, last, direction,
                           [&](ByteView key, ByteView value) {
                             rows.emplace_back(key, value);
                             return rows.size() < most;
                           }),
              Access::done);
    return rows;
  }

  /// The keys that a new transaction scans; each must have its value.
  std::vector<std::string> keys_of(TableId table, ByteView first, ByteView last,
                                   Direction direction, std::size_t most = 100) {
    session_->begin(Intent::read_only);
    std::vector<std::string> keys;
    for (const auto& [key, value] : rows_in(*session_, table, first, last, direction, most)) {
      EXPECT_EQ(value, key + "!");
      keys.push_back(key);
    }
    session_->rollback();
    return keys;
  }

  static constexpr bool has_snapshots() {
    return Engine::kIsolation != Isolation::none && Engine::kIsolation != Isolation::read_committed;
  }

  palimpsest::test::TemporaryDirectory directory_;
  Engine engine_;
  std::unique_ptr<typename Engine::Store> store_;
  std::unique_ptr<Session> session_;
};

/// `open(settings)` opens a store: it opens what a load has made again, and makes nothing in its
/// place if that is missing.
template <class Open>
void expect_to_miss_what_was_loaded(Open open) {
  const palimpsest::test::TemporaryDirectory directory;
  StoreSettings settings{.directory = directory.path("data"),
                         .tables = {"first"},
                         .memory_bytes = std::uint64_t{64} << 20U,
                         .data_bytes = std::uint64_t{1} << 20U,
                         .sessions_max = 1};
  std::filesystem::create_directory(settings.directory);
  settings.loaded = true;
  EXPECT_THROW(open(settings), std::exception) << "an empty directory";
  settings.loaded = false;
  open(settings)->close();
  settings.loaded = true;
  open(settings)->close();
  settings.tables.emplace_back("second");
  EXPECT_THROW(open(settings), std::exception) << "a table is missing";
  std::filesystem::remove_all(settings.directory);
  std::filesystem::create_directory(settings.directory);
  EXPECT_THROW(open(settings), std::exception) << "all are";
}

}  // namespace palimpsest::experiments::oltp::test
