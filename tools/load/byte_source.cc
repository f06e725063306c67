#include "tools/load/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "tools/load/interrupt.h"
#include "tools/load/system_error.h"

namespace palimpsest::load {
namespace {

constexpr int kWaitMilliseconds = 200;
constexpr std::string_view kNotOpened = "it cannot be opened";
constexpr std::string_view kGzipMagic = "\x1F\x8B";
constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";
constexpr std::size_t kMagicBytes = 4;

[[noreturn]] void refuse(const std::string& path, std::string_view what, int error) {
  throw Error(code_of_system_error(error),
              fmt::format("{}: {}: {}", path, what, std::generic_category().message(error)));
}

/// A file that is read from its beginning to its end, once.
class File {
 public:
  File(const std::string& path, std::atomic<std::uint64_t>& taken) : path_(path), taken_(taken) {
    if (path != kStandardInput) {
      descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (descriptor_ < 0) {
        refuse(path, kNotOpened, errno);
      }
    }
  }
  ~File() {
    if (descriptor_ > STDIN_FILENO) {
      ::close(descriptor_);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// As ByteSource::read().
  std::size_t read(std::span<char> into) {
    std::size_t done = std::min(into.size(), ahead_.size());
    std::copy_n(ahead_.begin(), done, into.begin());
    ahead_.erase(0, done);
    while (done < into.size()) {
      const std::size_t some = read_some(into.subspan(done));
      if (some == 0) {
        break;
      }
      done += some;
    }
    return done;
  }
  /// Of a regular file, as ByteSource::skip().
  void skip(std::uint64_t bytes) {
    const std::size_t known = std::min<std::uint64_t>(bytes, ahead_.size());
    ahead_.erase(0, known);
    if (::lseek(descriptor_, static_cast<off_t>(bytes - known), SEEK_CUR) < 0) {
      refuse(path_, "it cannot be read from its middle", errno);
    }
    taken_ += bytes - known;
  }
  /// The first bytes, which read() returns as well.
  std::string_view look_ahead(std::size_t bytes) {
    std::string first(bytes, '\0');
    first.resize(read(first));
    ahead_ = std::move(first);
    return ahead_;
  }

 private:
  std::size_t read_some(std::span<char> into) {
    for (;;) {
      stop_if_interrupted();
      pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
      const int ready = ::poll(&waiting, 1, kWaitMilliseconds);
      if (ready == 0 || (ready < 0 && errno == EINTR)) {
        continue;
      }
      const ssize_t bytes = ::read(descriptor_, into.data(), into.size());
      if (bytes >= 0) {
        taken_ += static_cast<std::uint64_t>(bytes);
        return static_cast<std::size_t>(bytes);
      }
      if (errno != EINTR && errno != EAGAIN) {
        refuse(path_, "it cannot be read", errno);
      }
    }
  }

  std::string path_;
  std::atomic<std::uint64_t>& taken_;
  int descriptor_ = STDIN_FILENO;
  std::string ahead_{};
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
  explicit PlainSource(std::unique_ptr<File> file) : file_(std::move(file)) {}
  std::size_t read(std::span<char> into) override { return file_->read(into); }
  void skip(std::uint64_t bytes) override {
    if (file_bytes(file_->path())) {
      file_->skip(bytes);
    } else {
      ByteSource::skip(bytes);
    }
  }

 private:
  std::unique_ptr<File> file_;
};

/// Compressed bytes of a file, a piece at a time.
class CompressedInput {
 public:
  explicit CompressedInput(std::unique_ptr<File> file)
      : file_(std::move(file)), buffer_(kBufferBytes) {}

  /// What has not been used yet; empty at the end of the file.
  std::span<char> rest() {
    if (rest_.empty()) {
      rest_ = std::span(buffer_).first(file_->read(buffer_));
    }
    return rest_;
  }
  void use(std::size_t bytes) {
    rest_ = rest_.subspan(bytes);
    used_bytes_ += bytes;
  }
  /// Noticed so many bytes behind what has been used.
  [[noreturn]] void refuse(std::string_view why, std::size_t behind = 0) const {
    throw Error(ErrorCode::corruption, fmt::format("{}: {} (noticed at byte {} of it)",
                                                   file_->path(), why, used_bytes_ + behind));
  }

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{256} << 10U;

  std::unique_ptr<File> file_;
  std::vector<char> buffer_;
  std::span<char> rest_{};
  std::uint64_t used_bytes_ = 0;
};

/// Members of gzip, one after the other.
class GzipSource : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<File> file) : input_(std::move(file)) {
    constexpr int kGzipOnly = MAX_WBITS + 16;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) {
      throw Error(ErrorCode::out_of_memory, "no memory to decompress");
    }
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  [[nodiscard]] bool is_compressed() const noexcept override { return true; }
  std::size_t read(std::span<char> into) override {
    std::size_t done = 0;
    while (done < into.size()) {
      const std::span<char> compressed = input_.rest();
      if (compressed.empty()) {
        if (in_member_) {
          input_.refuse("the gzip data ends too early");
        }
        break;
      }
      begin_member();
      done += inflate_into(into.subspan(done), compressed);
    }
    return done;
  }

