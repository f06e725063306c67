#include "tools/load/resume_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "palimpsest/error.h"

namespace palimpsest::load {
namespace {

constexpr std::string_view kFirstLine = "palimpsest load 1";

std::uint32_t crc_of(std::string_view text) noexcept {
  return static_cast<std::uint32_t>(
      crc32_z(0, static_cast<const Bytef*>(static_cast<const void*>(text.data())), text.size()));
}

// Writing

[[noreturn]] void refuse_write(const std::filesystem::path& path, int error) {
  throw Error(error == ENOSPC ? ErrorCode::no_space : ErrorCode::io_error,
              fmt::format("{}: it cannot be written: {}", path.string(),
                          std::generic_category().message(error)));
}

/// A file or a directory, for as long as it is written or synced.
class Opened {
 public:
  Opened(const std::filesystem::path& path, int flags)
      : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    if (descriptor_ < 0) {
      refuse_write(path_, errno);
    }
  }
  ~Opened() { ::close(descriptor_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t bytes = ::write(descriptor_, text.data(), text.size());
      if (bytes < 0 && errno != EINTR) {
        refuse_write(path_, errno);
      }
      text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    }
  }
  void sync() {
    if (::fsync(descriptor_) != 0) {
      refuse_write(path_, errno);
    }
  }

 private:
  const std::filesystem::path& path_;
  int descriptor_;
};

void sync_directory(const std::filesystem::path& directory) {
  Opened(directory, O_RDONLY | O_DIRECTORY).sync();
}

/// False if it was not there.
bool remove_file(const std::filesystem::path& path) {
  std::error_code error;
  const bool was_there = std::filesystem::remove(path, error);
  if (error) {
    refuse_write(path, error.value());
  }
  return was_there;
}

/// Line ends and all, on one line.
std::string hex_of(std::string_view text) {
  std::string hex;
  for (const char byte : text) {
    hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return hex;
}

std::string text_of_hex(std::string_view hex) {
  std::string text;
  for (; hex.size() >= 2; hex.remove_prefix(2)) {
    unsigned byte = 0;
    std::from_chars(hex.data(), hex.data() + 2, byte, 16);
    text += static_cast<char>(byte);
  }
  return text;
}

std::string text_of(const SavedLoad& saved) {
  std::string text = fmt::format("{}\n", kFirstLine);
  for (const LoadCondition& condition : saved.conditions) {
    text += fmt::format("condition {}\t{}\n", condition.name, condition.value);
  }
  text += fmt::format("position {} {} {}\n", saved.position.file, saved.position.byte,
                      saved.position.line);
  text += fmt::format("counts {} {} {}\n", saved.records, saved.skipped_lines, saved.rows);
  text += "faults";
  for (const std::uint64_t count : saved.faults.by_kind) {
    text += fmt::format(" {}", count);
  }
  text += fmt::format("\nrejected {} {}\n", saved.faults.file_bytes, saved.faults.log_bytes);
  for (const SavedRejected& rejected : saved.faults.below) {
    text += fmt::format("below {} {}\n", rejected.bytes, hex_of(rejected.header));
  }
  text += fmt::format("runs {}\n", saved.runs);
  return text + fmt::format("checksum {:08x}\n", crc_of(text));
}

// Reading

/// The lines of a manifest, one after the other.
class ManifestLines {
 public:
  ManifestLines(const std::filesystem::path& path, std::string_view text)
      : path_(path), rest_(text) {}

  [[noreturn]] void refuse(std::string_view why) const {
    throw Error(ErrorCode::corruption,
                fmt::format("{}: {}; a load without --resume removes it", path_.string(), why));
  }
  /// The next line, which begins with the word: what stands behind it. Nothing if it does not.
  std::optional<std::string_view> try_take(std::string_view word) {
    if (!rest_.starts_with(word)) {
      return std::nullopt;
    }
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return line.substr(std::min(line.size(), word.size() + 1));
  }
  std::string_view take(std::string_view word) {
    const auto found = try_take(word);
    if (!found) {
      refuse(fmt::format("a line with {} is missing", word));
    }
    return *found;
  }
  void take_numbers(std::string_view word, std::span<std::uint64_t* const> numbers) {
    std::string_view text = take(word);
    for (std::uint64_t* const number : numbers) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
      if (error != std::errc()) {
        refuse(fmt::format("there is no number in the line with {}", word));
      }
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
      text.remove_prefix(text.starts_with(' ') ? 1 : 0);
    }
  }
  /// Refuses a manifest that was not written as it is.
  void check() {
    const std::size_t sum = rest_.rfind("checksum ");
    if (sum == std::string_view::npos ||
        rest_.substr(sum) != fmt::format("checksum {:08x}\n", crc_of(rest_.substr(0, sum)))) {
      refuse("the manifest is damaged, its checksum is another one");
    }
    if (rest_.substr(0, rest_.find('\n')) != kFirstLine) {
      refuse("the manifest is of another version");
    }
    static_cast<void>(take(kFirstLine));
  }

 private:
  const std::filesystem::path& path_;
  std::string_view rest_;
};

SavedLoad parse(ManifestLines lines) {
  SavedLoad saved;
  lines.check();
  while (const auto condition = lines.try_take("condition")) {
    const std::size_t tab = condition->find('\t');
    if (tab == std::string_view::npos) {
      lines.refuse("a condition has no value");
    }
    saved.conditions.push_back({.name = std::string(condition->substr(0, tab)),
                                .value = std::string(condition->substr(tab + 1))});
  }
  const std::array position{&saved.position.file, &saved.position.byte, &saved.position.line};
  lines.take_numbers("position", position);
  const std::array counts{&saved.records, &saved.skipped_lines, &saved.rows};
  lines.take_numbers("counts", counts);
  std::array<std::uint64_t*, kFaultKinds.size()> faults{};
  for (std::size_t kind = 0; kind < faults.size(); ++kind) {
    faults[kind] = &saved.faults.by_kind[kind];
  }
  lines.take_numbers("faults", faults);
  const std::array rejected{&saved.faults.file_bytes, &saved.faults.log_bytes};
  lines.take_numbers("rejected", rejected);
  while (const auto below = lines.try_take("below")) {
    const std::size_t space = std::min(below->find(' '), below->size());
    SavedRejected file{.header = text_of_hex(below->substr(std::min(space + 1, below->size())))};
    const auto [end, error] = std::from_chars(below->data(), below->data() + space, file.bytes);
    if (error != std::errc() || end != below->data() + space) {
      lines.refuse("there is no number in the line with below");
    }
    saved.faults.below.push_back(std::move(file));
  }
  saved.runs = lines.take("runs");
  return saved;
}

}  // namespace

