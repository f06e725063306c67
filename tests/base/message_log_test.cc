// Messages on their way to the user's function: order, threads, a function that blocks, throws, or
// is gone.
#include "base/message_log.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/log_recorder.h"

namespace palimpsest {
namespace {

using test::eventually;
using test::LogRecorder;
using test::RecordedMessage;
using test::run_in_child;
using testing::ElementsAre;

void say(const LogSink& sink, std::uint64_t number, LogLevel level = LogLevel::info) {
  log_to(sink, level, "part", "said", {{"number", number}});
}

std::vector<std::uint64_t> numbers_of(const LogRecorder& recorder) {
  std::vector<std::uint64_t> numbers;
  for (const RecordedMessage& message : recorder.of("part")) {
    numbers.push_back(message.number("number").value_or(0));
  }
  return numbers;
}

/// A function that waits in its first call until it is let go on.
class BlockingFunction {
 public:
  explicit BlockingFunction(const LogRecorder& recorder) : record_(recorder.function()) {}
  [[nodiscard]] LogFunction function() {
    return [this](const LogMessage& message) {
      record_(message);
      if (!has_entered.exchange(true)) {
        go_on_.wait();
      }
    };
  }
  void go_on() { go_on_.count_down(); }

  std::atomic<bool> has_entered{false};

 private:
  LogFunction record_;
  std::latch go_on_{1};
};

TEST(MessageLog, DeliversInOrderFromAThreadOfItsOwn) {
  const LogRecorder recorder;
  const MessageLog log(recorder.function(), LogLevel::debug);
  for (std::uint64_t number = 1; number <= 100; ++number) {
    say(log.sink(), number);
  }
  log.flush();
  std::vector<std::uint64_t> expected(100);
  for (std::uint64_t i = 0; i < 100; ++i) {
    expected[i] = i + 1;
  }
  EXPECT_EQ(numbers_of(recorder), expected);
  for (const RecordedMessage& message : recorder.all()) {
    EXPECT_NE(message.thread, std::this_thread::get_id());
    EXPECT_EQ(message.thread, recorder.all().front().thread);
  }
}

TEST(MessageLog, KeepsTextsThatHaveGone) {
  const LogRecorder recorder;
  const MessageLog log(recorder.function(), LogLevel::debug);
  {
    std::string text(100, 'x');
    std::string key = "a_key_that_is_too_long_to_lie_within_the_string";
    log_to(log.sink(), LogLevel::error, text, text, {{key, text}, {"other", key}, {"yes", true}});
    text.assign(100, '!');
    key.assign(key.size(), '?');
  }
  log.flush();
  ASSERT_EQ(recorder.all().size(), 1U);
  const RecordedMessage message = recorder.all().front();
  const std::string x(100, 'x');
  EXPECT_EQ(message.text, x + ": " + x + " a_key_that_is_too_long_to_lie_within_the_string=" + x +
                              " other=a_key_that_is_too_long_to_lie_within_the_string yes=true");
  EXPECT_EQ(message.level, LogLevel::error);
}

TEST(MessageLog, LeavesOutWhatIsBelowTheLevel) {
  const LogRecorder recorder;
  const MessageLog log(recorder.function(), LogLevel::warning);
  say(log.sink(), 1, LogLevel::debug);
  say(log.sink(), 2, LogLevel::info);
  say(log.sink(), 3, LogLevel::warning);
  say(log.sink(), 4, LogLevel::error);
  log.flush();
  EXPECT_THAT(numbers_of(recorder), ElementsAre(3, 4));
}

TEST(MessageLog, OffMeansThatNothingIsDone) {
  const LogRecorder recorder;
  const MessageLog log(recorder.function(), LogLevel::off);
  EXPECT_FALSE(log.sink());
  log.flush();
}

TEST(MessageLog, AFunctionThatBlocksDelaysNoOneThatReports) {
  const LogRecorder recorder;
  BlockingFunction blocking(recorder);
  const MessageLog log(blocking.function(), LogLevel::debug);
  say(log.sink(), 1);
  ASSERT_TRUE(eventually([&] { return blocking.has_entered.load(); }));
  for (std::uint64_t number = 2; number <= 50; ++number) {
    say(log.sink(), number);
  }
  EXPECT_THAT(numbers_of(recorder), ElementsAre(1));
  blocking.go_on();
  log.flush();
  EXPECT_EQ(numbers_of(recorder).size(), 50U);
}

TEST(MessageLog, WhatDoesNotFitIsCounted) {
  constexpr std::uint64_t kLost = 17;
  const LogRecorder recorder;
  BlockingFunction blocking(recorder);
  const MessageLog log(blocking.function(), LogLevel::debug);
  say(log.sink(), 0);
  ASSERT_TRUE(eventually([&] { return blocking.has_entered.load(); }));
  for (std::uint64_t number = 1; number <= MessageLog::kMessagesMax + kLost; ++number) {
    say(log.sink(), number);
  }
  blocking.go_on();
  log.flush();
  ASSERT_TRUE(eventually([&] { return recorder.count("messages") != 0; }));
  const std::vector<RecordedMessage> all = recorder.all();
  ASSERT_EQ(all.size(), 1 + MessageLog::kMessagesMax + 1);
  EXPECT_EQ(numbers_of(recorder).back(), MessageLog::kMessagesMax) << "the first ones are kept";
  EXPECT_EQ(all.back().component, "messages") << "behind those that came before";
  EXPECT_EQ(all.back().level, LogLevel::warning);
  EXPECT_EQ(all.back().number("messages"), kLost);
}

TEST(MessageLog, AnExceptionOfTheFunctionIsItsOwn) {
  const LogRecorder recorder;
  const LogFunction record = recorder.function();
  const MessageLog log(
      [&](const LogMessage& message) {
        record(message);
        if (std::get<std::uint64_t>(message.fields[0].value) % 2 == 0) {
          throw std::runtime_error("cannot write");
        }
        throw 1;  // NOLINT(hicpp-exception-baseclass): a function may throw anything
      },
      LogLevel::debug);
  for (std::uint64_t number = 1; number <= 4; ++number) {
    say(log.sink(), number);
  }
  log.flush();
  EXPECT_THAT(numbers_of(recorder), ElementsAre(1, 2, 3, 4));
}

TEST(MessageLog, TheDestructorDeliversWhatWaitsAndLetsTheFunctionGo) {
  const LogRecorder recorder;
  auto captured = std::make_shared<int>(1);
  LogSink sink;
  {
    const MessageLog log(
        [captured, record = recorder.function()](const LogMessage& message) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          record(message);
        },
        LogLevel::debug);
    sink = log.sink();
    for (std::uint64_t number = 1; number <= 10; ++number) {
      say(sink, number);
    }
  }
  EXPECT_EQ(numbers_of(recorder).size(), 10U);
  EXPECT_EQ(captured.use_count(), 1) << "a sink that is kept longer does not keep it";
  say(sink, 11);
  EXPECT_EQ(numbers_of(recorder).size(), 10U);
}

TEST(MessageLog, TakesMessagesFromManyThreads) {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kEach = 200;
  const LogRecorder recorder;
  const MessageLog log(recorder.function(), LogLevel::debug);
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::uint64_t i = 0; i < kEach; ++i) {
          say(log.sink(), thread * kEach + i);
        }
      });
    }
  }
  log.flush();
  std::vector<std::uint64_t> next(kThreads);
  for (const std::uint64_t number : numbers_of(recorder)) {
    const std::uint64_t thread = number / kEach;
    EXPECT_EQ(number % kEach, next[thread]++) << "in the order of each thread";
  }
  EXPECT_THAT(next, testing::Each(kEach));
}

