// Makes a small database in a directory, for the tests of `palimpsest check`: two trees of several
// levels, large values, some of them removed again.
//
// usage: make_database DIR close|crash|crash-long|hold|leak|lose
//   close       close it
//   crash       end without closing it
//   crash-long  the same, and all of it has to be replayed
//   hold        hold it until a line comes
//   leak        in an existing database, mark an unused page as used in the space map
//   lose        in an existing database, mark a tree's root as free in the space map
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "base/io/open_device.h"
#include "engine/engine.h"

namespace palimpsest {
namespace {

constexpr int kRecords = 2000;
constexpr int kManyRecords = 10'000;

void fill(engine::Engine& database, btree::BTree& tree, int records) {
  for (int begin = 0; begin < records; begin += 100) {
    auto transaction = database.begin();
    for (int i = begin; i < begin + 100; ++i) {
      const std::size_t bytes = i % 250 == 0 ? 30'000 : 100;
      static_cast<void>(
          transaction->insert(tree, "key" + std::to_string(100'000 + i), std::string(bytes, 'v')));
    }
    transaction->commit();
  }
  auto transaction = database.begin();
  static_cast<void>(transaction->remove(tree, "key100000"));
  transaction->commit();
}

void spoil(engine::Engine& database, bool leaks) {
  const Gsn gsn = database.log().durable_gsn();
  if (leaks) {
    const PageId page = database.space().allocate(0);
    database.space().change().take({.first = page, .pages = 1}, gsn);
  } else {
    const PageId root = database.find_tree("first")->root_page();
    database.space().change().give({.first = root, .pages = 1}, gsn);
  }
  database.close();
}

int make(const std::string& path, std::string_view end) {
  const auto device = io::open_device(path, {.log = {}});
  engine::EngineOptions options;
  options.memory_bytes = std::uint64_t{8} << 20U;
  options.pages = {.page_size_bytes = 4096, .ring_batches = 2, .batch_pages = 64, .uuid = {}};
  options.log_segment_bytes = wal::kSegmentBytesMin;
  const bool is_long = end == "crash-long";
  options.log_bytes_max = (is_long ? 512 : 32) * wal::kSegmentBytesMin;
  const auto database = engine::Engine::open(*device, *device, options);
  if (end == "leak" || end == "lose") {
    spoil(*database, end == "leak");
    return 0;
  }
  for (const char* name : {"first", "second"}) {
    if (btree::BTree* tree = database->make_tree(name)) {
      fill(*database, *tree, is_long ? kManyRecords : kRecords);
    }
  }
  if (end.starts_with("crash")) {
    static_cast<void>(database->make_tree("third"));
    ::_exit(0);
  }
  if (end == "hold") {
    std::puts("held");
    std::fflush(stdout);
    static_cast<void>(std::getchar());
  }
  database->close();
  return 0;
}

}  // namespace
}  // namespace palimpsest

int main(int argc, char** argv) {
  try {
    return argc == 3 ? palimpsest::make(argv[1], argv[2]) : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_database: %s\n", error.what());
    return 1;
  }
}
