#include "tools/load/fault_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
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
      reject_file_(saved != nullptr ? open_file(options_.reject_file, saved->file_bytes)
                                    : make_file(options_.reject_file)),
      reject_log_(saved != nullptr ? open_file(options_.reject_log, saved->log_bytes)
                                   : make_file(options_.reject_log)) {
  if (saved != nullptr) {
    by_kind_ = saved->by_kind;
    count_ = std::accumulate(by_kind_.begin(), by_kind_.end(), std::uint64_t{0});
  }
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
  return {.by_kind = by_kind_,
          .file_bytes = sync(reject_file_, options_.reject_file),
          .log_bytes = sync(reject_log_, options_.reject_log)};
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

void FaultReport::add(const Fault& fault, std::string_view record) {
  if (count_ == 0) {
    write(reject_file_, options_.header, options_.reject_file);
  }
  reject(record);
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

/// The last record of a file may lack its newline.
void FaultReport::reject(std::string_view record) {
  write(reject_file_, record, options_.reject_file);
  if (!record.ends_with('\n')) {
    write(reject_file_, "\n", options_.reject_file);
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
  close(reject_file_, options_.reject_file);
  close(reject_log_, options_.reject_log);
}

}  // namespace palimpsest::load
