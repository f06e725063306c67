// The checker finds each planted anomaly and no other: in histories written by hand, and in one of
// a serial run that is changed in one place.
#include "tests/isolation/history_checker.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/isolation/planted.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::isolation {
namespace {

using experiments::history::Event;
using experiments::history::EventType;
using experiments::history::MalformedEvent;
using experiments::history::Operation;
using experiments::history::OperationKind;
using experiments::history::parse_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ListHistory, OneAfterTheOtherIsFine) {
  EXPECT_THAT(found_in(serial({{kOk, R"([["append",1,1]])"},
                               {kOk, R"([["r",1,[1]],["append",1,2],["r",1,[1,2]]])"},
                               {kFail, R"([["append",1,3],["r",2,null]])"},
                               {kOk, R"([["r",1,[1,2]],["r",2,[]],["r",3,null]])"}})),
              IsEmpty());
}

TEST(ListHistory, AValueThatWasNeverWritten) {
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["r",1,[7]]])"}})), ElementsAre(Anomaly::unwritten));
}

TEST(ListHistory, Duplicate) {
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["append",1,1]])"}, {kOk, R"([["r",1,[1,1]]])"}})),
              ElementsAre(Anomaly::duplicate));
}

TEST(ListHistory, IncompatibleOrder) {
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["append",1,1]])"},
                                   {kOk, R"([["append",1,2]])"},
                                   {kOk, R"([["r",1,[1,2]]])"},
                                   {kOk, R"([["r",1,[2]]])"}})),
              ElementsAre(Anomaly::incompatible_order));
}

TEST(ListHistory, Internal) {
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["append",1,1],["r",1,[]]])"}})),
              ElementsAre(Anomaly::internal));
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["r",1,[1]],["append",1,1]])"}})),
              ElementsAre(Anomaly::internal));
}

TEST(ListHistory, LostAndStale) {
  EXPECT_THAT(found_in(serial({{kOk, R"([["append",1,1]])"}, {kOk, R"([["r",1,[]]])"}})),
              ElementsAre(Anomaly::lost_write));
  EXPECT_THAT(
      found_in(serial(
          {{kOk, R"([["append",1,1]])"}, {kOk, R"([["r",1,[]]])"}, {kOk, R"([["r",1,[1]]])"}})),
      ElementsAre(Anomaly::stale_read));
  // Unknown commit status, or never read: nothing is lost.
  EXPECT_THAT(found_in(serial({{kInfo, R"([["append",1,1]])"}, {kOk, R"([["r",1,[]]])"}})),
              IsEmpty());
  EXPECT_THAT(found_in(serial({{kOk, R"([["r",1,[]]])"}, {kOk, R"([["append",1,1]])"}})),
              IsEmpty());
}

TEST(ListHistory, UnknownOutcomesMayTurnOutEitherWay) {
  EXPECT_THAT(found_in(serial({{kInfo, R"([["append",1,1],["append",2,1]])"},
                               {kOk, R"([["r",1,[1]],["r",2,[1]]])"}})),
              IsEmpty());
  EXPECT_THAT(found_in(serial({{kInfo, R"([["append",1,1],["append",2,1]])"},
                               {kOk, R"([["r",1,[1]],["r",2,[]]])"},
                               {kOk, R"([["r",2,[1]]])"}})),
              ElementsAre(Anomaly::g_single));
}

TEST(ListHistory, G0) {
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["append",1,1],["append",2,1]])"},
                                   {kOk, R"([["append",1,2],["append",2,2]])"},
                                   {kOk, R"([["r",1,[1,2]]])"},
                                   {kOk, R"([["r",2,[2,1]]])"}})),
              ::testing::Contains(Anomaly::g0));
}

TEST(ListHistory, G1) {
  EXPECT_THAT(found_in(concurrent({{kFail, R"([["append",1,1]])"}, {kOk, R"([["r",1,[1]]])"}})),
              ElementsAre(Anomaly::g1a));
  EXPECT_THAT(found_in(concurrent(
                  {{kOk, R"([["append",1,1],["append",1,2]])"}, {kOk, R"([["r",1,[1]]])"}})),
              ElementsAre(Anomaly::g1b, Anomaly::g_single));
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["append",1,1],["r",2,[2]]])"},
                                   {kOk, R"([["append",2,2],["r",1,[1]]])"}})),
              ElementsAre(Anomaly::g1c));
}

