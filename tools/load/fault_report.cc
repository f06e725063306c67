#include "tools/load/fault_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>

#include "palimpsest/error.h"

#include "tools/load/message.h"
#include "tools/load/system_error.h"

namespace palimpsest::load {
namespace {

constexpr double kPercentMax = 100;

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size() ? std::optional(number)
                                                                   : std::nullopt;
}

}  // namespace

std::optional<FaultLimit> FaultLimit::parse(std::string_view text) {
  if (text.ends_with('%')) {
    text.remove_suffix(1);
    const auto percent = number_of<double>(text);
    if (!percent || !(*percent >= 0 && *percent <= kPercentMax)) {
      return std::nullopt;
    }
    return FaultLimit{.percent = percent};
  }
  const auto count = number_of<std::uint64_t>(text);
  return count ? std::optional(FaultLimit{.count = *count}) : std::nullopt;
}

FaultReport::FaultReport(FaultReportOptions options, const SavedFaults* saved)
    : options_(std::move(options)),
      reject_log_(saved != nullptr ? open_file(options_.reject_log, saved->log_bytes)
                                   : make_file(options_.reject_log)) {
  if (!options_.reject_file.empty()) {
    open_rejected(saved);
  }
  if (saved != nullptr) {
    by_kind_ = saved->by_kind;
    count_ = std::accumulate(by_kind_.begin(), by_kind_.end(), std::uint64_t{0});
  }
}

void FaultReport::open_rejected(const SavedFaults* saved) {
  const std::size_t known = saved != nullptr ? saved->below.size() : 0;
  for (std::size_t i = 0; i < std::max<std::size_t>(known, 1); ++i) {
    Rejected& rejected = rejected_.emplace_back();
    rejected.path = path_of(i);
    const std::uint64_t bytes =
        known != 0 ? saved->below[i].bytes : (saved != nullptr ? saved->file_bytes : 0);
    rejected.file = saved != nullptr ? open_file(rejected.path, bytes) : make_file(rejected.path);
    if (known != 0) {
      rejected.header = saved->below[i].header;
    }
  }
}

/// The first is the one that was named.
std::string FaultReport::path_of(std::size_t number) const {
  if (number == 0) {
    return options_.reject_file;
  }
  const std::filesystem::path path(options_.reject_file);
  return fmt::format("{}-{}{}", (path.parent_path() / path.stem()).string(), number + 1,
                     path.extension().string());
}

FaultReport::File FaultReport::make_file(const std::string& path) {
  File file(path.empty() ? nullptr : std::fopen(path.c_str(), "wbe"), std::fclose);
  if (!path.empty() && file == nullptr) {
    refuse_to_write(path, errno);
  }
  return file;
}

/// One that is there, cut to so many bytes.
FaultReport::File FaultReport::open_file(const std::string& path, std::uint64_t bytes) {
  File file(path.empty() ? nullptr : std::fopen(path.c_str(), "r+be"), std::fclose);
  if (path.empty()) {
    return file;
  }
  if (file == nullptr || std::fseek(file.get(), 0, SEEK_END) != 0) {
    refuse_to_write(path, errno);
  }
  if (static_cast<std::uint64_t>(std::ftell(file.get())) < bytes) {
    throw Error(ErrorCode::corruption,
                fmt::format("{}: it is shorter than the load that is resumed has left it", path));
  }
  if (::ftruncate(::fileno(file.get()), static_cast<off_t>(bytes)) != 0 ||
      std::fseek(file.get(), 0, SEEK_END) != 0) {
    refuse_to_write(path, errno);
  }
  return file;
}

/// Its length.
std::uint64_t FaultReport::sync(const File& file, const std::string& path) {
  if (file == nullptr) {
    return 0;
  }
  if (std::fflush(file.get()) != 0 || ::fsync(::fileno(file.get())) != 0) {
    refuse_to_write(path, errno);
  }
  return static_cast<std::uint64_t>(std::ftell(file.get()));
}

SavedFaults FaultReport::save() {
  SavedFaults saved{.by_kind = by_kind_, .log_bytes = sync(reject_log_, options_.reject_log)};
  for (const Rejected& rejected : rejected_) {
    const std::uint64_t bytes = sync(rejected.file, rejected.path);
    saved.file_bytes = &rejected == rejected_.data() ? bytes : saved.file_bytes;
    if (rejected.header) {
      saved.below.push_back({.header = *rejected.header, .bytes = bytes});
    }
  }
  return saved;
}

void FaultReport::write(const File& file, std::string_view text, const std::string& path) {
  if (file != nullptr && std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) {
    refuse_to_write(path, errno);
  }
}

void FaultReport::close(File& file, const std::string& path) {
  if (std::FILE* const closing = file.release(); closing != nullptr && std::fclose(closing) != 0) {
    refuse_to_write(path, errno);
  }
}

void FaultReport::add(const Fault& fault, std::string_view record, std::string_view header) {
  reject(record, header);
  tell_of(fault);
  ++count_;
  ++by_kind_[static_cast<std::size_t>(fault.kind) - 1];
  if (count_ == options_.shown_max + 1 && options_.shown_max != 0) {
    tell(fmt::format("more errors are not shown{}\n",
                     options_.reject_log.empty() ? "; --reject-log FILE takes all of them" : ""));
  }
}

void FaultReport::tell_of(const Fault& fault) {
  const bool is_shown = count_ < options_.shown_max;
  const bool is_first = !has_shown_ && first_unshown_.empty();
  if (!is_shown && !is_first && reject_log_ == nullptr) {
    return;  // there may be very many
  }
  const std::string text = fault.text();
  write(reject_log_, text + "\n", options_.reject_log);
  if (is_shown) {
    tell(text + "\n");
    has_shown_ = true;
  } else if (is_first) {
    first_unshown_ = text;
  }
}

FaultReport::Rejected& FaultReport::rejected_below(std::string_view header) {
  Rejected& first = rejected_.front();
  if (!first.header) {
    first.header = header;
    write(first.file, count_ == 0 ? header : std::string_view(), first.path);
  }
  const auto known = std::ranges::find(rejected_, header, [](const Rejected& rejected) {
    return std::string_view(*rejected.header);
  });
  if (known != rejected_.end()) {
    return *known;
  }
  Rejected& more = rejected_.emplace_back();
  more.path = path_of(rejected_.size() - 1);
  more.file = make_file(more.path);
  more.header = header;
  tell(fmt::format("bad records below another header are in {}\n", more.path));
  write(more.file, header, more.path);
  return more;
}

/// The last record of a file may lack its newline.
void FaultReport::reject(std::string_view record, std::string_view header) {
  if (rejected_.empty()) {
    return;
  }
  Rejected& rejected = rejected_below(header);
  write(rejected.file, record, rejected.path);
  if (!record.ends_with('\n') && !record.ends_with('\r')) {
    write(rejected.file, "\n", rejected.path);
  }
}

bool FaultReport::is_over() const noexcept {
  return !options_.limit.percent && count_ > options_.limit.count;
}

bool FaultReport::is_over(std::uint64_t records) const noexcept {
  if (!options_.limit.percent) {
    return is_over();
  }
  return static_cast<double>(count_) * kPercentMax >
         static_cast<double>(records) * *options_.limit.percent;
}

void FaultReport::finish() {
  for (Rejected& rejected : rejected_) {
    close(rejected.file, rejected.path);
  }
  close(reject_log_, options_.reject_log);
}

}  // namespace palimpsest::load
