// A space map with a log on one simulated disk, a history of the log's records, kept outside of
// both, and recovery by the rule that space_map.h states.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buffer/page_file.h"
#include "buffer/page_header.h"
#include "buffer/page_writer.h"
#include "buffer/space_map.h"
#include "tests/support/sim_disk.h"
#include "tests/wal/log_fixture.h"

namespace palimpsest::test {

/// A record about pages, and its payload in these tests.
struct Said {
  std::uint64_t first = 0;
  std::uint32_t pages = 0;
  std::uint32_t in_use = 0;
};

/// By GSN, and by slot because two logs may use one GSN; the last record of a page decides.
using History = std::map<std::pair<Gsn, std::uint64_t>, Said>;

/// The pages in use by all records up to a GSN.
inline std::set<std::uint64_t> pages_in_use(const History& history, Gsn up_to) {
  std::set<std::uint64_t> used;
  for (const auto& [key, said] : history) {
    for (std::uint64_t page = said.first; key.first <= up_to && page < said.first + said.pages;
         ++page) {
      said.in_use != 0 ? void(used.insert(page)) : void(used.erase(page));
    }
  }
  return used;
}

/// A file and its map after a crash, as recovery makes them.
struct RecoveredSpace {
  std::unique_ptr<io::Device> device;
  std::unique_ptr<buffer::PageFile> file;
  std::unique_ptr<buffer::SpaceMap> map;
  Gsn cut{0};

  explicit RecoveredSpace(const SimDisk& disk) : device(disk.device()) {
    file = buffer::PageFile::open(*device, "pages", {.allow_unclean = true});
    map = std::make_unique<buffer::SpaceMap>(*file);
    const auto store = wal::LogStore::open(*device, wal::test::kSmallFiles, false);
    wal::LogReader reader(store.segments(), store.control().state());
    const std::string note = store.control().state().note;
    const Gsn durable_at_start{note.empty() ? 0 : std::stoull(note)};
    cut = std::max(reader.find_end().durable_gsn, durable_at_start);
    History replayed;
    for (const wal::StreamPart& part : reader.parts()) {
      reader.visit(part, [&](const wal::LoggedRecord& logged) {
        if (logged.counts) {
          Said said;
          ASSERT_EQ(logged.record.payload.size(), sizeof said);
          std::memcpy(&said, logged.record.payload.data(), sizeof said);
          replayed.emplace(std::pair(logged.record.gsn, raw(logged.slot)), said);
        }
      });
    }
    std::map<std::uint64_t, bool> last;
    for (const auto& [gsn, said] : replayed) {
      for (std::uint64_t page = said.first; page < said.first + said.pages; ++page) {
        last[page] = said.in_use != 0;
      }
    }
    std::vector<buffer::RecoveredRun> runs;
    runs.reserve(last.size());
    for (const auto& [page, in_use] : last) {
      runs.push_back({{PageId{page}, 1}, in_use});
    }
    map->recover(runs);
  }

  /// Whether the map agrees with the history up to the cut.
  void expect_as(const History& history) const {
    const std::set<std::uint64_t> used = pages_in_use(history, cut);
    for (std::uint64_t page = raw(file->first_page()); page < file->page_count(); ++page) {
      ASSERT_EQ(map->is_allocated(PageId{page}),
                used.contains(page) || map->is_map_page(PageId{page}))
          << "page " << page << ", cut " << raw(cut);
    }
    ASSERT_TRUE(used.empty() || *used.rbegin() < file->page_count());
  }
};

class LoggedSpaceTest : public ::testing::Test {
 public:
  ~LoggedSpaceTest() override {
    disk_.set_write_checker({});
    disk_.set_hook({});
  }

 protected:
  static constexpr buffer::PageFileOptions kSmall{
      .page_size_bytes = 4096, .ring_batches = 2, .batch_pages = 64};
  static constexpr std::uint64_t kStretchPages = std::uint64_t{4032} * 8;

  LoggedSpaceTest() : device_(disk_.device()), open_(*device_), slot_(open_.claim()) {
    file_ = buffer::PageFile::create(*device_, "pages", kSmall);
    writer_ = std::make_unique<buffer::PageWriter>(*file_, &open_.log());
    map_ = std::make_unique<buffer::SpaceMap>(*file_);
    map_->log_with(open_.log());
    disk_.set_write_checker([this](std::string_view file, std::uint64_t offset, ConstBytes bytes) {
      check_written(file, offset, bytes);
    });
  }

