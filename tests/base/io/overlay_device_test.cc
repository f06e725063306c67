// A directory opened read-only behind a writable overlay: reads return what was written, and
// nothing in the directory itself changes.
#include "base/io/overlay_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/io/posix_device.h"
#include "base/random.h"
#include "tests/support/aligned_bytes.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest::io {
namespace {

using test::AlignedBytes;
using test::error_of;
using test::SimDisk;
using test::SimFault;
using test::SimKind;
using test::SimOperation;

constexpr std::size_t kBlock = 4096;
constexpr std::uint64_t kPlenty = std::uint64_t{1} << 30U;

AlignedBytes some_bytes(Random& random, std::size_t size) {
  AlignedBytes bytes(size);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(1 + random.below(255));
  }
  return bytes;
}

AlignedBytes read(File& file, std::uint64_t offset, std::size_t size) {
  AlignedBytes bytes(size, std::byte{0xEE});
  file.read(offset, bytes);
  return bytes;
}

/// With files that exist before.
class OverlayDeviceTest : public ::testing::Test {
 protected:
  void make(const std::string& name, std::size_t size) {
    const AlignedBytes bytes = some_bytes(random_, size);
    const auto device = disk_.device();
    const auto file = device->open(name, OpenMode::create_new, false);
    if (!bytes.empty()) {
      file->write(0, bytes);
    }
    file->sync();
    device->sync_directory();
  }
  /// From now on, any change of the disk is an error.
  void only_read() {
    disk_.set_hook([this](const SimOperation& operation) {
      using enum SimKind;
      const bool reads = operation.kind == read || operation.kind == open || operation.kind == size;
      changes_ += reads ? 0U : 1U;
    });
  }
  void TearDown() override { EXPECT_EQ(changes_, 0U); }

  [[nodiscard]] std::unique_ptr<OverlayDevice> overlay(std::uint64_t bytes_max = kPlenty) {
    memory_ = std::make_shared<OverlayMemory>(bytes_max);
    return std::make_unique<OverlayDevice>(disk_.device(), memory_);
  }

  Random random_{test::seed()};
  SimDisk disk_;
  std::shared_ptr<OverlayMemory> memory_;
  std::uint64_t changes_ = 0;
};

TEST_F(OverlayDeviceTest, ShowsWhatIsThere) {
  make("a", 3 * kBlock);
  only_read();
  const auto device = overlay();
  EXPECT_EQ(device->list(), std::vector<std::string>{"a"});
  EXPECT_TRUE(device->exists("a"));
  EXPECT_FALSE(device->exists("b"));
  const auto file = device->open("a", OpenMode::read_write, true);
  const std::vector<std::byte> there = disk_.contents("a");
  EXPECT_TRUE(std::ranges::equal(read(*file, 0, 3 * kBlock), there));
  EXPECT_EQ(file->size_bytes(), 3 * kBlock);
  EXPECT_EQ(memory_->bytes(), 0U);
  EXPECT_EQ(error_of([&] { return device->open("b", OpenMode::read_only, false); }),
            ErrorCode::not_found);
  EXPECT_EQ(error_of([&] { return device->open("a", OpenMode::create_new, false); }),
            ErrorCode::already_exists);
}

TEST_F(OverlayDeviceTest, ShowsWhatWasWritten) {
  make("a", 3 * kBlock);
  only_read();
  const auto device = overlay();
  const auto file = device->open("a", OpenMode::read_write, true);
  const AlignedBytes bytes = some_bytes(random_, kBlock);
  file->write(kBlock, bytes);
  file->sync();
  EXPECT_EQ(read(*file, kBlock, kBlock), bytes);
  EXPECT_EQ(memory_->bytes(), kBlock);
  EXPECT_EQ(read(*device->open("a", OpenMode::read_only, false), kBlock, kBlock), bytes)
      << "by another file of the device, too";
}

