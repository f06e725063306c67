// A database on a simulated disk whose operations fail, and its expected contents.
//
// Every error of the database must be one that a failing disk explains; any other fails the test.
// What is committed is known, except the one transaction whose commit failed: it is *in doubt*,
// there as a whole or not at all, and no other can commit after it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "tests/engine/engine_fixture.h"
#include "tests/support/sim_disk.h"

namespace palimpsest::engine::test {

/// One change of a transaction; without a value the record is removed.
struct FaultChange {
  std::string key;
  std::optional<std::string> value;
};

/// The content after the changes.
[[nodiscard]] Content changed(Content content, const std::vector<FaultChange>& changes);

class FaultSession {
 public:
  FaultSession(palimpsest::test::SimDisk disk, const EngineOptions& options)
      : disk_(std::move(disk)), options_(options) {}
  ~FaultSession() { kill(); }
  FaultSession(const FaultSession&) = delete;
  FaultSession& operator=(const FaultSession&) = delete;

  /// What is committed on the given disk.
  void expect(const Content& content) { committed_ = content; }
  /// Takes over what another session has committed, and what it has left in doubt.
  void take_over(const FaultSession& other) {
    committed_ = other.committed_;
    with_doubtful_ = other.with_doubtful_;
  }
  [[nodiscard]] const Content& committed() const noexcept { return committed_; }

  /// Opens the database; false after an error, which is noted.
  bool open();
  /// Ends the process: nothing is written any more.
  void kill();
  /// Closes the database in the ordinary way, with or without an error.
  void end();

  /// Runs the changes, commits or rolls back, and notes errors. Retries a transaction that is too
  /// old, as programs do.
  void transact(const std::vector<FaultChange>& changes, bool rolls_back = false);
  /// Runs the due part of a checkpoint; notes errors.
  void checkpoint();

  /// The possible contents: what is committed, with or without what is in doubt.
  [[nodiscard]] std::vector<Content> possible() const;

  [[nodiscard]] palimpsest::test::SimDisk& disk() noexcept { return disk_; }
  [[nodiscard]] Engine& database() { return *database_; }
  [[nodiscard]] btree::BTree& tree();
  [[nodiscard]] const std::vector<ErrorCode>& errors() const noexcept { return errors_; }
  /// The message of the newest error.
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  /// A rollback failed: until the database is opened again it contains incomplete transactions.
  [[nodiscard]] bool has_halves() const noexcept { return has_halves_; }
  [[nodiscard]] bool has_failed() const {
    return database_->log().failed() || database_->file().failed();
  }

  /// Success if `content` is what is committed, with or without what is in doubt.
  [[nodiscard]] ::testing::AssertionResult is_right(const Content& content) const;
  /// Expects the right content and a sound database. Afterwards nothing is in doubt.
  void expect_right();
  /// As far as it can be read at all, with failures noted.
  void expect_readable();

 private:
  void note(const Error& error);
  void attempt(const std::vector<FaultChange>& changes, bool rolls_back);

  palimpsest::test::SimDisk disk_;
  const EngineOptions options_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
  Content committed_;
  std::optional<Content> with_doubtful_;
  std::vector<ErrorCode> errors_;
  std::string message_;
  bool has_halves_ = false;
};

}  // namespace palimpsest::engine::test
