#include "tools/load/dump_blocks.h"

#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "palimpsest/transaction.h"

#include "tools/load/interrupt.h"

namespace palimpsest::load {

DumpBlocks::DumpBlocks(Database& database, const Table& table, const Range& range,
                       std::function<std::unique_ptr<RowText>()> text, TextOutput& output)
    : database_(database), table_(table), range_(range), text_(std::move(text)), output_(output) {}

std::uint64_t DumpBlocks::write_all(std::size_t threads) {
  {
    std::vector<std::jthread> others;
    try {
      while (others.size() + 1 < threads) {
        others.emplace_back([this] { work(); });
      }
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): fewer do it all, too
    }
    work();
  }
  if (failure_ != nullptr) {
    std::rethrow_exception(failure_);
  }
  return rows_written_;
}

void DumpBlocks::work() noexcept {
  try {
    work_blocks();
  } catch (...) {
    fail(std::current_exception());
  }
}

void DumpBlocks::work_blocks() {
  const Transaction snapshot =
      database_.begin({.isolation = Isolation::snapshot, .read_only = true});
  const std::unique_ptr<RowText> rows = text_();
  std::string lines;
  while (const std::optional<Block> block = find_block(snapshot)) {
    stop_if_interrupted();
    lines.clear();
    rows->begin_block(block->number != 0);
    table_.visit(snapshot, rows_of(*block), [&](const RowView& row) {
      rows->append(row, lines);
      return true;
    });
    write(*block, lines);
  }
}

/// Nothing if there are no more rows.
std::optional<DumpBlocks::Block> DumpBlocks::find_block(const Transaction& in) {
  const std::lock_guard lock(finding_);
  if (at_end_) {
    return std::nullopt;
  }
  Block block{.number = found_, .after = last_};
  std::size_t bytes = 0;
  at_end_ = true;
  const Range rest = rows_of(block);
  table_.visit(in, rest, [&](const RowView& row) {
    ++block.rows;
    bytes += row.key_bytes().size() + row.bytes().size();
    at_end_ = bytes < kBlockBytes && block.rows < kBlockRows;
    if (!at_end_) {
      block.last.emplace(row.key_bytes());
    }
    return at_end_;
  });
  if (block.rows == 0) {
    return std::nullopt;
  }
  ++found_;
  last_ = block.last.value_or("");
  return block;
}

/// Up to the end of all rows if the block's last one is not known.
Range DumpBlocks::rows_of(const Block& block) const {
  const bool is_first = block.number == 0;
  const auto lower = is_first ? range_.lower() : std::optional(Key::encoded(block.after));
  const auto upper = block.last ? std::optional(Key::encoded(*block.last)) : range_.upper();
  const auto lower_bound = is_first ? range_.lower_bound() : Range::Bound::exclusive;
  const auto upper_bound = block.last ? Range::Bound::inclusive : range_.upper_bound();
  if (lower && upper) {
    return Range::between(*lower, *upper, lower_bound, upper_bound);
  }
  if (lower) {
    return Range::from(*lower, lower_bound);
  }
  return upper ? Range::up_to(*upper, upper_bound) : Range::all();
}

void DumpBlocks::write(const Block& block, std::string_view text) {
  std::unique_lock lock(writing_);
  written_.wait(lock, [&] { return blocks_written_ == block.number || failure_ != nullptr; });
  if (failure_ != nullptr) {
    std::rethrow_exception(failure_);
  }
  output_.write(text);
  ++blocks_written_;
  rows_written_ += block.rows;
  written_.notify_all();
}

void DumpBlocks::fail(std::exception_ptr failure) noexcept {
  {
    const std::lock_guard lock(writing_);
    failure_ = failure_ == nullptr ? std::move(failure) : failure_;
  }
  {
    const std::lock_guard lock(finding_);
    at_end_ = true;
  }
  written_.notify_all();
}

}  // namespace palimpsest::load
