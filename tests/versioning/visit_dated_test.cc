// What a serializable transaction visits when it commits: the versions dated after its snapshot, in
// the buffers of all other slots.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/versioning/versioned_cells.h"
#include "versioning/version_buffer.h"

namespace palimpsest::versioning {
namespace {

using test::Cells;
using test::CellWriter;
using Value = std::optional<std::string>;

// Several writers leave versions, collected and merged as usual: the visit finds every change after
// a snapshot in use, and nothing that has not changed. It runs in parts, as if called twice.
TEST(VersionBuffer, WhatHasChangedSinceASnapshotIsVisited) {
  constexpr std::size_t kCells = 60;
  constexpr std::size_t kWriters = 3;
  Random random(palimpsest::test::seed());
  for (int round = 0; round < 60; ++round) {
    Cells cells(kCells);
    std::vector<std::unique_ptr<CellWriter>> writers;
    std::generate_n(std::back_inserter(writers), kWriters,
                    [&] { return std::make_unique<CellWriter>(cells); });
    CellWriter reader(cells);
    std::map<Gsn, std::set<std::size_t>> changes;
    const auto change = [&](std::size_t commits) {
      for (std::size_t i = 0; i < commits; ++i) {
        CellWriter& writer = *writers[random.below(kWriters)];
        std::set<std::size_t> changed;
        writer.begin();
        for (std::size_t writes = random.below(12); writes > 0; --writes) {
          const std::size_t cell = random.below(kCells);
          const Value value =
              random.one_in(5) ? Value() : Value(std::string(1 + random.below(60), 'x'));
          if (writer.write(cell, value)) {
            changed.insert(cell);
          }
        }
        changes[writer.commit()] = changed;
        writer.collect();
      }
    };
    change(random.below(80));
    reader.begin();
    changes.clear();
    std::vector<Value> before;
    before.reserve(kCells);
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      before.push_back(reader.read(cell));
    }
    change(random.below(200));
    const Gsn middle = cells.clock.now();
    const auto first = changes.size();
    change(random.below(100));
    CellWriter late(cells);
    late.begin();
    std::set<std::string> visited;
    const auto visit = [&](Gsn after, Gsn upto) {
      for (const auto& writer : writers) {
        EXPECT_TRUE(writer->versions().visit_dated(after, upto, [&](const Version& version) {
          EXPECT_GT(version.timestamp(), after);
          EXPECT_LE(version.timestamp(), upto);
          visited.emplace(version.entry().key());
          return true;
        }));
      }
    };
    visit(reader.snapshot(), middle);
    std::size_t number = 0;
    std::set<std::string> changed;
    for (const auto& [date, of_one] : changes) {
      for (const std::size_t cell : of_one) {
        changed.insert(std::to_string(cell));
      }
      if (++number == first) {
        EXPECT_TRUE(std::ranges::includes(changed, visited));
      }
    }
    visit(middle, cells.clock.now());
    EXPECT_TRUE(std::ranges::includes(changed, visited));
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      EXPECT_TRUE(late.read(cell) == before[cell] || visited.contains(std::to_string(cell)))
          << round << ": " << cell;
    }
    late.roll_back();
    reader.roll_back();
    for (const auto& writer : writers) {
      writer->collect();
    }
  }
}

// A version that was merged into an older one has no owner: its entry may be gone.
TEST(VersionBuffer, DroppedVersionsAreNotVisited) {
  Cells cells(2);
  CellWriter writer(cells);
  CellWriter reader(cells);
  const auto write = [&](std::size_t cell, const Value& value) {
    writer.begin();
    ASSERT_TRUE(writer.write(cell, value));
    writer.commit();
  };
  write(0, "before");
  reader.begin(Snapshots::Use::reads);
  for (const char* const value : {"one", "two", "three", "four"}) {
    write(0, value);
  }
  write(1, "came");
  write(1, std::nullopt);  // inserted and removed: no reader can tell
  writer.begin();
  writer.prune(0);
  writer.prune(1);
  writer.roll_back();
  const auto chain_of = [&](std::size_t cell) {
    std::set<const Version*> chain;
    const Entry* const entry = cells.all[cell]->table->find(std::to_string(cell));
    for (const Version* version = entry == nullptr ? nullptr : entry->newest(); version != nullptr;
         version = version->older()) {
      chain.insert(version);
    }
    return chain;
  };
  ASSERT_EQ(chain_of(0).size(), 1U);
  ASSERT_TRUE(chain_of(1).empty());
  std::set<const Version*> visited;
  EXPECT_TRUE(writer.versions().visit_dated(reader.snapshot(), cells.clock.now(),
                                            [&](const Version& version) {
                                              visited.insert(&version);
                                              return true;
                                            }));
  EXPECT_EQ(visited, chain_of(0));
  reader.roll_back();
}

}  // namespace
}  // namespace palimpsest::versioning