TEST_F(OverlayDeviceTest, ZerosTakeNoMemoryAndHideWhatWasThere) {
  make("a", 3 * kBlock);
  only_read();
  const auto device = overlay();
  const auto file = device->open("a", OpenMode::read_write, true);
  file->write(kBlock, some_bytes(random_, kBlock));
  file->write(0, AlignedBytes(3 * kBlock));
  EXPECT_EQ(read(*file, 0, 3 * kBlock), AlignedBytes(3 * kBlock));
  EXPECT_EQ(memory_->bytes(), 0U);
}

TEST_F(OverlayDeviceTest, WhatWasCutOffDoesNotComeBack) {
  make("a", 3 * kBlock);
  only_read();
  const auto device = overlay();
  const auto file = device->open("a", OpenMode::read_write, true);
  file->truncate(100);
  file->allocate(0, 2 * kBlock);
  AlignedBytes expected(2 * kBlock);
  std::memcpy(expected.data(), disk_.contents("a").data(), 100);
  EXPECT_EQ(read(*file, 0, 2 * kBlock), expected);
}

TEST_F(OverlayDeviceTest, HasNoMoreRoomThanItIsGiven) {
  make("a", kBlock);
  only_read();
  const auto device = overlay(2 * kBlock);
  const auto file = device->open("a", OpenMode::read_write, true);
  const AlignedBytes bytes = some_bytes(random_, 2 * kBlock);
  file->write(0, bytes);
  file->write(0, bytes);
  EXPECT_EQ(error_of([&] { file->write(2 * kBlock, some_bytes(random_, kBlock)); }),
            ErrorCode::no_space);
  EXPECT_EQ(read(*file, 0, 2 * kBlock), bytes);
  file->truncate(kBlock);
  file->write(2 * kBlock, some_bytes(random_, kBlock));
  EXPECT_EQ(memory_->bytes(), 2 * kBlock);
}

TEST_F(OverlayDeviceTest, WhatFindsNoRoomChangesNothing) {
  make("a", kBlock);
  only_read();
  const auto device = overlay(0);
  const auto file = device->open("a", OpenMode::read_write, true);
  EXPECT_FALSE(memory_->has_refused());
  EXPECT_EQ(error_of([&] { file->write(0, some_bytes(random_, kBlock)); }), ErrorCode::no_space);
  EXPECT_TRUE(memory_->has_refused());
  EXPECT_TRUE(std::ranges::equal(read(*file, 0, kBlock), disk_.contents("a")));
}

TEST_F(OverlayDeviceTest, ReadersDoNotLockTheDirectory) {
  const auto first = overlay();
  const auto alone = first->lock_directory();
  static_cast<void>(overlay()->lock_directory());
  const auto writer = disk_.device()->lock_directory();
  EXPECT_EQ(error_of([&] { return first->lock_directory(); }), ErrorCode::locked);
}

TEST_F(OverlayDeviceTest, OfRemovedFilesComesBackWhenTheyAreClosed) {
  only_read();
  const auto device = overlay();
  auto file = device->open("a", OpenMode::create_new, true);
  file->write(0, some_bytes(random_, kBlock));
  device->remove("a");
  EXPECT_FALSE(device->exists("a"));
  EXPECT_EQ(memory_->bytes(), kBlock);
  file.reset();
  EXPECT_EQ(memory_->bytes(), 0U);
}

TEST_F(OverlayDeviceTest, AFileOpenedReadOnlyIsNotWritten) {
  make("a", kBlock);
  only_read();
  const auto device = overlay();
  const auto file = device->open("a", OpenMode::read_only, false);
  EXPECT_TRUE(error_of([&] { file->write(0, some_bytes(random_, kBlock)); }));
  EXPECT_TRUE(error_of([&] { file->truncate(0); }));
  EXPECT_TRUE(error_of([&] { file->allocate(0, 2 * kBlock); }));
  EXPECT_EQ(file->size_bytes(), kBlock);
}