  Gsn take(SlotId slot, buffer::PageRun run) { return say(slot, run, true, Gsn{0}); }
  Gsn give(SlotId slot, buffer::PageRun run, Gsn at_least = Gsn{0}) {
    return say(slot, run, false, at_least);
  }
  Gsn take(buffer::PageRun run) { return take(slot_, run); }
  /// Frees pages by a record, and releases their claim when that is durable. `at_least`: the GSN of
  /// the record that took them, if another slot appended it.
  Gsn give_back(SlotId slot, buffer::PageRun run, Gsn at_least = Gsn{0}) {
    const Gsn gsn = give(slot, run, at_least);
    map_->free_when_durable(run, gsn);
    return gsn;
  }
  Gsn give_back(buffer::PageRun run) { return give_back(slot_, run); }
  buffer::PageRun allocate(std::uint32_t stripe = 0) { return {map_->allocate(stripe), 1}; }

  [[nodiscard]] Gsn durable() { return open_.log().durable_gsn(); }
  void make_durable(Gsn gsn) { open_.log().wait_durable(gsn); }
  [[nodiscard]] History history() {
    const std::lock_guard lock(mutex_);
    return history_;
  }
  void flush_and_harden() {
    map_->flush(*writer_);
    writer_->harden();
  }
  /// As a checkpoint: replay starts behind what the images hold. The note records that position, in
  /// case nothing is written to the log afterwards.
  void checkpoint() {
    const wal::LogStart start = open_.log().current_start();
    flush_and_harden();
    open_.log().move_start(start, std::to_string(raw(durable())), false);
  }
  /// The image of the map page that covers a page, in place.
  [[nodiscard]] std::vector<std::byte> map_page(std::uint64_t stretch = 0) {
    const std::vector<std::byte> all = disk_.contents("pages");
    const auto begin =
        all.begin() +
        static_cast<std::ptrdiff_t>((raw(file_->first_page()) + stretch * kStretchPages) * 4096);
    return {begin, begin + 4096};
  }
  /// Whether the image in place has the page, of the first stretch, as used.
  [[nodiscard]] bool in_use_on_disk(PageId page) {
    const std::uint64_t bit = raw(page) - raw(file_->first_page());
    const std::byte byte = map_page()[sizeof(buffer::PageHeader) + bit / 8];
    return (std::to_integer<unsigned>(byte) >> (bit % 8) & 1U) != 0;
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  wal::test::OpenLog open_;
  SlotId slot_;
  std::unique_ptr<buffer::PageFile> file_;
  std::unique_ptr<buffer::PageWriter> writer_;
  std::unique_ptr<buffer::SpaceMap> map_;

 private:
  Gsn say(SlotId slot, buffer::PageRun run, bool in_use, Gsn at_least) {
    const Said said{raw(run.first), run.pages, in_use ? 1U : 0U};
    const std::size_t bytes = wal::kRecordHeaderBytesMax + sizeof said;
    open_.log().reserve(slot, {.bytes = bytes, .credit_bytes = bytes});
    auto change = map_->change();
    const Gsn gsn = append(slot, said, at_least);
    in_use ? change.take(run, gsn) : change.give(run, gsn);
    return gsn;
  }

  // Holds the mutex across the append: a later reader of the history finds every record that a
  // round has captured.
  Gsn append(SlotId slot, const Said& said, Gsn at_least) {
    const std::lock_guard lock(mutex_);
    const wal::Appended appended = open_.log().append(
        slot, at_least, wal::test::kChange, sizeof said,
        [&](MutableBytes into) { std::memcpy(into.data(), &said, sizeof said); });
    history_.emplace(std::pair(appended.gsn, raw(slot)), said);
    return appended.gsn;
  }

  // I-2, at each write to the page file, copies in the ring included.
  void check_written(std::string_view file, std::uint64_t offset, ConstBytes bytes) {
    if (file != "pages" || offset < 65536) {
      return;
    }
    for (std::size_t at = 0; at < bytes.size(); at += 4096) {
      const buffer::PageHeader header = buffer::header_of(bytes.subspan(at, 4096));
      EXPECT_LE(header.gsn, open_.log().durable_gsn()) << "page " << raw(header.page_id);
    }
  }

  std::mutex mutex_;
  History history_;  ///< protected by mutex_
};

}  // namespace palimpsest::test
