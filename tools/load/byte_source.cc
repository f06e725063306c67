#include "tools/load/byte_source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "tools/load/compressed_source.h"
#include "tools/load/input_file.h"
#include "tools/load/usage_error.h"
#include "tools/load/zip_source.h"

namespace palimpsest::load {
namespace {

constexpr std::size_t kMagicBytes = 16;

/// What people have besides text, by its first bytes; said, not read.
struct OtherKind {
  std::string_view magic;
  std::string_view advice;
};

constexpr std::array kOtherKinds{
    OtherKind{"\x04\x22\x4D\x18",
              "it is compressed by lz4: lz4 -dc FILE | palimpsest load DB TABLE -"},
    OtherKind{"\x1F\x9D", "it is compressed by compress: zcat FILE | palimpsest load DB TABLE -"},
    OtherKind{"7z\xBC\xAF\x27\x1C", "it is a 7z archive: its files are to be unpacked first"},
    OtherKind{"PAR1", "it is a Parquet file, which is not read: as csv or JSON lines it is"},
    OtherKind{"ARROW1", "it is an Arrow file, which is not read: as csv or JSON lines it is"},
    OtherKind{"\xD0\xCF\x11\xE0", "it is an old Office file (.xls): it is to be saved as csv"},
    OtherKind{"SQLite format 3",
              "it is an SQLite database: sqlite3 -csv FILE 'select ...' prints csv"},
    OtherKind{{"\x00\x05\x16\x07", 4},
              "it is what macOS keeps beside a file of that name without ._, and has no records"},
    OtherKind{"\x89HDF\r\n", "it is an HDF5 file, which is not read"},
};

/// Nothing of standard input, and of what is not there.
std::optional<struct stat> status_of(const std::string& path) {
  struct stat status{};
  if (path == kStandardInput || ::stat(path.c_str(), &status) != 0) {
    return std::nullopt;
  }
  return status;
}

class PlainSource : public ByteSource {
 public:
  explicit PlainSource(std::unique_ptr<InputFile> file) : file_(std::move(file)) {}
  std::size_t read(std::span<char> into) override { return file_->read(into); }
  void skip(std::uint64_t bytes) override {
    if (file_bytes(file_->path())) {
      file_->skip(bytes);
    } else {
      ByteSource::skip(bytes);
    }
  }

 private:
  std::unique_ptr<InputFile> file_;
};

/// Of a file that is not what its name says, records would be wrong, or none at all.
void require_no_compressed_name(const std::string& path) {
  for (const auto& [ending, kind] :
       {std::pair{".gz", "gzip"}, std::pair{".zst", "zstd"}, std::pair{".xz", "xz"},
        std::pair{".bz2", "bzip2"}, std::pair{".zip", "zip"}}) {
    if (path.ends_with(ending)) {
      throw Error(ErrorCode::corruption,
                  fmt::format("{}: it does not begin as {} data does: it is damaged, or its name "
                              "is not that of what it is",
                              path, kind));
    }
  }
}

void require_no_other_kind(const std::string& path, std::string_view magic) {
  for (const OtherKind& kind : kOtherKinds) {
    if (magic.starts_with(kind.magic)) {
      throw UsageError(fmt::format("{}: {}", path, kind.advice));
    }
  }
}

}  // namespace

void ByteSource::skip(std::uint64_t bytes) {
  std::vector<char> piece(std::size_t{64} << 10U);
  while (bytes != 0) {
    const std::size_t wanted = std::min<std::uint64_t>(bytes, piece.size());
    if (read(std::span(piece).first(wanted)) < wanted) {
      return;
    }
    bytes -= wanted;
  }
}

std::unique_ptr<ByteSource> ByteSource::open(const std::string& path,
                                             std::atomic<std::uint64_t>& taken) {
  auto file = std::make_unique<InputFile>(path, taken);
  if (auto source = decompressed(file)) {
    return source;
  }
  const std::string_view magic = file->look_ahead(kMagicBytes);
  if (is_zip(magic)) {
    taken -= magic.size();  // it is opened once more
    return open_zip(path, taken);
  }
  require_no_compressed_name(path);
  require_no_other_kind(path, magic);
  return std::make_unique<PlainSource>(std::move(file));
}

std::optional<std::uint64_t> file_bytes(const std::string& path) {
  const auto status = status_of(path);
  if (!status || !S_ISREG(status->st_mode)) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(status->st_size);
}

void check_is_there(const std::string& path) {
  if (path != kStandardInput && !status_of(path)) {
    refuse_file(path, "it cannot be opened", errno);
  }
}

bool can_be_read_again(const std::string& path) {
  const auto status = status_of(path);
  return status && (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode));
}

}  // namespace palimpsest::load
