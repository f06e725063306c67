#include "tests/crash/fault_session.h"

#include <algorithm>
#include <array>

namespace palimpsest::engine::test {
namespace {

/// Errors that a failing disk explains.
constexpr std::array kExplained{ErrorCode::io_error, ErrorCode::no_space, ErrorCode::failed,
                                ErrorCode::transaction_too_old, ErrorCode::snapshot_too_old};

bool is_too_old(ErrorCode code) {
  return code == ErrorCode::transaction_too_old || code == ErrorCode::snapshot_too_old;
}

/// Far more steps than a checkpoint of a small database has.
constexpr int kStepsMax = 10'000;
/// A transaction that is too old for a small log succeeds sooner or later.
constexpr int kAttemptsMax = 20;

}  // namespace

Content changed(Content content, const std::vector<FaultChange>& changes) {
  for (const FaultChange& change : changes) {
    if (change.value) {
      content[change.key] = *change.value;
    } else {
      content.erase(change.key);
    }
  }
  return content;
}

std::vector<Content> FaultSession::possible() const {
  std::vector<Content> contents{committed_};
  if (with_doubtful_) {
    contents.push_back(*with_doubtful_);
  }
  return contents;
}

void FaultSession::note(const Error& error) {
  errors_.push_back(error.code());
  message_ = error.what();
  if (std::ranges::find(kExplained, error.code()) == kExplained.end()) {
    ADD_FAILURE() << "no failing disk explains " << name_of(error.code()) << ": " << error.what();
  }
}

bool FaultSession::open() {
  end();
  device_ = disk_.device();
  try {
    database_ = Engine::open(*device_, *device_, options_);
    return true;
  } catch (const Error& error) {
    note(error);
    return false;
  }
}

void FaultSession::kill() {
  if (database_ != nullptr) {
    disk_.power_off();
  }
  end();
}

void FaultSession::end() {
  database_.reset();
  device_.reset();
  has_halves_ = false;
}

btree::BTree& FaultSession::tree() {
  btree::BTree* tree = database_->find_tree("records");
  return tree != nullptr ? *tree : *database_->make_tree("records");
}

void FaultSession::transact(const std::vector<FaultChange>& changes, bool rolls_back) {
  for (int attempts = 0; attempts < kAttemptsMax; ++attempts) {
    const std::size_t before = errors_.size();
    attempt(changes, rolls_back);
    if (errors_.size() == before || !is_too_old(errors_.back())) {
      return;
    }
    errors_.resize(attempts + 1 < kAttemptsMax ? before : errors_.size());
  }
}

void FaultSession::attempt(const std::vector<FaultChange>& changes, bool rolls_back) {
  txn::TransactionPtr transaction;
  bool commits = false;
  try {
    transaction = database_->begin();
    for (const FaultChange& change : changes) {
      const auto outcome = change.value ? transaction->upsert(tree(), change.key, *change.value)
                                        : transaction->remove(tree(), change.key);
      EXPECT_FALSE(outcome.conflict) << "no other transaction writes";
    }
    if (!rolls_back) {
      commits = true;
      transaction->commit();
      EXPECT_FALSE(with_doubtful_) << "nothing commits after a commit that failed";
      committed_ = changed(committed_, changes);
      return;
    }
  } catch (const Error& error) {
    note(error);
    if (commits && !transaction->is_active() && !is_too_old(error.code())) {
      EXPECT_EQ(error.code(), ErrorCode::failed);
      with_doubtful_ = changed(committed_, changes);
      return;
    }
  }
  if (transaction != nullptr && transaction->is_active()) {
    try {
      transaction->rollback();
    } catch (const Error& error) {
      note(error);
      has_halves_ = true;
      EXPECT_TRUE(has_failed()) << "what could not be undone must not be written to";
    }
  }
}

void FaultSession::checkpoint() {
  try {
    int steps = 0;
    while (database_->checkpointer().step() && steps < kStepsMax) {
      ++steps;
    }
    EXPECT_LT(steps, kStepsMax) << "a checkpoint without end";
  } catch (const Error& error) {
    note(error);
  }
}

::testing::AssertionResult FaultSession::is_right(const Content& content) const {
  if (content == committed_ || (with_doubtful_ && content == *with_doubtful_)) {
    return ::testing::AssertionSuccess();
  }
  auto result = ::testing::AssertionFailure()
                << content.size() << " records, not " << committed_.size();
  for (const auto& [key, value] : committed_) {
    const auto found = content.find(key);
    if (found == content.end() || found->second != value) {
      result << "; " << key << (found == content.end() ? " is missing" : " differs");
    }
  }
  for (const auto& [key, value] : content) {
    if (!committed_.contains(key)) {
      result << "; " << key << " must not be there";
    }
  }
  return result;
}

void FaultSession::expect_right() {
  const Content found = content_of(tree());
  EXPECT_TRUE(is_right(found));
  committed_ = found;
  with_doubtful_.reset();
  EXPECT_TRUE(sound(*database_));
}

void FaultSession::expect_readable() {
  try {
    const Content found = content_of(tree());
    EXPECT_TRUE(has_halves_ || is_right(found));
  } catch (const Error& error) {
    note(error);
  }
}

}  // namespace palimpsest::engine::test