TEST(ListHistory, UnrepeatableRead) {
  EXPECT_THAT(
      found_in(concurrent({{kOk, R"([["append",1,1]])"}, {kOk, R"([["r",1,[]],["r",1,[1]]])"}})),
      ElementsAre(Anomaly::unrepeatable, Anomaly::g_single));
}

TEST(ListHistory, GSingle) {
  // A lost update would be an incompatible order; the write of the one that read before is seen.
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["r",1,[]],["append",1,1]])"},
                                   {kOk, R"([["r",1,[]],["append",1,2]])"},
                                   {kOk, R"([["r",1,[1,2]]])"}})),
              ElementsAre(Anomaly::g_single));
  // Read skew.
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["append",1,1],["append",2,1]])"},
                                   {kOk, R"([["r",1,[]],["r",2,[1]]])"},
                                   {kOk, R"([["r",1,[1]]])"}})),
              ElementsAre(Anomaly::g_single));
}

TEST(ListHistory, LongFork) {
  const History history = concurrent({{kOk, R"([["append",1,1]])"},
                                      {kOk, R"([["append",2,1]])"},
                                      {kOk, R"([["r",1,[1]],["r",2,[]]])"},
                                      {kOk, R"([["r",1,[]],["r",2,[1]]])"}});
  EXPECT_THAT(found_in(history), ElementsAre(Anomaly::g_si));
  const Verdict verdict = check_history(history, Level::snapshot);
  EXPECT_EQ(verdict.findings.count_forbidden(Level::snapshot), 1);
  EXPECT_EQ(verdict.findings.count_forbidden(Level::read_committed), 0);
  EXPECT_THAT(text_of(verdict, Level::snapshot), HasSubstr("T2 -rw of key 2-> T1"));
}

TEST(ListHistory, WriteSkewIsAllowedOfSnapshots) {
  const History history = concurrent({{kOk, R"([["r",1,[]],["append",2,1]])"},
                                      {kOk, R"([["r",2,[]],["append",1,1]])"},
                                      {kOk, R"([["r",1,[1]],["r",2,[1]]])"}});
  EXPECT_THAT(found_in(history), ElementsAre(Anomaly::g2_item));
  EXPECT_THAT(found_in(history, Level::snapshot), IsEmpty());
}

TEST(RegisterHistory, OneAfterTheOtherIsFine) {
  EXPECT_THAT(found_in(serial({{kOk, R"([["r",1,null],["w",1,1]])"},
                               {kOk, R"([["r",1,1],["w",1,2],["r",1,2]])"},
                               {kFail, R"([["w",1,3]])"},
                               {kOk, R"([["r",1,2],["r",2,null]])"}})),
              IsEmpty());
}

TEST(RegisterHistory, EachAnomaly) {
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["w",2,1],["r",1,7]])"}})),
              ElementsAre(Anomaly::unwritten));
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["w",1,1],["r",1,null]])"}})),
              ElementsAre(Anomaly::internal));
  EXPECT_THAT(found_in(concurrent({{kFail, R"([["w",1,1]])"}, {kOk, R"([["r",1,1]])"}})),
              ElementsAre(Anomaly::g1a));
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["w",1,1],["w",1,2]])"}, {kOk, R"([["r",1,1]])"}})),
              ElementsAre(Anomaly::g1b));
  EXPECT_THAT(
      found_in(concurrent({{kOk, R"([["w",1,1],["r",2,2]])"}, {kOk, R"([["w",2,2],["r",1,1]])"}})),
      ElementsAre(Anomaly::g1c));
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["w",1,1]])"}, {kOk, R"([["r",1,null],["r",1,1]])"}})),
              ElementsAre(Anomaly::unrepeatable, Anomaly::g_single));
  EXPECT_THAT(found_in(concurrent(
                  {{kOk, R"([["r",1,null],["w",1,1]])"}, {kOk, R"([["r",1,null],["w",1,2]])"}})),
              ElementsAre(Anomaly::lost_update, Anomaly::g2_item));
  EXPECT_THAT(found_in(concurrent({{kOk, R"([["r",1,null],["w",1,1],["w",2,1]])"},
                                   {kOk, R"([["r",1,null],["r",2,1]])"}})),
              ElementsAre(Anomaly::g_single));
}