ResumeFiles::ResumeFiles(std::filesystem::path directory, const std::string& table)
    : directory_(std::move(directory)),
      runs_name_(fmt::format("load-{:08x}.runs", crc_of(table))),
      manifest_name_(fmt::format("load-{:08x}.manifest", crc_of(table))) {}

std::filesystem::path ResumeFiles::new_manifest() const {
  return directory_ / (manifest_name_ + ".new");
}

std::optional<SavedLoad> ResumeFiles::find() const {
  const std::filesystem::path path = manifest();
  std::error_code failed;
  const bool is_there = std::filesystem::exists(path, failed);
  if (failed) {
    throw Error(ErrorCode::io_error,
                fmt::format("\"{}\" cannot be looked for: {}", path.string(), failed.message()));
  }
  if (!is_there) {
    return std::nullopt;
  }
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return parse(ManifestLines(path, text.view()));
}

void ResumeFiles::save(const SavedLoad& saved) const {
  const std::filesystem::path path = new_manifest();
  {
    Opened file(path, O_WRONLY | O_CREAT | O_TRUNC);
    file.write(text_of(saved));
    file.sync();
  }
  std::error_code error;
  std::filesystem::rename(path, manifest(), error);
  if (error) {
    refuse_write(path, error.value());
  }
  sync_directory(directory_);
}

void ResumeFiles::remove() const {
  if (remove_file(manifest())) {
    sync_directory(directory_);
  }
  static_cast<void>(remove_file(new_manifest()));
  static_cast<void>(remove_file(directory_ / runs_name_));
}

}  // namespace palimpsest::load
