// The repeat logic of File: the reaction to each result that an implementation may report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "palimpsest/error.h"

#include "base/io/device.h"
#include "tests/support/error_of.h"

namespace palimpsest::io {
namespace {

constexpr std::size_t kBlock = 512;

/// A file with scripted results.
class ScriptedFile final : public File {
 public:
  struct Call {
    Transfer::Kind kind;
    std::uint64_t offset_bytes;
    std::size_t already_bytes;
    bool operator==(const Call&) const = default;
  };

  ScriptedFile() : File("dir/scripted", std::make_shared<IoCounters>()) {}

  [[nodiscard]] std::size_t alignment_bytes() const noexcept override { return kBlock; }
  [[nodiscard]] std::size_t atomic_write_bytes_max() const noexcept override { return 4096; }

  /// Results of the next transfers; afterwards every transfer succeeds.
  std::vector<std::int64_t> results;
  /// The result of every transfer once `results` are used up, if not 0.
  std::int64_t forever = 0;
  std::vector<int> sync_results;
  std::vector<Call> calls;
  std::vector<unsigned> back_offs;
  std::vector<std::size_t> batches;
  unsigned syncs = 0;
  int other_result = 0;

 protected:
  void do_transfer(std::span<Attempted> batch) noexcept override {
    batches.push_back(batch.size());
    for (Attempted& attempted : batch) {
      const Transfer& transfer = *attempted.transfer;
      calls.push_back({transfer.kind, transfer.offset_bytes, attempted.already_bytes});
      attempted.result =
          forever != 0 ? forever
                       : static_cast<std::int64_t>(transfer.data.size() - attempted.already_bytes);
      if (next_ < results.size()) {
        attempted.result = results[next_++];
      }
    }
  }
  int do_sync() noexcept override {
    const std::size_t sync = syncs++;
    return sync < sync_results.size() ? sync_results[sync] : 0;
  }
  int do_allocate(std::uint64_t, std::uint64_t) noexcept override { return other_result; }
  int do_truncate(std::uint64_t) noexcept override { return other_result; }
  int do_size(std::uint64_t& size_bytes) noexcept override {
    size_bytes = 77;
    return other_result;
  }
  void do_back_off(unsigned stalls) noexcept override { back_offs.push_back(stalls); }