/// Why it is no event; nothing if it is one.
std::string refusal_of(std::string_view line) {
  try {
    static_cast<void>(parse_json(line));
    return "";
  } catch (const MalformedEvent& error) {
    return error.what();
  }
}

TEST(MalformedHistory, IsRefused) {
  EXPECT_THAT(refusal_of(""), HasSubstr("does not begin"));
  EXPECT_EQ(refusal_of(R"({"type":"ok","process":1,"index":0,"value":[["r",1,[1]]]})"), "");
  EXPECT_THAT(refusal_of(R"({"type":"ok","process":1,"index":0,"value":[["x",1,1]]})"),
              HasSubstr("value: must be"));
  EXPECT_THAT(refusal_of(R"({"type":"ok","process":1,"index":0,"value":[["r",1,[1,]]]})"),
              HasSubstr("value: must be"));
  EXPECT_THAT(refusal_of(R"({"type":"ok","process":1)"), HasSubstr("does not end"));
  EXPECT_THAT(refusal_of(R"({"process":1,"index":0,"value":[]})"), HasSubstr("without type"));
  EXPECT_THAT(refusal_of(R"({"type":"ok","process":1,"value":[]})"), HasSubstr("without index"));
  EXPECT_THAT(refusal_of(R"({"type":"ok","index":0,"index":0,"process":1,"value":[]})"),
              HasSubstr("index is named twice"));
  History history;
  EXPECT_THROW(history.add({.type = EventType::ok}), std::runtime_error);
}

TEST(Event, IsWrittenAsItIsRead) {
  const std::string line = R"({"type":"ok","process":3,"index":17,"time":9,"f":"txn",)"
                           R"("value":[["r",5,[1,2]],["append",5,3]]})";
  const Event event = parse_json(line);
  std::string json;
  append_json(json, event);
  EXPECT_EQ(json, line + "\n");
  std::string edn;
  append_edn(edn, event);
  EXPECT_EQ(edn,
            "{:type :ok, :process 3, :index 17, :time 9, :f :txn, :value [[:r 5 [1 2]] [:append 5 "
            "3]]}\n");
}

/// The history of a serial run, some of it rolled back.
class Serial {
 public:
  explicit Serial(std::uint64_t seed) : random_(seed) {}

  [[nodiscard]] std::vector<Event> run(int transactions, std::uint64_t keys) {
    for (int i = 0; i < transactions; ++i) {
      const bool commits = !random_.one_in(10);
      std::map<std::int64_t, std::vector<std::int64_t>> changed;
      std::vector<Operation> operations;
      for (std::uint64_t step = 1 + random_.below(5); step != 0; --step) {
        const auto key = static_cast<std::int64_t>(random_.below(keys));
        if (random_.one_in(2)) {
          changed.try_emplace(key, lists_[key]).first->second.push_back(++value_);
          operations.push_back({.kind = OperationKind::append, .key = key, .values = {value_}});
        } else {
          const auto own = changed.find(key);
          operations.push_back({.known = true,
                                .key = key,
                                .values = own != changed.end() ? own->second : lists_[key]});
        }
      }
      add(EventType::invoke, operations);
      add(commits ? EventType::ok : EventType::fail, operations);
      for (auto& [key, list] : changed) {
        if (commits) {
          lists_[key] = std::move(list);
        }
      }
    }
    std::vector<Operation> all;
    all.reserve(lists_.size());
    for (const auto& [key, list] : lists_) {
      all.push_back({.known = true, .key = key, .values = list});
    }
    add(EventType::invoke, all);
    add(EventType::ok, all);
    return std::move(events_);
  }

 private:
  void add(EventType type, const std::vector<Operation>& operations) {
    events_.push_back({.type = type,
                       .process = 0,
                       .index = events_.size(),
                       .time_ns = 0,
                       .operations = operations});
  }