TEST_F(OverlayDeviceTest, ErrorsOfWhatIsBehindAreTold) {
  make("a", 4 * kBlock);
  only_read();
  const auto device = overlay();
  const auto file = device->open("a", OpenMode::read_write, true);
  file->write(0, some_bytes(random_, kBlock));
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::read), .for_good = true});
  EXPECT_EQ(error_of([&] { return read(*file, 2 * kBlock, kBlock); }), ErrorCode::io_error);
  disk_.clear_faults();
  disk_.inject(
      {.effect = SimFault::Effect::short_transfer, .kinds = static_cast<unsigned>(SimKind::read)});
  const std::vector<std::byte> there = disk_.contents("a");
  EXPECT_TRUE(std::ranges::equal(read(*file, 2 * kBlock, 2 * kBlock),
                                 std::span(there).subspan(2 * kBlock)));
}

// Against a map of names to bytes.
class Model {
 public:
  Model(OverlayDevice& device, std::map<std::string, std::vector<std::byte>> files, Random& random)
      : device_(device), random_(random) {
    for (auto& [name, bytes] : files) {
      files_[name] = std::make_shared<std::vector<std::byte>>(std::move(bytes));
    }
  }

  void step() {
    switch (random_.below(9)) {
      case 0: return make();
      case 1: return remove();
      case 2: return rename();
      case 3: return truncate();
      case 4: return allocate();
      case 5:
      case 6: return write();
      default: return look();
    }
  }
  /// Compares names, sizes and bytes.
  void look_at_all() {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : files_) {
      names.push_back(name);
      const auto file = device_.open(name, OpenMode::read_only, false);
      ASSERT_EQ(file->size_bytes(), bytes->size()) << name;
      for (std::uint64_t at = 0; at + kBlock <= bytes->size(); at += kBlock) {
        const AlignedBytes found = read(*file, at, kBlock);
        ASSERT_TRUE(std::ranges::equal(found, std::span(*bytes).subspan(at, kBlock)))
            << name << " at " << at;
      }
    }
    EXPECT_EQ(device_.list(), names);
  }

 private:
  using Bytes = std::shared_ptr<std::vector<std::byte>>;
  struct Open {
    std::unique_ptr<File> file;
    Bytes bytes;
  };

  [[nodiscard]] std::string some_name() { return std::string(1, "abcdefg"[random_.below(7)]); }
  /// An open file, or one opened now.
  Open* some_file() {
    if (open_.size() < 5 && !random_.one_in(3)) {
      const std::string name = some_name();
      const auto found = files_.find(name);
      EXPECT_EQ(device_.exists(name), found != files_.end());
      if (found != files_.end()) {
        open_.push_back({device_.open(name, OpenMode::read_write, false), found->second});
      }
    } else if (!open_.empty() && random_.one_in(4)) {
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(random_.below(open_.size())));
    }
    return open_.empty() ? nullptr : &open_[random_.below(open_.size())];
  }
  void make() {
    const std::string name = some_name();
    std::unique_ptr<File> file;
    const auto code = error_of([&] { file = device_.open(name, OpenMode::create_new, true); });
    ASSERT_EQ(code.has_value(), files_.contains(name)) << name;
    if (!code) {
      files_[name] = std::make_shared<std::vector<std::byte>>();
      open_.push_back({std::move(file), files_[name]});
    }
  }
  void remove() {
    const std::string name = some_name();
    const auto code = error_of([&] { device_.remove(name); });
    EXPECT_EQ(code.has_value(), files_.erase(name) == 0) << name;
  }
  void rename() {
    const std::string from = some_name();
    const std::string to = some_name();
    const auto code = error_of([&] { device_.rename(from, to); });
    ASSERT_EQ(code.has_value(), !files_.contains(from)) << from;
    if (!code && from != to) {
      files_[to] = files_[from];
      files_.erase(from);
    }
  }
  void truncate() {
    if (Open* const open = some_file()) {
      const std::uint64_t size = random_.below(10 * kBlock);
      open->file->truncate(size);
      open->bytes->resize(size);
    }
  }
  void allocate() {
    if (Open* const open = some_file()) {
      const std::uint64_t offset = random_.below(8) * kBlock;
      const std::uint64_t length = 1 + random_.below(3 * kBlock);
      open->file->allocate(offset, length);
      open->bytes->resize(std::max(open->bytes->size(), offset + length));
    }
  }
  void write() {
    if (Open* const open = some_file()) {
      const std::uint64_t offset = random_.below(8) * kBlock;
      AlignedBytes bytes = some_bytes(random_, (1 + random_.below(3)) * kBlock);
      if (random_.one_in(3)) {
        std::fill_n(bytes.begin(), kBlock, std::byte{0});
      }
      open->file->write(offset, bytes);
      open->bytes->resize(std::max(open->bytes->size(), offset + bytes.size()));
      std::ranges::copy(bytes, open->bytes->begin() + static_cast<std::ptrdiff_t>(offset));
    }
  }
  /// Reads, also beyond the end.
  void look() {
    if (const Open* const open = some_file()) {
      const std::uint64_t offset = random_.below(9) * kBlock;
      AlignedBytes found((1 + random_.below(3)) * kBlock);
      const auto code = error_of([&] { open->file->read(offset, found); });
      ASSERT_EQ(code.has_value(), offset + found.size() > open->bytes->size());
      if (!code) {
        ASSERT_TRUE(
            std::ranges::equal(found, std::span(*open->bytes).subspan(offset, found.size())))
            << open->file->name() << " at " << offset;
      }
    }
  }

  OverlayDevice& device_;
  Random& random_;
  std::map<std::string, Bytes> files_;
  std::vector<Open> open_;
};

