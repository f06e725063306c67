// The contract of every store for one session at a time (experiments/oltp/store.h), as a suite over
// engines (store_fixture.h).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "experiments/engines/store.h"
#include "tests/experiments/oltp/store_fixture.h"
#include "tests/support/eventually.h"

namespace palimpsest::experiments::oltp::test {

template <class Engine>
class StoreOperations : public StoreFixture<Engine> {};

TYPED_TEST_SUITE_P(StoreOperations);

TYPED_TEST_P(StoreOperations, FindsWhatWasInserted) {
  this->write([](auto& session) {
    EXPECT_EQ(session.insert(kFirst, "key", "value"), Access::done);
    EXPECT_EQ(session.insert(kFirst, "key", "other"), Access::exists);
    EXPECT_EQ(session.insert(kSecond, "key", ""), Access::done);
  });
  this->write([](auto& session) {
    EXPECT_EQ(session.insert(kFirst, "key", "other"), Access::exists);
    EXPECT_EQ(session.insert(kSecond, "key", "other"), Access::exists);
  });
  EXPECT_EQ(this->value_of(kFirst, "key"), "value");
  EXPECT_EQ(this->value_of(kSecond, "key"), "");
  EXPECT_EQ(this->value_of(kFirst, "kez"), std::nullopt);
}

TYPED_TEST_P(StoreOperations, RewritesToAnySize) {
  this->insert_keys(kFirst, {"key"});
  std::string expected = "key!";
  for (const std::size_t size : {700U, 700U, 1U, 0U, 40U, 1500U, 12U}) {
    const std::string next(size, static_cast<char>('a' + size % 26));
    this->write([&](auto& session) {
      EXPECT_EQ(session.rewrite(kFirst, "key",
                                [&](ByteView value) {
                                  EXPECT_EQ(value, expected);
                                  return ByteView(next);
                                }),
                Access::done);
      EXPECT_EQ(this->value_in(session, kFirst, "key"), next);
      EXPECT_EQ(this->replace(session, kFirst, "kex", next), Access::missing);
    });
    expected = next;
    EXPECT_EQ(this->value_of(kFirst, "key"), expected);
  }
}

TYPED_TEST_P(StoreOperations, RewritesToAPartOfWhatWasThere) {
  this->insert_keys(kFirst, {"a", "key", "z"});
  this->write([&](auto& session) {
    EXPECT_EQ(this->replace(session, kFirst, "key", "0123456789"), Access::done);
  });
  std::string longer;  // so that adjacent rows move
  const auto rewrite = [&](auto part) {
    this->write([&](auto& session) {
      EXPECT_EQ(session.rewrite(kFirst, "key", part), Access::done);
      EXPECT_EQ(this->replace(session, kFirst, "a", longer += "a neighbour"), Access::done);
      EXPECT_EQ(session.rewrite(kFirst, "key", part), Access::done);
    });
  };
  rewrite([](ByteView value) { return value; });
  EXPECT_EQ(this->value_of(kFirst, "key"), "0123456789");
  rewrite([](ByteView value) { return value.substr(1); });
  EXPECT_EQ(this->value_of(kFirst, "key"), "23456789");
  rewrite([](ByteView value) { return value.substr(0, value.size() - 1); });
  EXPECT_EQ(this->value_of(kFirst, "key"), "234567");
}

TYPED_TEST_P(StoreOperations, ErasesAndInsertsAgain) {
  this->insert_keys(kFirst, {"a", "b", "c"});
  this->write([&](auto& session) {
    EXPECT_EQ(session.erase(kFirst, "b"), Access::done);
    EXPECT_EQ(session.erase(kFirst, "b"), Access::missing);
    EXPECT_EQ(session.erase(kFirst, "bb"), Access::missing);
    EXPECT_EQ(this->replace(session, kFirst, "b", "x"), Access::missing);
  });
  EXPECT_EQ(this->value_of(kFirst, "b"), std::nullopt);
  EXPECT_THAT(this->keys_of(kFirst, "a", "z", Direction::forward),
              ::testing::ElementsAre("a", "c"));
  this->insert_keys(kFirst, {"b"});
  EXPECT_THAT(this->keys_of(kFirst, "a", "z", Direction::backward),
              ::testing::ElementsAre("c", "b", "a"));
}

TYPED_TEST_P(StoreOperations, SeesItsOwnChanges) {
  this->insert_keys(kFirst, {"a", "c", "e", "g"});
  this->write([&](auto& session) {
    EXPECT_EQ(session.insert(kFirst, "b", "new"), Access::done);
    EXPECT_EQ(session.erase(kFirst, "c"), Access::done);
    EXPECT_EQ(this->replace(session, kFirst, "e", "changed"), Access::done);
    EXPECT_EQ(session.erase(kFirst, "g"), Access::done);
    EXPECT_EQ(session.insert(kFirst, "g", "again"), Access::done);
    EXPECT_EQ(this->value_in(session, kFirst, "b"), "new");
    EXPECT_EQ(this->value_in(session, kFirst, "c"), std::nullopt);
    const Rows all = {{"a", "a!"}, {"b", "new"}, {"e", "changed"}, {"g", "again"}};
    EXPECT_EQ(this->rows_in(session, kFirst, "a", "g", Direction::forward), all);
    EXPECT_EQ(this->rows_in(session, kFirst, "a", "g", Direction::backward),
              Rows(all.rbegin(), all.rend()));
    EXPECT_EQ(this->rows_in(session, kFirst, "c", "d", Direction::forward), Rows());
    EXPECT_EQ(this->rows_in(session, kFirst, "a", "d", Direction::backward, 1),
              Rows({{"b", "new"}}));
  });
}

TYPED_TEST_P(StoreOperations, RollsBackEverything) {
  this->insert_keys(kFirst, {"a", "b", "c", "d"});
  this->session_->begin(Intent::read_write);
  EXPECT_EQ(this->replace(*this->session_, kFirst, "a", "changed"), Access::done);
  EXPECT_EQ(this->session_->erase(kFirst, "b"), Access::done);
  EXPECT_EQ(this->replace(*this->session_, kFirst, "c", "changed"), Access::done);
  EXPECT_EQ(this->session_->erase(kFirst, "c"), Access::done);
  EXPECT_EQ(this->session_->erase(kFirst, "d"), Access::done);
  EXPECT_EQ(this->session_->insert(kFirst, "d", "again"), Access::done);
  EXPECT_EQ(this->session_->insert(kFirst, "e", "new"), Access::done);
  EXPECT_EQ(this->session_->insert(kSecond, "a", "new"), Access::done);
  this->session_->rollback();
  EXPECT_THAT(this->keys_of(kFirst, "a", "z", Direction::forward),
              ::testing::ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(this->keys_of(kSecond, "a", "z", Direction::forward), ::testing::ElementsAre());
  this->insert_keys(kFirst, {"e"});
}

TYPED_TEST_P(StoreOperations, ScansRangesBothWays) {
  const std::string high = "k\xff";
  const std::string zero("k\0", 2);
  this->insert_keys(kSecond, {"a", "z"});
  this->insert_keys(kFirst, {"a", "k", zero, "kk", high, "m"});
  const auto scan = [&](ByteView first, ByteView last, std::size_t most = 100) {
    auto keys = this->keys_of(kFirst, first, last, Direction::forward, most);
    if (most >= keys.size()) {
      auto backward = this->keys_of(kFirst, first, last, Direction::backward);
      EXPECT_EQ(std::vector<std::string>(backward.rbegin(), backward.rend()),
                this->keys_of(kFirst, first, last, Direction::forward));
    }
    return keys;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(scan("a", "z"), ElementsAre("a", "k", zero, "kk", high, "m"));
  EXPECT_THAT(scan("a", "m"), ElementsAre("a", "k", zero, "kk", high, "m"));
  EXPECT_THAT(scan("k", high), ElementsAre("k", zero, "kk", high));
  EXPECT_THAT(scan(zero, zero), ElementsAre(zero));
  EXPECT_THAT(scan("b", "l"), ElementsAre("k", zero, "kk", high));
  EXPECT_THAT(scan("b", "c"), ElementsAre());
  EXPECT_THAT(scan("n", "z"), ElementsAre());
  EXPECT_THAT(scan("A", "B"), ElementsAre());
  EXPECT_THAT(scan("a", "z", 2), ElementsAre("a", "k"));
  EXPECT_THAT(this->keys_of(kFirst, "a", "z", Direction::backward, 2), ElementsAre("m", high));
  EXPECT_THAT(this->keys_of(kThird, "a", "z", Direction::forward), ElementsAre());
  EXPECT_THAT(this->keys_of(kThird, "a", "z", Direction::backward), ElementsAre());
}

TYPED_TEST_P(StoreOperations, FindsAllThatWasCommittedWhenOpenedAgain) {
  this->insert_keys(kFirst, {"a", "b", "c"});
  this->write([&](auto& session) {
    EXPECT_EQ(this->replace(session, kFirst, "b", std::string(900, 'x')), Access::done);
    EXPECT_EQ(session.erase(kFirst, "c"), Access::done);
    EXPECT_EQ(session.insert(kThird, "c", ""), Access::done);
  });
  this->session_->begin(Intent::read_write);
  EXPECT_EQ(this->session_->insert(kFirst, "d", "rolled back"), Access::done);
  this->session_->rollback();
  this->reopen();
  EXPECT_EQ(this->value_of(kFirst, "a"), "a!");
  EXPECT_EQ(this->value_of(kFirst, "b"), std::string(900, 'x'));
  EXPECT_EQ(this->value_of(kFirst, "c"), std::nullopt);
  EXPECT_EQ(this->value_of(kFirst, "d"), std::nullopt);
  EXPECT_EQ(this->value_of(kSecond, "c"), std::nullopt);
  EXPECT_EQ(this->value_of(kThird, "c"), "");
}

TYPED_TEST_P(StoreOperations, LoadsRowsThatAscendOrNot) {
  constexpr int kRows = 3000;
  const auto key_of = [](int i) { return std::to_string(100'000 + i); };
  const auto load = [&](int first, int last, int step) {
    const auto loader = this->store_->open_session(SessionUse::load);
    for (int i = first; i != last;) {
      loader->begin(Intent::read_write);
      for (int in_batch = 0; in_batch < 100 && i != last; ++in_batch, i += step) {
        EXPECT_EQ(loader->insert(kFirst, key_of(i), key_of(i) + "!"), Access::done);
        EXPECT_EQ(loader->insert(kThird, key_of(i), ""), Access::done);
        if (i == kRows / 2) {  // in one table only
          EXPECT_EQ(loader->insert(kFirst, "0", "0!"), Access::done);
        }
      }
      EXPECT_EQ(loader->commit(), Access::done);
    }
  };
  this->session_.reset();
  load(0, kRows, 1);
  load(3 * kRows, 2 * kRows, -1);  // descending, and the table has rows
  load(kRows, kRows + 10, 1);
  this->store_->finish_load();
  this->session_ = this->store_->open_session(SessionUse::read_write);
  this->reopen();
  this->session_->begin(Intent::read_only);
  EXPECT_EQ(this->rows_in(*this->session_, kThird, "0", "9", Direction::forward, 1'000'000).size(),
            static_cast<std::size_t>(2 * kRows + 10));
  this->session_->rollback();
  EXPECT_THAT(this->keys_of(kFirst, key_of(0), "9", Direction::forward, 2),
              ::testing::ElementsAre(key_of(0), key_of(1)));
  EXPECT_THAT(this->keys_of(kFirst, key_of(0), "9", Direction::backward, 2),
              ::testing::ElementsAre(key_of(3 * kRows), key_of(3 * kRows - 1)));
  EXPECT_EQ(this->value_of(kFirst, "0"), "0!");
  EXPECT_EQ(this->value_of(kFirst, key_of(kRows + 9)), key_of(kRows + 9) + "!");
}

TYPED_TEST_P(StoreOperations, CountsWhatItKnows) {
  constexpr int kCommits = 20;
  const std::string value(1000, 'v');
  const StoreCounts before = this->store_->counts();
  for (int i = 0; i < kCommits; ++i) {
    this->write([&](auto& session) {
      EXPECT_EQ(session.insert(kFirst, std::to_string(i), value), Access::done);
    });
  }
  if (before.log_bytes) {  // asynchronous ones are counted when they are written
    const std::uint64_t enough = *before.log_bytes + kCommits * value.size();
    EXPECT_TRUE(
        palimpsest::test::eventually([&] { return *this->store_->counts().log_bytes >= enough; }));
  }
  EXPECT_FALSE(this->store_->description().empty());
  EXPECT_FALSE(this->store_->effective_options().empty());
  this->reopen();
  if (before.data_bytes) {
    EXPECT_GE(*this->store_->counts().data_bytes, kCommits * value.size());
  }
}

REGISTER_TYPED_TEST_SUITE_P(StoreOperations, FindsWhatWasInserted, RewritesToAnySize,
                            RewritesToAPartOfWhatWasThere, ErasesAndInsertsAgain, SeesItsOwnChanges,
                            RollsBackEverything, ScansRangesBothWays,
                            FindsAllThatWasCommittedWhenOpenedAgain, LoadsRowsThatAscendOrNot,
                            CountsWhatItKnows);

}  // namespace palimpsest::experiments::oltp::test