  Random random_;
  std::map<std::int64_t, std::vector<std::int64_t>> lists_;
  std::int64_t value_ = 0;
  std::vector<Event> events_;
};

std::uint64_t violations(const std::vector<Event>& events) {
  History history;
  for (const Event& event : events) {
    history.add(event);
  }
  history.finish();
  return check_history(history, Level::snapshot).findings.count_forbidden(Level::snapshot);
}

class Mutated : public ::testing::Test {
 protected:
  static constexpr int kTransactions = 400;
  static constexpr std::uint64_t kKeys = 40;

  Mutated()
      : random_(palimpsest::test::seed()), events_(Serial(random_()).run(kTransactions, kKeys)) {}

  /// Changes a read of a committed transaction that `change` can change, somewhere.
  template <class Change>
  void plant(const Change& change) {
    ASSERT_EQ(violations(events_), 0);
    for (int planted = 0; planted < 20;) {
      std::vector<Event> events = events_;
      Event& event = events[random_.below(events.size())];
      if (event.type != EventType::ok || event.operations.empty()) {
        continue;
      }
      Operation& operation = event.operations[random_.below(event.operations.size())];
      if (is_read(operation.kind) && change(operation.values)) {
        ++planted;
        EXPECT_NE(violations(events), 0) << "event " << event.index;
      }
    }
  }

  Random random_;
  std::vector<Event> events_;
};

TEST_F(Mutated, TwoElementsSwapped) {
  plant([&](std::vector<std::int64_t>& list) {
    if (list.size() < 2) {
      return false;
    }
    const std::uint64_t at = random_.below(list.size() - 1);
    std::swap(list[at], list[at + 1]);
    return true;
  });
}

TEST_F(Mutated, OldVersion) {
  plant([&](std::vector<std::int64_t>& list) {
    const bool can = !list.empty();
    list.resize(can ? random_.below(list.size()) : 0);
    return can;
  });
}

TEST_F(Mutated, ElementDropped) {
  plant([&](std::vector<std::int64_t>& list) {
    if (list.empty()) {
      return false;
    }
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(random_.below(list.size())));
    return true;
  });
}

TEST_F(Mutated, ElementThatWasNeverWritten) {
  plant([&](std::vector<std::int64_t>& list) {
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(random_.below(list.size() + 1)),
                999'999);
    return true;
  });
}

/// An acknowledged append is in no read at all.
TEST_F(Mutated, WriteLost) {
  for (int planted = 0; planted < 20; ++planted) {
    std::vector<Event> events = events_;
    const auto& all = events.back().operations;
    const auto& list = all[random_.below(all.size())].values;
    if (list.empty()) {
      continue;
    }
    const std::int64_t lost = list[random_.below(list.size())];
    for (Event& event : events) {
      for (Operation& operation : event.operations) {
        if (is_read(operation.kind)) {
          std::erase(operation.values, lost);
        }
      }
    }
    EXPECT_NE(violations(events), 0) << lost;
  }
}

/// One transaction sees a rolled-back element at the end of a list.
TEST_F(Mutated, AbortedElementSeen) {
  for (std::size_t i = 0; i + 3 < events_.size(); ++i) {
    if (events_[i].type != EventType::fail) {
      continue;
    }
    for (const Operation& operation : events_[i].operations) {
      if (operation.kind != OperationKind::append) {
        continue;
      }
      std::vector<Event> events = events_;
      bool planted = false;
      for (std::size_t later = i + 1; later < events.size() && !planted; ++later) {
        for (Operation& read : events[later].operations) {
          if (events[later].type == EventType::ok && is_read(read.kind) &&
              read.key == operation.key) {
            read.values.push_back(operation.values.front());
            planted = true;
            break;
          }
        }
      }
      EXPECT_TRUE(!planted || violations(events) != 0) << "event " << i;
    }
  }
}

TEST(LargeHistory, TakesLinearTime) {
  const std::vector<Event> events = Serial(1).run(palimpsest::test::repeats(100'000), 20'000);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(violations(events), 0);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  fmt::print("{} events in {:.2f} s\n", events.size(), took.count());
}

}  // namespace
}  // namespace palimpsest::isolation