TEST_F(OverlayDeviceTest, IsADevice) {
  std::map<std::string, std::vector<std::byte>> files;
  for (const char* const name : {"a", "b", "c", "d"}) {
    make(name, random_.below(9) * kBlock + (random_.one_in(2) ? 512 : 0));
    files[name] = disk_.contents(name);
  }
  only_read();
  for (test::Rounds rounds(5, 1.0); rounds.next() && !HasFailure();) {
    const auto device = overlay();
    Model model(*device, files, random_);
    for (int i = 0; i < 300 && !HasFatalFailure(); ++i) {
      model.step();
    }
    ASSERT_NO_FATAL_FAILURE(model.look_at_all());
  }
}

TEST_F(OverlayDeviceTest, ThreadsSeeTheirOwn) {
  constexpr std::size_t kThreads = 8;
  constexpr std::size_t kBlocks = 16;
  make("a", kThreads * kBlocks * kBlock);
  const std::vector<std::byte> there = disk_.contents("a");
  only_read();
  const auto device = overlay();
  const auto file = device->open("a", OpenMode::read_write, true);
  const std::uint64_t seed = test::seed();
  test::run_threads(kThreads, [&](std::size_t thread) {
    Random random(seed + thread);
    std::map<std::size_t, AlignedBytes> written;
    for (int i = 0; i < 400; ++i) {
      const std::size_t block = thread * kBlocks + random.below(kBlocks);
      if (random.one_in(2)) {
        written[block] = some_bytes(random, kBlock);
        file->write(block * kBlock, written[block]);
        continue;
      }
      const AlignedBytes found = read(*file, block * kBlock, kBlock);
      const auto own = written.find(block);
      EXPECT_TRUE(own != written.end() ? found == own->second
                                       : std::ranges::equal(found, std::span(there).subspan(
                                                                       block * kBlock, kBlock)));
    }
  });
}

// On a real directory.
TEST(OverlayDeviceLocks, AreSharedByReaders) {
  const test::TemporaryDirectory directory;
  static_cast<void>(PosixDevice(directory.path(), false).open("a", OpenMode::create_new, false));
  const auto overlay = [&] {
    return std::make_unique<OverlayDevice>(std::make_unique<PosixDevice>(directory.path(), false),
                                           std::make_shared<OverlayMemory>(kPlenty));
  };
  PosixDevice writer(directory.path(), false);
  {
    const auto first = overlay()->open("a", OpenMode::read_write, true);
    const auto second = overlay()->open("a", OpenMode::read_write, true);
    EXPECT_EQ(error_of([&] { return writer.open("a", OpenMode::read_write, true); }),
              ErrorCode::locked);
  }
  const auto file = writer.open("a", OpenMode::read_write, true);
  EXPECT_EQ(error_of([&] { return overlay()->open("a", OpenMode::read_write, true); }),
            ErrorCode::locked);
}

}  // namespace
}  // namespace palimpsest::io
