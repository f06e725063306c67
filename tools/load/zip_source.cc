#include "tools/load/zip_source.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

constexpr std::string_view kZipMagic = "PK\x03\x04";
constexpr std::string_view kEmptyZipMagic = "PK\x05\x06";

using Archive = std::unique_ptr<zip_t, void (*)(zip_t*)>;
using Member = std::unique_ptr<zip_file_t, int (*)(zip_file_t*)>;

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw Error(ErrorCode::corruption, fmt::format("{}: the zip archive is damaged: {}", path, why));
}

Archive open_archive(const std::string& path) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code), zip_discard);
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    refuse(path, why);
  }
  return archive;
}

bool counts(std::string_view name) noexcept {
  return !name.ends_with('/') && !name.starts_with("__MACOSX/") && !name.ends_with(".DS_Store");
}

/// The number of its one file.
zip_uint64_t find_member(zip_t& archive, const std::string& path) {
  std::vector<std::pair<zip_uint64_t, std::string>> members;
  for (zip_int64_t i = 0; i < zip_get_num_entries(&archive, 0); ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* const name = zip_get_name(&archive, index, ZIP_FL_ENC_RAW);
    if (name != nullptr && counts(name)) {
      members.emplace_back(index, name);
    }
  }
  const bool is_office = std::ranges::any_of(members, [](const auto& member) {
    return member.second == "[Content_Types].xml" || member.second == "content.xml";
  });
  if (is_office) {
    throw UsageError(
        fmt::format("{}: it is an office document (.xlsx, .ods): it is to be saved as "
                    "csv",
                    path));
  }
  if (members.size() != 1) {
    std::string names;
    constexpr std::size_t kShownMax = 5;
    for (std::size_t i = 0; i < std::min(members.size(), kShownMax); ++i) {
      names += (i == 0 ? ": " : ", ") + members[i].second;
    }
    throw UsageError(fmt::format(
        "{}: the zip archive has {} files{}{}: unzip -p FILE NAME | palimpsest load DB TABLE -",
        path, members.size(), names, members.size() > kShownMax ? ", ..." : ""));
  }
  return members.front().first;
}

class ZipSource : public ByteSource {
 public:
  ZipSource(std::string path, std::atomic<std::uint64_t>& taken)
      : path_(std::move(path)),
        taken_(taken),
        archive_(open_archive(path_)),
        member_(nullptr, zip_fclose) {
    const zip_uint64_t index = find_member(*archive_, path_);
    zip_stat_t stat;
    zip_stat_init(&stat);
    member_.reset(zip_fopen_index(archive_.get(), index, 0));
    if (zip_stat_index(archive_.get(), index, 0, &stat) != 0 || member_ == nullptr) {
      refuse(path_, zip_strerror(archive_.get()));
    }
    compressed_bytes_ = stat.comp_size;
    bytes_ = std::max<std::uint64_t>(stat.size, 1);
  }

  [[nodiscard]] bool is_compressed() const noexcept override { return true; }
  std::size_t read(std::span<char> into) override {
    std::size_t done = 0;
    while (done < into.size()) {
      const zip_int64_t bytes = zip_fread(member_.get(), into.data() + done, into.size() - done);
      if (bytes < 0) {
        refuse(path_, zip_error_strerror(zip_file_get_error(member_.get())));
      }
      if (bytes == 0) {
        break;
      }
      done += static_cast<std::size_t>(bytes);
    }
    read_bytes_ += done;
    const auto taken = static_cast<std::uint64_t>(
        static_cast<double>(compressed_bytes_) *
        std::min(1.0, static_cast<double>(read_bytes_) / static_cast<double>(bytes_)));
    taken_ += taken - std::exchange(counted_, taken);
    return done;
  }

 private:
  std::string path_;
  std::atomic<std::uint64_t>& taken_;
  Archive archive_;
  Member member_;
  std::uint64_t compressed_bytes_ = 0;
  std::uint64_t bytes_ = 1;  ///< decompressed
  std::uint64_t read_bytes_ = 0;
  std::uint64_t counted_ = 0;  ///< in taken_
};

}  // namespace

bool is_zip(std::string_view magic) noexcept {
  return magic.starts_with(kZipMagic) || magic.starts_with(kEmptyZipMagic);
}

std::unique_ptr<ByteSource> open_zip(const std::string& path, std::atomic<std::uint64_t>& taken) {
  if (!can_be_read_again(path)) {
    throw UsageError(fmt::format("{}: a zip archive is read from a file, not from a pipe", path));
  }
  return std::make_unique<ZipSource>(path, taken);
}

}  // namespace palimpsest::load
