#include "tools/load/load_conditions.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>

#include "palimpsest/error.h"

namespace palimpsest::load {
namespace {

/// Bytes of a file that its checksum is of, at each end.
constexpr std::size_t kSampleBytes = std::size_t{64} << 10U;

[[noreturn]] void refuse(const std::string& path) {
  throw Error(ErrorCode::io_error, fmt::format("{}: it cannot be read", path));
}

/// Line ends as \n, a backslash as two.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char letter : text) {
    switch (letter) {
      case '\n': line += "\\n"; break;
      case '\\': line += "\\\\"; break;
      default: line += letter;
    }
  }
  return line;
}

std::string text_of(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) {
    text += fmt::format("{}:{} ", name.size(), name);
  }
  return text;
}

std::string text_of(std::optional<char> letter) {
  return letter ? fmt::format("byte {}", static_cast<int>(*letter)) : "none";
}

std::string text_of(const Dialect& dialect) {
  return fmt::format(
      "delimiter {}, rest {}, line end {}, quote {}, escape {}, letters {}, blank {} {}, trim {}, "
      "fill {}, end {}, nested {}, unknown {}, utf8 {}, point {}, thousands {}, date {}, time {}, "
      "null {} {}:{} {}, bytes {}, comment {}",
      text_of(dialect.delimiter), dialect.delimiter_rest, text_of(dialect.line_end),
      text_of(dialect.quote), text_of(dialect.escape), dialect.letter_escapes, dialect.skip_blank,
      dialect.blank_is_nothing, dialect.trim, dialect.fill_missing, dialect.drops_empty_end,
      dialect.keep_nested, dialect.ignore_unknown, dialect.checks_utf8,
      text_of(dialect.values.decimal_point), text_of(dialect.values.thousands),
      dialect.values.date_format, dialect.values.timestamp_format,
      static_cast<int>(dialect.null_rule), dialect.null_text.size(), dialect.null_text,
      text_of(dialect.more_null_texts), static_cast<int>(dialect.bytes), dialect.comment);
}

/// Of the file's first and last bytes.
std::uint32_t checksum_of(const std::string& path, std::uint64_t bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             std::fclose);
  if (file == nullptr) {
    refuse(path);
  }
  std::vector<unsigned char> sample(kSampleBytes);
  uLong sum = crc32(0, nullptr, 0);
  for (const std::uint64_t begin :
       std::array{std::uint64_t{0}, bytes - std::min<std::uint64_t>(bytes, kSampleBytes)}) {
    if (std::fseek(file.get(), static_cast<long>(begin), SEEK_SET) != 0) {
      refuse(path);
    }
    const std::size_t read = std::fread(sample.data(), 1, sample.size(), file.get());
    sum = crc32(sum, sample.data(), static_cast<uInt>(read));
  }
  return static_cast<std::uint32_t>(sum);
}

std::string text_of_file(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    refuse(path);
  }
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  return one_line(fmt::format("{}, {} bytes, changed at {}.{:09}, checksum {:08x}", path, bytes,
                              status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                              checksum_of(path, bytes)));
}

}  // namespace

std::vector<LoadCondition> conditions_of(const LoadOptions& options, const std::string& schema,
                                         bool makes_table) {
  std::vector<LoadCondition> conditions = {
      {"table", one_line(options.table)},
      {"the table is", makes_table ? "new" : "there"},
      {"schema", one_line(schema)},
      {"schema chosen", options.infer ? "by the input" : "by the command"},
      {"format", std::string(name_of(options.dialect.format))},
      {"dialect", one_line(text_of(options.dialect))},
      {"header", std::to_string(static_cast<int>(options.header))},
      {"columns", one_line(text_of(options.columns))},
      {"row id", one_line(options.row_id)},
      {"encoding", one_line(options.input.encoding)},
      {"skipped lines", std::to_string(options.input.skip_lines)},
      {"memory", std::to_string(options.memory_bytes)},
      {"reject file", one_line(options.faults.reject_file)},
      {"reject log", one_line(options.faults.reject_log)},
      {"number of files", std::to_string(options.files.size())},
  };
  for (std::size_t file = 0; file < options.files.size(); ++file) {
    conditions.push_back({fmt::format("file {}", file + 1), text_of_file(options.files[file])});
  }
  return conditions;
}

std::optional<std::string> difference(std::span<const LoadCondition> before,
                                      std::span<const LoadCondition> now) {
  const auto [was, is] = std::ranges::mismatch(before, now);
  if (was == before.end() && is == now.end()) {
    return std::nullopt;
  }
  if (was == before.end() || is == now.end() || was->name != is->name) {
    return "it had other conditions";
  }
  return fmt::format("{} was \"{}\", now it is \"{}\"", was->name, was->value, is->value);
}

}  // namespace palimpsest::load
