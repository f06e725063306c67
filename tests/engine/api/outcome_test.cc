// Outcomes: their contents, and what require() throws for them.
#include "palimpsest/outcome.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/support/error_of.h"

namespace palimpsest {
namespace {

Outcome of_key(OutcomeKind kind) {
  return {kind, {.table = "account", .index = {}, .key = "(7)"}};
}

std::optional<ErrorCode> required(const Outcome& outcome, std::string& message) {
  return test::error_of([&] { return outcome.require(), 0; }, &message);
}

TEST(Outcome, DoneIsNowhereAndRequiresNothing) {
  const Outcome outcome;
  EXPECT_TRUE(outcome);
  EXPECT_TRUE(outcome.is_done());
  EXPECT_FALSE(outcome.is_conflict());
  EXPECT_EQ(outcome.text(), "done");
  EXPECT_EQ(outcome.place().table + outcome.place().index + outcome.place().key, "");
  outcome.require();
}

TEST(Outcome, WhatIsNotDoneIsThrownWithItsText) {
  std::string message;
  EXPECT_EQ(required(of_key(OutcomeKind::exists), message), ErrorCode::already_exists);
  EXPECT_EQ(message, "table \"account\": key (7) exists");
  EXPECT_EQ(required(of_key(OutcomeKind::absent), message), ErrorCode::not_found);
  EXPECT_EQ(message, "table \"account\": key (7) does not exist");
  EXPECT_EQ(required(of_key(OutcomeKind::conflict), message), ErrorCode::conflict);
  EXPECT_EQ(message, "table \"account\": key (7) has been changed by another transaction");
}

TEST(Outcome, OnlyAConflictIsOne) {
  EXPECT_FALSE(of_key(OutcomeKind::exists));
  EXPECT_FALSE(of_key(OutcomeKind::exists).is_conflict());
  EXPECT_FALSE(of_key(OutcomeKind::absent).is_conflict());
  EXPECT_TRUE(of_key(OutcomeKind::conflict).is_conflict());
}

TEST(Outcome, NamesTheIndex) {
  const Outcome outcome(OutcomeKind::exists,
                        {.table = "account", .index = "by_owner", .key = "(7, \"Ada\")"});
  EXPECT_EQ(outcome.text(), "table \"account\", index \"by_owner\": key (7, \"Ada\") exists");
  EXPECT_EQ(outcome.place().index, "by_owner");
  const Outcome copy = outcome;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(&copy.place(), &outcome.place()) << "copies are cheap";
}

TEST(Outcome, OfDefinitionsNamesNoKey) {
  const auto text = [](OutcomeKind kind, std::string index) {
    return Outcome(kind, {.table = "account", .index = std::move(index), .key = {}}).text();
  };
  EXPECT_EQ(text(OutcomeKind::exists, {}), "table \"account\" exists");
  EXPECT_EQ(text(OutcomeKind::absent, "by_owner"),
            "table \"account\", index \"by_owner\" does not exist");
  EXPECT_EQ(text(OutcomeKind::conflict, {}),
            "table \"account\" has been changed by another transaction");
}

TEST(OutcomeDeathTest, WhatIsDoneHasNoPlace) {
  EXPECT_DEATH(static_cast<void>(of_key(OutcomeKind::done)), "only a call that failed has a place");
}

}  // namespace
}  // namespace palimpsest
