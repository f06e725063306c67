#include "tools/load/compressed_source.h"

#include <bzlib.h>
#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

namespace palimpsest::load {
namespace {

constexpr std::string_view kGzipMagic = "\x1F\x8B";
constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";
constexpr std::string_view kXzMagic{
    "\xFD"
    "7zXZ\0",
    6};
constexpr std::string_view kBzip2Magic = "BZh";
constexpr std::size_t kMagicBytes = 10;

/// Whether a text begins as bzip2 data does: BZh, a digit, and the number of a block, or of the
/// end.
bool is_bzip2(std::string_view magic) noexcept {
  return magic.size() >= kMagicBytes && magic.starts_with(kBzip2Magic) && magic[3] >= '1' &&
         magic[3] <= '9' &&
         (magic.substr(4, 6) == "1AY&SY" || magic.substr(4, 6) == "\x17\x72\x45\x38\x50\x90");
}

/// Whether it begins as zstd data does: with a frame, or one that is skipped.
bool is_zstd(std::string_view magic) noexcept {
  const bool is_skippable =
      magic.size() >= 4 && (magic[0] & '\xF0') == '\x50' && magic.substr(1, 3) == "\x2A\x4D\x18";
  return magic.starts_with(kZstdMagic) || is_skippable;
}

/// Compressed bytes of a file, a piece at a time.
class CompressedInput {
 public:
  explicit CompressedInput(std::unique_ptr<InputFile> file)
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

  std::unique_ptr<InputFile> file_;
  std::vector<char> buffer_;
  std::span<char> rest_{};
  std::uint64_t used_bytes_ = 0;
};

/// Compressed texts that follow each other in a file, as gzip calls them members and bzip2 streams.
class MemberSource : public ByteSource {
 public:
  [[nodiscard]] bool is_compressed() const noexcept override { return true; }
  std::size_t read(std::span<char> into) override {
    std::size_t done = 0;
    while (done < into.size()) {
      const std::span<char> compressed = input_.rest();
      if (compressed.empty()) {
        if (in_member_) {
          input_.refuse(fmt::format("the {} data ends too early", format_));
        }
        break;
      }
      if (!in_member_) {
        begin_member();
        in_member_ = true;
      }
      // The libraries count in 32 bits.
      const std::size_t room = std::min<std::size_t>(into.size() - done, std::size_t{1} << 30U);
      const Step step = decompress(into.subspan(done, room), compressed);
      if (step.is_damaged) {
        input_.refuse(fmt::format("the {} data is damaged", format_), step.used);
      }
      in_member_ = !step.at_end;
      input_.use(step.used);
      done += step.made;
    }
    return done;
  }

 protected:
  struct Step {
    std::size_t used = 0;  ///< compressed bytes
    std::size_t made = 0;
    bool at_end = false;  ///< of the member
    bool is_damaged = false;
  };

  MemberSource(std::unique_ptr<InputFile> file, std::string_view format)
      : input_(std::move(file)), format_(format) {}

  virtual void begin_member() = 0;
  virtual Step decompress(std::span<char> into, std::span<char> compressed) = 0;

 private:
  CompressedInput input_;
  const std::string_view format_;
  bool in_member_ = false;
};

class GzipSource final : public MemberSource {
 public:
  explicit GzipSource(std::unique_ptr<InputFile> file) : MemberSource(std::move(file), "gzip") {
    constexpr int kGzipOnly = MAX_WBITS + 16;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) {
      throw Error(ErrorCode::out_of_memory, "no memory to decompress");
    }
  }
  ~GzipSource() override { inflateEnd(&stream_); }

 private:
  void begin_member() override { static_cast<void>(inflateReset(&stream_)); }
  Step decompress(std::span<char> into, std::span<char> compressed) override {
    // zlib reads bytes as unsigned char.
    stream_.next_in = static_cast<Bytef*>(static_cast<void*>(compressed.data()));
    stream_.avail_in = static_cast<uInt>(compressed.size());
    stream_.next_out = static_cast<Bytef*>(static_cast<void*>(into.data()));
    stream_.avail_out = static_cast<uInt>(into.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    return {.used = compressed.size() - stream_.avail_in,
            .made = into.size() - stream_.avail_out,
            .at_end = status == Z_STREAM_END,
            .is_damaged = status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR};
  }

  z_stream stream_{};
};

/// Frames of zstd, one after the other.
class ZstdSource : public ByteSource {
 public:
  explicit ZstdSource(std::unique_ptr<InputFile> file)
      : input_(std::move(file)), stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
    if (stream_ == nullptr) {
      throw Error(ErrorCode::out_of_memory, "no memory to decompress");
    }
    // A frame may look back further than the library allows by itself (zstd --long=31).
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kWindowLogMax);
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
  static constexpr int kWindowLogMax = 31;