 private:
  std::size_t next_ = 0;
};

class RepeatTest : public ::testing::Test {
 protected:
  [[nodiscard]] Transfer transfer(Transfer::Kind kind, std::size_t block = 0) {
    return {.kind = kind, .offset_bytes = block * 2048, .data = {memory_ + block * 2048, 2048}};
  }
  int run_one(Transfer::Kind kind) {
    Transfer one = transfer(kind, 1);
    file_.run({&one, 1});
    return one.error;
  }
  alignas(4096) std::byte memory_[64 * 2048] = {};
  ScriptedFile file_;
  static constexpr auto kRead = Transfer::Kind::read;
  static constexpr auto kWrite = Transfer::Kind::write;
};

TEST_F(RepeatTest, ShortTransfersGoOnWhereTheyStopped) {
  for (const auto kind : {kRead, kWrite}) {
    file_.calls.clear();
    file_.results.insert(file_.results.end(), {512, 1024, 512});
    EXPECT_EQ(run_one(kind), 0);
    EXPECT_THAT(file_.calls, ::testing::ElementsAre(ScriptedFile::Call{kind, 2048, 0},
                                                    ScriptedFile::Call{kind, 2048, 512},
                                                    ScriptedFile::Call{kind, 2048, 1536}));
  }
}

TEST_F(RepeatTest, AnUnalignedShortTransferGoesOnAtAnAlignedOffset) {
  file_.results = {700};
  EXPECT_EQ(run_one(kWrite), 0);
  EXPECT_THAT(file_.calls, ::testing::ElementsAre(ScriptedFile::Call{kWrite, 2048, 0},
                                                  ScriptedFile::Call{kWrite, 2048, 512}));
}

TEST_F(RepeatTest, AReadThatEndsWithinABlockTwiceIsAtTheEnd) {
  file_.results = {700, 188, 188};
  EXPECT_EQ(run_one(kRead), kEndOfFile);
}

TEST_F(RepeatTest, NothingReadIsTheEndOfTheFile) {
  file_.results = {0};
  EXPECT_EQ(run_one(kRead), kEndOfFile);
  EXPECT_EQ(file_.calls.size(), 1U);
  file_.results = {0, 1024, 0};
  EXPECT_EQ(run_one(kRead), kEndOfFile);
}

TEST_F(RepeatTest, NothingWrittenIsRepeatedNotForEver) {
  file_.results = {0, 0};
  EXPECT_EQ(run_one(kWrite), 0);
  file_.results.insert(file_.results.end(), 5000, 0);
  EXPECT_EQ(run_one(kWrite), EIO);
  EXPECT_LT(file_.calls.size(), 2000U);
}

TEST_F(RepeatTest, InterruptedTransfersAreRepeatedNotForEver) {
  file_.results = {-EINTR, -EINTR, 512, -EINTR};
  EXPECT_EQ(run_one(kWrite), 0);
  EXPECT_TRUE(file_.back_offs.empty());
  file_.forever = -EINTR;
  EXPECT_EQ(run_one(kRead), EINTR);
}

TEST_F(RepeatTest, DeferredTransfersBackOffLongerAndLongerThenFail) {
  file_.results = {-EAGAIN, -EBUSY, -EAGAIN};
  EXPECT_EQ(run_one(kWrite), 0);
  EXPECT_THAT(file_.back_offs, ::testing::ElementsAre(1, 2, 3));
  file_.back_offs.clear();
  file_.forever = -EAGAIN;
  EXPECT_EQ(run_one(kWrite), EAGAIN);
  EXPECT_THAT(file_.back_offs, ::testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(RepeatTest, ProgressStartsTheCountOfStallsAgain) {
  for (int i = 0; i < 3; ++i) {
    file_.results.insert(file_.results.end(), 8, -EAGAIN);
    file_.results.push_back(512);
  }
  EXPECT_EQ(run_one(kWrite), 0);
}

TEST_F(RepeatTest, OnlyUnfinishedTransfersOfABatchAreRepeated) {
  std::vector<Transfer> batch{transfer(kWrite, 0), transfer(kRead, 1), transfer(kWrite, 2),
                              transfer(kRead, 3)};
  file_.results = {2048, 512, -EIO, 2048, 1536};
  file_.run(batch);
  EXPECT_THAT(file_.batches, ::testing::ElementsAre(4, 1));
  EXPECT_EQ(file_.calls.back(), (ScriptedFile::Call{kRead, 2048, 512}));
  EXPECT_THAT(batch, ::testing::ElementsAre(::testing::Field(&Transfer::error, 0),
                                            ::testing::Field(&Transfer::error, 0),
                                            ::testing::Field(&Transfer::error, EIO),
                                            ::testing::Field(&Transfer::error, 0)));
}

TEST_F(RepeatTest, LargeBatchesAreSplit) {
  std::vector<Transfer> batch(300, transfer(kRead));
  file_.run(batch);
  EXPECT_THAT(file_.batches, ::testing::ElementsAre(128, 128, 44));
}

TEST_F(RepeatTest, AnEmptyTransferAndAnEmptyBatchDoNothing) {
  Transfer empty{.kind = kRead, .data = {memory_, 0}};
  empty.error = EIO;
  file_.run({&empty, 1});
  EXPECT_EQ(empty.error, 0);
  file_.run({});
  EXPECT_TRUE(file_.batches.empty());
}

TEST_F(RepeatTest, AtomicWritesStartAgainAndKeepToTheirLimits) {
  Transfer atomic = transfer(kWrite, 1);
  atomic.atomic = true;
  file_.results = {512};
  file_.run({&atomic, 1});
  EXPECT_EQ(atomic.error, 0);
  EXPECT_THAT(file_.calls, ::testing::ElementsAre(ScriptedFile::Call{kWrite, 2048, 0},
                                                  ScriptedFile::Call{kWrite, 2048, 0}));
  file_.calls.clear();
  Transfer too_large{.kind = kWrite, .atomic = true, .data = {memory_, 8192}};
  Transfer not_a_power{.kind = kWrite, .atomic = true, .data = {memory_, 1536}};
  Transfer askew{.kind = kWrite, .atomic = true, .offset_bytes = 512, .data = {memory_, 1024}};
  for (Transfer* wrong : {&too_large, &not_a_power, &askew}) {
    file_.run({wrong, 1});
    EXPECT_EQ(wrong->error, EINVAL);
  }
  EXPECT_TRUE(file_.calls.empty());
}

TEST_F(RepeatTest, ErrorsHaveCodesAndNameOperationPlaceAndReason) {
  const auto message_of = [&](int error, ErrorCode code) {
    std::string message;
    file_.results.push_back(-error);
    EXPECT_EQ(test::error_of([&] { file_.write(4096, {memory_, 512}); }, &message), code);
    return message;
  };
  EXPECT_EQ(message_of(EIO, ErrorCode::io_error),
            "write of 512 bytes at offset 4096 of \"dir/scripted\" failed: Input/output error");
  EXPECT_THAT(message_of(ENOSPC, ErrorCode::no_space), ::testing::HasSubstr("No space left"));
  EXPECT_THAT(message_of(EDQUOT, ErrorCode::no_space), ::testing::HasSubstr("quota"));
  EXPECT_THAT(message_of(EACCES, ErrorCode::permission_denied),
              ::testing::HasSubstr("Permission denied"));
  file_.results.push_back(0);
  std::string message;
  EXPECT_EQ(test::error_of([&] { file_.read(512, {memory_, 1024}); }, &message),
            ErrorCode::io_error);
  EXPECT_EQ(message,
            "read of 1024 bytes at offset 512 of \"dir/scripted\" failed: the file ends before "
            "the end of the transfer");
  // None of these is final.
  EXPECT_FALSE(file_.failed());
  EXPECT_NO_THROW(file_.write(0, {memory_, 512}));
}

TEST_F(RepeatTest, AFailedSyncIsFinal) {
  file_.sync_results = {EINTR, 0, EIO};
  EXPECT_NO_THROW(file_.sync());
  EXPECT_EQ(file_.syncs, 2U);
  std::string message;
  EXPECT_EQ(test::error_of([&] { file_.sync(); }, &message), ErrorCode::io_error);
  EXPECT_THAT(message, ::testing::AllOf(::testing::StartsWith("sync of \"dir/scripted\" failed: "),
                                        ::testing::HasSubstr("Input/output error")));
  EXPECT_TRUE(file_.failed());
  EXPECT_EQ(test::error_of([&] { file_.sync(); }, &message), ErrorCode::failed);
  EXPECT_EQ(file_.syncs, 3U) << "a sync was repeated after one had failed";
  EXPECT_EQ(test::error_of([&] { file_.write(0, {memory_, 512}); }), ErrorCode::failed);
  EXPECT_EQ(test::error_of([&] { file_.truncate(0); }), ErrorCode::failed);
  EXPECT_EQ(test::error_of([&] { file_.allocate(0, 512); }), ErrorCode::failed);
  EXPECT_TRUE(file_.calls.empty());
  Transfer read = transfer(kRead);
  Transfer write = transfer(kWrite, 1);
  std::vector<Transfer> batch{read, write};
  file_.run(batch);
  EXPECT_EQ(batch[0].error, 0) << "reads go on";
  EXPECT_EQ(batch[1].error, kFileFailed);
}

TEST_F(RepeatTest, ASyncWithoutSpaceIsNotAnInvitationToGoOn) {
  file_.sync_results = {ENOSPC};
  EXPECT_EQ(test::error_of([&] { file_.sync(); }), ErrorCode::io_error);
  EXPECT_TRUE(file_.failed());
}

TEST_F(RepeatTest, OtherCallsThrowTheirErrors) {
  EXPECT_EQ(file_.size_bytes(), 77U);
  file_.other_result = ENOSPC;
  std::string message;
  EXPECT_EQ(test::error_of([&] { file_.allocate(512, 1024); }, &message), ErrorCode::no_space);
  EXPECT_EQ(message,
            "allocation of 1024 bytes at offset 512 of \"dir/scripted\" failed: No space left on "
            "device");
  file_.other_result = EIO;
  EXPECT_EQ(test::error_of([&] { file_.truncate(512); }, &message), ErrorCode::io_error);
  EXPECT_EQ(message, "truncation to 512 bytes of \"dir/scripted\" failed: Input/output error");
  EXPECT_EQ(test::error_of([&] { static_cast<void>(file_.size_bytes()); }), ErrorCode::io_error);
}

}  // namespace
}  // namespace palimpsest::io