TEST(MessageLog, SeveralDatabasesMayHaveOneFunction) {
  const LogRecorder recorder;
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  const LogFunction function = [&, record = recorder.function()](const LogMessage& message) {
    most = std::max(most.load(), ++inside);
    record(message);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --inside;
  };
  {
    const MessageLog one(function, LogLevel::debug);
    const MessageLog other(function, LogLevel::debug);
    for (std::uint64_t number = 0; number < 50; ++number) {
      say(one.sink(), number);
      say(other.sink(), number);
    }
  }
  EXPECT_EQ(recorder.all().size(), 100U);
  EXPECT_LE(most.load(), 2) << "each calls it once at a time";
}

// What waits at the fork is delivered by the parent only.
TEST(MessageLog, AChildDeliversNothing) {
  const LogRecorder recorder;
  BlockingFunction blocking(recorder);
  const MessageLog log(blocking.function(), LogLevel::debug);
  say(log.sink(), 1);
  ASSERT_TRUE(eventually([&] { return blocking.has_entered.load(); }));
  say(log.sink(), 2);
  EXPECT_EQ(run_in_child([&] {
              say(log.sink(), 3);
              std::this_thread::sleep_for(std::chrono::milliseconds(20));
              return recorder.all().size() == 1 ? 0 : 1;
            }),
            0);
  blocking.go_on();
  log.flush();
  EXPECT_THAT(numbers_of(recorder), ElementsAre(1, 2));
}

// The child may find the queue locked, by a thread that it does not have: it does not look.
TEST(MessageLog, AChildQueuesNothing) {
  const LogRecorder recorder;
  const MessageLog log(recorder.function(), LogLevel::debug);
  say(log.sink(), 1);
  log.flush();
  EXPECT_EQ(run_in_child([&] {
              ::alarm(20);
              say(log.sink(), 2);
              log.flush();  // waits for nothing
              return 0;
            }),
            0);
  log.flush();
  EXPECT_THAT(numbers_of(recorder), ElementsAre(1));
}

}  // namespace
}  // namespace palimpsest
