#include "tools/load/space_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "palimpsest/error.h"

namespace palimpsest::load {
namespace {

constexpr double kBytesPerMegabyte = 1e6;

std::uint64_t times(std::uint64_t bytes, double factor) noexcept {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * factor);
}

double megabytes(std::uint64_t bytes) noexcept {
  return static_cast<double>(bytes) / kBytesPerMegabyte;
}

/// Any number if the operating system does not say: writing will tell.
std::uint64_t free_bytes_of(const std::filesystem::path& directory) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(directory, error);
  return error ? ~std::uint64_t{0} : space.available;
}

}  // namespace

SpaceCheck::SpaceCheck(SpaceCheckOptions options) : options_(std::move(options)) {
  if (!options_.free_bytes) {
    options_.free_bytes = [directory = options_.directory] { return free_bytes_of(directory); };
  }
}

void SpaceCheck::count(const EncodedRow& row, std::uint64_t note_bytes, const RowOrigin& origin) {
  if (origin.file != file_) {
    files_bytes_ = position_;
    file_ = origin.file;
  }
  position_ = files_bytes_ + origin.byte;
  begin_ = begin_.value_or(position_);
  before_ = added_;
  ++added_.rows;
  added_.table_bytes += row.key.size() + row.bytes.size();
  added_.bytes += row.key.size() + row.bytes.size() + note_bytes;
}

/// How many times the rows before the last one all will be: how long the last one is in the input
/// is not known yet, and it may be longer than all others.
double SpaceCheck::growth() const {
  const std::optional<std::uint64_t> input_bytes = options_.input_bytes();
  if (!input_bytes || position_ <= *begin_ || *input_bytes <= position_) {
    return 1;
  }
  return static_cast<double>(*input_bytes - *begin_) / static_cast<double>(position_ - *begin_);
}

/// With the rows that are to come.
SpaceCheck::Added SpaceCheck::all(double growth) const {
  const auto of = [growth](std::uint64_t before, std::uint64_t now) {
    return now + times(before, growth) - before;
  };
  return {.rows = of(before_.rows, added_.rows),
          .bytes = of(before_.bytes, added_.bytes),
          .table_bytes = of(before_.table_bytes, added_.table_bytes)};
}

void SpaceCheck::check(const RowSort& sort, double growth) const {
  const Added expected = all(growth);
  const std::uint64_t there = sort.file_bytes(added_.rows, added_.bytes);
  const std::uint64_t sorting = sort.file_bytes(expected.rows, expected.bytes);
  const std::uint64_t rows = options_.adds_all ? expected.table_bytes : 0;
  const std::uint64_t table = rows - std::min(rows, options_.data_bytes);
  const std::uint64_t needed = sorting - std::min(sorting, there) + table;
  const std::uint64_t free = options_.free_bytes();
  if (needed > free) {
    throw Error(ErrorCode::no_space,
                fmt::format("{}: about {:.1f} MB more are needed there, {:.1f} MB to sort the rows "
                            "and {:.1f} MB for the table, and {:.1f} MB are free "
                            "(--no-space-check goes on until there are none)",
                            options_.directory.string(), megabytes(needed),
                            megabytes(needed - table), megabytes(table), megabytes(free)));
  }
}

}  // namespace palimpsest::load
