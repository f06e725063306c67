#include "experiments/files/csv_lines.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

#include "experiments/common/permutation.h"
#include "experiments/tpch/population.h"
#include "experiments/tpch/tbl_text.h"

namespace palimpsest::experiments::files {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20U;

/// A file that is removed unless keep() was called.
class NewFile {
 public:
  explicit NewFile(const std::filesystem::path& path)
      : path_(path), file_(std::fopen(path.c_str(), "wx")) {
    ensure(file_ != nullptr);
    std::setvbuf(file_, nullptr, _IOFBF, kBufferBytes);
  }
  ~NewFile() {
    if (file_ != nullptr) {
      std::fclose(file_);
      std::error_code none;
      std::filesystem::remove(path_, none);
    }
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void add(std::string_view text) {
    ensure(std::fwrite(text.data(), 1, text.size(), file_) == text.size());
  }
  void keep() {
    ensure(std::fflush(file_) == 0);
    ensure(std::fclose(std::exchange(file_, nullptr)) == 0);
  }

 private:
  void ensure(bool done) const {
    if (!done) {
      throw std::system_error(errno, std::generic_category(), path_.string());
    }
  }

  std::filesystem::path path_;
  std::FILE* file_;
};

void append_field(std::string_view field, std::string& into) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    into += field;
    return;
  }
  into += '"';
  for (const char byte : field) {
    into.append(byte == '"' ? 2 : 1, byte);
  }
  into += '"';
}

}  // namespace

std::string_view name_of(LineOrder order) noexcept {
  switch (order) {
    case LineOrder::sorted: return "sorted";
    case LineOrder::shuffled: return "shuffled";
  }
  return "unknown";
}

void append_csv(std::string_view tbl_line, std::string& into) {
  bool is_first = true;
  for (std::size_t bar = tbl_line.find('|'); bar != std::string_view::npos;
       bar = tbl_line.find('|')) {
    if (!is_first) {
      into += ',';
    }
    is_first = false;
    append_field(tbl_line.substr(0, bar), into);
    tbl_line.remove_prefix(bar + 1);
  }
  into += '\n';
}

CsvLines::CsvLines(std::uint64_t seed, const tpch::Scale& scale) : seed_(seed) {
  const tpch::Population population(seed, scale);
  tpch::Order order;
  tpch::TblText text;
  for (std::uint64_t number = 0; number < scale.orders(); ++number) {
    population.make(number, order);
    for (const tpch::LineItemRow& row : order.lines()) {
      text.clear();
      text.add(row);
      begins_.push_back(text_.size());
      append_csv(text.view(), text_);
      ++content_.rows;
      content_.order_keys += static_cast<std::uint64_t>(row.order);
      content_.price_cents += static_cast<std::uint64_t>(row.extended_price.unscaled());
      content_.comment_bytes += row.comment.size();
    }
  }
  begins_.push_back(text_.size());
}

std::string_view CsvLines::line(std::uint64_t number) const {
  return std::string_view(text_).substr(begins_[number], begins_[number + 1] - begins_[number]);
}

void CsvLines::write(const std::filesystem::path& file, LineOrder order) const {
  NewFile to(file);
  if (order == LineOrder::sorted) {
    to.add(text_);
  } else {
    const Permutation shuffled(content_.rows, seed_);
    for (std::uint64_t place = 0; place < content_.rows; ++place) {
      to.add(line(shuffled(place)));
    }
  }
  to.keep();
}

}  // namespace palimpsest::experiments::files
