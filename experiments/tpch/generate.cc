#include "experiments/tpch/generate.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <system_error>

#include "experiments/common/crew.h"
#include "experiments/common/flag_checks.h"
#include "experiments/common/interrupt.h"
#include "experiments/tpch/parted_file.h"
#include "experiments/tpch/population.h"
#include "experiments/tpch/tbl_text.h"

namespace palimpsest::experiments::tpch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMegabyte = 1'000'000;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::filesystem::path file_of(const std::filesystem::path& directory, TableId table) {
  return directory / fmt::format("{}.tbl", name_of(table));
}

/// A directory, created if missing, and removed again, if it is empty, unless keep() was called.
class Directory {
 public:
  explicit Directory(const std::filesystem::path& path)
      : path_(path), made_(std::filesystem::create_directories(path)) {}
  ~Directory() {
    std::error_code ignored;
    if (made_) {
      std::filesystem::remove(path_, ignored);
    }
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  void keep() noexcept { made_ = false; }

 private:
  const std::filesystem::path path_;
  bool made_;
};

/// Rows of a table that one thread makes: a part of its file. Orders bring their lines.
struct Part {
  TableId table;
  std::uint64_t number;
  std::uint64_t first;
  std::uint64_t end;
};

/// So many rows are a part, about a megabyte.
constexpr std::uint64_t kRowsOfPart = 8192;
constexpr std::uint64_t kOrdersOfPart = 2048;

class Generation {
 public:
  explicit Generation(const GenerateOptions& options) : population_(options.seed, options.scale) {
    for (const TableId table : options.tables) {
      files_[table] = std::make_unique<PartedFile>(file_of(options.directory, table));
    }
    // The small ones first: the threads end together.
    for (const TableId table : kTables) {
      const bool has_lines = table == TableId::orders && files_.contains(TableId::lineitem);
      if (has_lines || (files_.contains(table) && table != TableId::lineitem)) {
        add_parts(table);
      }
    }
  }

  /// The work of one thread.
  void work(const std::atomic<bool>& stopping) {
    TblText text;
    TblText lines;
    while (!stopping.load()) {
      const std::uint64_t next = next_part_.fetch_add(1);
      if (next >= parts_.size() || !write(parts_[next], text, lines, stopping)) {
        return;
      }
    }
  }

  void complete() {
    for (const auto& [table, file] : files_) {
      file->complete();
    }
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(); }

 private:
  void add_parts(TableId table) {
    const std::uint64_t rows = population_.scale().rows(table);
    const std::uint64_t size = table == TableId::orders ? kOrdersOfPart : kRowsOfPart;
    for (std::uint64_t first = 0; first < rows; first += size) {
      parts_.push_back({.table = table,
                        .number = first / size,
                        .first = first,
                        .end = std::min(rows, first + size)});
    }
  }

  bool write(const Part& part, TblText& text, TblText& lines, const std::atomic<bool>& stopping) {
    text.clear();
    lines.clear();
    switch (part.table) {
      case TableId::region: make<RegionRow>(part, text); break;
      case TableId::nation: make<NationRow>(part, text); break;
      case TableId::supplier: make<SupplierRow>(part, text); break;
      case TableId::customer: make<CustomerRow>(part, text); break;
      case TableId::part: make<PartRow>(part, text); break;
      case TableId::partsupp: make<PartSuppRow>(part, text); break;
      case TableId::orders:
      case TableId::lineitem: make_orders(part, text, lines); break;
    }
    return write(part.table, part.number, text, stopping) &&
           (part.table != TableId::orders ||
            write(TableId::lineitem, part.number, lines, stopping));
  }

  bool write(TableId table, std::uint64_t part, const TblText& text,
             const std::atomic<bool>& stopping) {
    const auto file = files_.find(table);
    if (file == files_.end()) {
      return true;
    }
    if (!file->second->write(part, text.view(), stopping)) {
      return false;
    }
    bytes_.fetch_add(text.view().size());
    return true;
  }

  template <class Row>
  void make(const Part& part, TblText& text) const {
    Row row;
    for (std::uint64_t number = part.first; number < part.end; ++number) {
      population_.make(number, row);
      text.add(row);
    }
  }

  void make_orders(const Part& part, TblText& text, TblText& lines) const {
    const bool with_heads = files_.contains(TableId::orders);
    const bool with_lines = files_.contains(TableId::lineitem);
    Order order;
    for (std::uint64_t number = part.first; number < part.end; ++number) {
      population_.make(number, order);
      if (with_heads) {
        text.add(order.row);
      }
      if (with_lines) {
        for (const LineItemRow& line : order.lines()) {
          lines.add(line);
        }
      }
    }
  }

  const Population population_;
  std::map<TableId, std::unique_ptr<PartedFile>> files_;
  std::vector<Part> parts_;
  std::atomic<std::uint64_t> next_part_{0};
  std::atomic<std::uint64_t> bytes_{0};
};

Progress progress_of(std::uint64_t bytes, std::uint64_t total, double seconds) {
  return {.what = "generating",
          .unit = "MB",
          .done = bytes / kMegabyte,
          .total = std::max<std::uint64_t>(1, total / kMegabyte),
          .seconds = seconds};
}

void refuse_what_is_there(const GenerateOptions& options) {
  for (const TableId table : options.tables) {
    if (const auto file = file_of(options.directory, table); std::filesystem::exists(file)) {
      throw UsageError(fmt::format("--path: {} exists already", file.string()));
    }
  }
}

}  // namespace

void require_space(const std::filesystem::path& directory, std::uint64_t bytes) {
  std::filesystem::path there = std::filesystem::absolute(directory);
  while (!std::filesystem::exists(there) && there.has_relative_path()) {
    there = there.parent_path();
  }
  const std::uint64_t available = std::filesystem::space(there).available;
  if (available < bytes) {
    throw UsageError(fmt::format("--path={}: about {} MB are needed, {} MB are free",
                                 directory.string(), bytes / kMegabyte, available / kMegabyte));
  }
}

Generated generate(const GenerateOptions& options, ProgressDisplay& display) {
  constexpr std::chrono::milliseconds kStep{100};
  std::uint64_t expected_bytes = 0;
  for (const TableId table : options.tables) {
    expected_bytes += options.scale.tbl_bytes(table);
  }
  refuse_what_is_there(options);
  require_space(options.directory, expected_bytes / 100 * 105);
  InterruptSignals signals;  // from here on a run that makes files also removes them
  Directory directory(options.directory);
  const Clock::time_point begin = Clock::now();
  Generation generation(options);
  Crew crew(options.threads, [&](Crew& all, std::uint32_t) {
    all.start_together();
    generation.work(all.stopping());
  });
  crew.go();
  while (!crew.wait_for_end(Clock::now() + kStep)) {
    display.bar(progress_of(generation.bytes(), expected_bytes, seconds_since(begin)));
    if (signals.arrived()) {
      throw Interrupted();
    }
  }
  crew.join();
  if (signals.arrived()) {
    throw Interrupted();
  }
  generation.complete();
  directory.keep();
  const Generated generated{.bytes = generation.bytes(), .seconds = seconds_since(begin)};
  display.end_bar(progress_of(generated.bytes, generated.bytes, generated.seconds));
  return generated;
}

}  // namespace palimpsest::experiments::tpch