 private:
  void begin_member() {
    if (!in_member_) {
      in_member_ = inflateReset(&stream_) == Z_OK;
    }
  }
  std::size_t inflate_into(std::span<char> into, std::span<char> compressed) {
    // zlib counts in 32 bits, and reads bytes as unsigned char.
    const std::size_t room = std::min<std::size_t>(into.size(), std::size_t{1} << 30U);
    stream_.next_in = static_cast<Bytef*>(static_cast<void*>(compressed.data()));
    stream_.avail_in = static_cast<uInt>(compressed.size());
    stream_.next_out = static_cast<Bytef*>(static_cast<void*>(into.data()));
    stream_.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      input_.refuse("the gzip data is damaged", compressed.size() - stream_.avail_in);
    }
    in_member_ = status != Z_STREAM_END;
    input_.use(compressed.size() - stream_.avail_in);
    return room - stream_.avail_out;
  }

  CompressedInput input_;
  z_stream stream_{};
  bool in_member_ = false;
};

/// Frames of zstd, one after the other.
class ZstdSource : public ByteSource {
 public:
  explicit ZstdSource(std::unique_ptr<File> file)
      : input_(std::move(file)), stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
    if (stream_ == nullptr) {
      throw Error(ErrorCode::out_of_memory, "no memory to decompress");
    }
  }

  [[nodiscard]] bool is_compressed() const noexcept override { return true; }
  std::size_t read(std::span<char> into) override {
    ZSTD_outBuffer out{.dst = into.data(), .size = into.size(), .pos = 0};
    while (out.pos < out.size) {
      const std::span<char> compressed = input_.rest();
      const std::size_t before = out.pos;
      ZSTD_inBuffer in{.src = compressed.data(), .size = compressed.size(), .pos = 0};
      if (compressed.empty() && !in_frame_) {
        break;
      }
      const std::size_t left = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(left) != 0) {
        input_.refuse(fmt::format("the zstd data is damaged: {}", ZSTD_getErrorName(left)), in.pos);
      }
      in_frame_ = left != 0;
      if (compressed.empty() && in_frame_ && out.pos == before) {
        input_.refuse("the zstd data ends too early");
      }
      input_.use(in.pos);
    }
    return out.pos;
  }

 private:
  CompressedInput input_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  bool in_frame_ = false;
};

/// Of a file that is not what its name says, records would be wrong, or none at all.
void require_no_compressed_name(const std::string& path) {
  for (const auto& [ending, kind] : {std::pair{".gz", "gzip"}, std::pair{".zst", "zstd"}}) {
    if (path.ends_with(ending)) {
      throw Error(ErrorCode::corruption,
                  fmt::format("{}: it does not begin as {} data does: it is damaged, or its name "
                              "is not that of what it is",
                              path, kind));
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
  auto file = std::make_unique<File>(path, taken);
  const std::string_view magic = file->look_ahead(kMagicBytes);
  if (magic.starts_with(kGzipMagic)) {
    return std::make_unique<GzipSource>(std::move(file));
  }
  if (magic.starts_with(kZstdMagic)) {
    return std::make_unique<ZstdSource>(std::move(file));
  }
  require_no_compressed_name(path);
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
    refuse(path, kNotOpened, errno);
  }
}

bool can_be_read_again(const std::string& path) {
  const auto status = status_of(path);
  return status && (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode));
}

}  // namespace palimpsest::load