  CompressedInput input_;
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  bool in_frame_ = false;
};

/// Streams of xz, one after the other.
class XzSource : public ByteSource {
 public:
  explicit XzSource(std::unique_ptr<InputFile> file) : input_(std::move(file)) {
    constexpr std::uint64_t kAnyMemory = ~std::uint64_t{0};
    if (lzma_stream_decoder(&stream_, kAnyMemory, LZMA_CONCATENATED) != LZMA_OK) {
      throw Error(ErrorCode::out_of_memory, "no memory to decompress");
    }
  }
  ~XzSource() override { lzma_end(&stream_); }

  [[nodiscard]] bool is_compressed() const noexcept override { return true; }
  std::size_t read(std::span<char> into) override {
    stream_.next_out = bytes_of(into);
    stream_.avail_out = into.size();
    while (stream_.avail_out != 0 && !at_end_) {
      const std::span<char> compressed = input_.rest();
      stream_.next_in = bytes_of(compressed);
      stream_.avail_in = compressed.size();
      const lzma_ret status = lzma_code(&stream_, compressed.empty() ? LZMA_FINISH : LZMA_RUN);
      const std::size_t used = compressed.size() - stream_.avail_in;
      if (status == LZMA_BUF_ERROR || (status == LZMA_OK && compressed.empty())) {
        input_.refuse("the xz data ends too early");
      }
      if (status != LZMA_OK && status != LZMA_STREAM_END) {
        input_.refuse("the xz data is damaged", used);
      }
      at_end_ = status == LZMA_STREAM_END;
      input_.use(used);
    }
    return into.size() - stream_.avail_out;
  }

 private:
  /// The library reads and writes unsigned char.
  static std::uint8_t* bytes_of(std::span<char> bytes) noexcept {
    return static_cast<std::uint8_t*>(static_cast<void*>(bytes.data()));
  }

  CompressedInput input_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool at_end_ = false;
};

class Bzip2Source final : public MemberSource {
 public:
  explicit Bzip2Source(std::unique_ptr<InputFile> file) : MemberSource(std::move(file), "bzip2") {}
  ~Bzip2Source() override { BZ2_bzDecompressEnd(&stream_); }

 private:
  void begin_member() override {
    BZ2_bzDecompressEnd(&stream_);
    stream_ = bz_stream{};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) {
      throw Error(ErrorCode::out_of_memory, "no memory to decompress");
    }
  }
  Step decompress(std::span<char> into, std::span<char> compressed) override {
    stream_.next_in = compressed.data();
    stream_.avail_in = static_cast<unsigned>(compressed.size());
    stream_.next_out = into.data();
    stream_.avail_out = static_cast<unsigned>(into.size());
    const int status = BZ2_bzDecompress(&stream_);
    return {.used = compressed.size() - stream_.avail_in,
            .made = into.size() - stream_.avail_out,
            .at_end = status == BZ_STREAM_END,
            .is_damaged = status != BZ_OK && status != BZ_STREAM_END};
  }

  bz_stream stream_{};
};

}  // namespace

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<InputFile>& file) {
  const std::string_view magic = file->look_ahead(kMagicBytes);
  if (magic.starts_with(kGzipMagic)) {
    return std::make_unique<GzipSource>(std::move(file));
  }
  if (is_zstd(magic)) {
    return std::make_unique<ZstdSource>(std::move(file));
  }
  if (magic.starts_with(kXzMagic)) {
    return std::make_unique<XzSource>(std::move(file));
  }
  if (is_bzip2(magic)) {
    return std::make_unique<Bzip2Source>(std::move(file));
  }
  return nullptr;
}

}  // namespace palimpsest::load
