// The contract of every store for concurrent sessions (experiments/oltp/store.h), as a suite over
// engines (store_fixture.h).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "experiments/engines/store.h"
#include "tests/experiments/oltp/store_fixture.h"

namespace palimpsest::experiments::oltp::test {

template <class Engine>
class StoreSessions : public StoreFixture<Engine> {};

TYPED_TEST_SUITE_P(StoreSessions);

TYPED_TEST_P(StoreSessions, LosesNoUpdateOfTwoThreads) {
  constexpr int kUpdates = 200;
  this->write([](auto& session) {
    EXPECT_EQ(session.insert(kFirst, "count", "0"), Access::done);
    EXPECT_EQ(session.insert(kSecond, "count", "0"), Access::done);
  });
  this->session_.reset();
  std::atomic<int> failures{0};
  const auto increment = [](auto& session, TableId table) {
    std::string next;
    return session.rewrite(table, "count", [&](ByteView value) {
      next = std::to_string(std::stoi(std::string(value)) + 1);
      return ByteView(next);
    });
  };
  const auto attempt = [&](auto& session, bool first_table_first) {
    session.begin(Intent::read_write);
    for (const TableId table :
         {first_table_first ? kFirst : kSecond, first_table_first ? kSecond : kFirst}) {
      if (const Access access = increment(session, table); access != Access::done) {
        failures += access == Access::conflict ? 0 : 1;
        session.rollback();
        return false;
      }
    }
    return session.commit() == Access::done;
  };
  const auto work = [&](bool first_table_first) {
    const auto session = this->store_->open_session(SessionUse::read_write);
    for (int done = 0; done < kUpdates;) {
      if (attempt(*session, first_table_first)) {
        ++done;
      } else {
        std::this_thread::yield();
      }
    }
  };
  std::atomic<bool> ended{false};
  const auto compare = [&] {  // each transaction changes both
    const auto session = this->store_->open_session(SessionUse::read_write);
    while (this->has_snapshots() && !ended) {
      session->begin(Intent::read_only);
      failures +=
          this->value_in(*session, kFirst, "count") == this->value_in(*session, kSecond, "count")
              ? 0
              : 1;
      session->rollback();
    }
  };
  std::thread one(work, true);
  std::thread other(work, false);
  std::thread reader(compare);
  one.join();
  other.join();
  ended = true;
  reader.join();
  EXPECT_EQ(failures, 0);
  this->session_ = this->store_->open_session(SessionUse::read_write);
  EXPECT_EQ(this->value_of(kFirst, "count"), std::to_string(2 * kUpdates));
  EXPECT_EQ(this->value_of(kSecond, "count"), std::to_string(2 * kUpdates));
}

TYPED_TEST_P(StoreSessions, ChangesTheNewestValueOrMeetsAConflict) {
  if (TypeParam::kConcurrency != Concurrency::any) {
    GTEST_SKIP() << "the second writer waits for the first";
  }
  this->insert_keys(kFirst, {"key", "other"});
  const auto late = this->store_->open_session(SessionUse::read_write);
  late->begin(Intent::read_write);
  EXPECT_EQ(this->value_in(*late, kFirst, "other"), "other!");
  this->write([&](auto& session) {
    EXPECT_EQ(this->replace(session, kFirst, "key", "first"), Access::done);
  });
  EXPECT_EQ(this->replace(*late, kFirst, "other", "late"), Access::done);
  std::string seen;
  Access access = late->rewrite(kFirst, "key", [&](ByteView value) {
    seen = value;
    return ByteView("second");
  });
  if (access == Access::conflict) {
    late->rollback();
  } else {
    ASSERT_EQ(access, Access::done);
    access = late->commit();
  }
  if (this->has_snapshots()) {
    ASSERT_EQ(access, Access::conflict);
    EXPECT_THAT(late->conflict_reason(),
                ::testing::AnyOf(ConflictReason::write_conflict, ConflictReason::validation));
    EXPECT_EQ(this->value_of(kFirst, "other"), "other!");
    late->begin(Intent::read_write);
    EXPECT_EQ(this->replace(*late, kFirst, "key", "second"), Access::done);
    EXPECT_EQ(late->commit(), Access::done);
  } else {
    EXPECT_EQ(access, Access::done);
    EXPECT_EQ(seen, "first");
    EXPECT_EQ(this->value_of(kFirst, "other"), "late");
  }
  EXPECT_EQ(this->value_of(kFirst, "key"), "second");
}

TYPED_TEST_P(StoreSessions, InsertsAKeyForOneOfTwo) {
  if (TypeParam::kConcurrency != Concurrency::any) {
    GTEST_SKIP() << "the second writer waits for the first";
  }
  const auto conflicting_writer = this->store_->open_session(SessionUse::read_write);
  this->session_->begin(Intent::read_write);
  conflicting_writer->begin(Intent::read_write);
  EXPECT_EQ(this->session_->insert(kFirst, "key", "first"), Access::done);
  Access access = conflicting_writer->insert(kFirst, "key", "conflicting_writer");
  if (access == Access::conflict) {
    conflicting_writer->rollback();
  }
  EXPECT_EQ(this->session_->commit(), Access::done);
  if (access == Access::done) {
    access = conflicting_writer->commit();
  }
  EXPECT_EQ(access, Access::conflict);
  EXPECT_EQ(this->value_of(kFirst, "key"), "first");
}

TYPED_TEST_P(StoreSessions, FindsNoRowsOfTheTransactionItWillFailFor) {
  if (TypeParam::kConcurrency != Concurrency::any) {
    GTEST_SKIP() << "the second writer waits for the first";
  }
  this->insert_keys(kFirst, {"next"});
  const auto conflicting_writer = this->store_->open_session(SessionUse::read_write);
  this->session_->begin(Intent::read_write);
  conflicting_writer->begin(Intent::read_write);
  EXPECT_EQ(this->replace(*this->session_, kFirst, "next", "2"), Access::done);
  const Access late = this->replace(*conflicting_writer, kFirst, "next", "2");
  EXPECT_EQ(this->session_->insert(kSecond, "1", ""), Access::done);
  EXPECT_EQ(this->session_->commit(), Access::done);
  if (late == Access::conflict) {
    conflicting_writer->rollback();
    return;
  }
  EXPECT_EQ(conflicting_writer->insert(kSecond, "1", ""), Access::done);
  EXPECT_EQ(conflicting_writer->commit(), Access::conflict);
}

TYPED_TEST_P(StoreSessions, ReadsOneState) {
  if (TypeParam::kConcurrency == Concurrency::one || !this->has_snapshots()) {
    GTEST_SKIP() << "no snapshots beside writers";
  }
  this->insert_keys(kFirst, {"a", "b"});
  const auto reader = this->store_->open_session(SessionUse::read_write);
  this->session_->begin(Intent::read_write);
  EXPECT_EQ(this->replace(*this->session_, kFirst, "a", "changed"), Access::done);
  reader->begin(Intent::read_only);
  EXPECT_EQ(this->value_in(*reader, kFirst, "a"), "a!");
  EXPECT_EQ(this->session_->insert(kFirst, "c", "new"), Access::done);
  EXPECT_EQ(this->session_->erase(kFirst, "b"), Access::done);
  EXPECT_EQ(this->session_->commit(), Access::done);
  const Rows before = {{"a", "a!"}, {"b", "b!"}};
  EXPECT_EQ(this->rows_in(*reader, kFirst, "a", "z", Direction::forward), before);
  EXPECT_EQ(this->rows_in(*reader, kFirst, "a", "z", Direction::backward),
            Rows(before.rbegin(), before.rend()));
  EXPECT_EQ(reader->commit(), Access::done);
  reader->begin(Intent::read_only);
  EXPECT_EQ(this->rows_in(*reader, kFirst, "a", "z", Direction::forward),
            Rows({{"a", "changed"}, {"c", "new"}}));
  EXPECT_EQ(reader->commit(), Access::done);
}

REGISTER_TYPED_TEST_SUITE_P(StoreSessions, LosesNoUpdateOfTwoThreads,
                            ChangesTheNewestValueOrMeetsAConflict, InsertsAKeyForOneOfTwo,
                            FindsNoRowsOfTheTransactionItWillFailFor, ReadsOneState);

}  // namespace palimpsest::experiments::oltp::test
