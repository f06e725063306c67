#include "tools/load/text_output.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "tools/load/system_error.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{128} << 10U;

struct Kind {
  std::string_view name;
  std::string_view ending;
  Compression compression;
};

constexpr std::array kKinds{Kind{"none", "", Compression::none},
                            Kind{"gzip", ".gz", Compression::gzip},
                            Kind{"zstd", ".zst", Compression::zstd}};

[[noreturn]] void refuse_memory() {
  throw Error(ErrorCode::out_of_memory, "no memory to compress");
}

class PlainOutput : public TextOutput {
 public:
  using TextOutput::TextOutput;
  PlainOutput(std::FILE* file, std::string name) : TextOutput(file, std::move(name)) {}
  void write(std::string_view text) override { put(text.data(), text.size()); }
};

class GzipOutput : public TextOutput {
 public:
  GzipOutput(std::FILE* file, std::string name)
      : TextOutput(file, std::move(name)), buffer_(kBufferBytes) {
    constexpr int kGzip = MAX_WBITS + 16;
    constexpr int kMemoryLevel = 8;
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      refuse_memory();
    }
  }
  ~GzipOutput() override { deflateEnd(&stream_); }

  void write(std::string_view text) override { pass(text, Z_NO_FLUSH); }
  void finish() override { pass({}, Z_FINISH); }

 private:
  void pass(std::string_view text, int flush) {
    // zlib reads unsigned char, and nothing is written there.
    stream_.next_in = static_cast<Bytef*>(static_cast<void*>(const_cast<char*>(text.data())));
    stream_.avail_in = static_cast<uInt>(text.size());
    int status = Z_OK;
    do {
      stream_.next_out = buffer_.data();
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      status = deflate(&stream_, flush);
      put(buffer_.data(), buffer_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0 || (flush == Z_FINISH && status == Z_OK));
  }

  z_stream stream_{};
  std::vector<Bytef> buffer_;
};

class ZstdOutput : public TextOutput {
 public:
  ZstdOutput(std::FILE* file, std::string name)
      : TextOutput(file, std::move(name)),
        stream_(ZSTD_createCStream(), ZSTD_freeCStream),
        buffer_(kBufferBytes) {
    if (stream_ == nullptr) {
      refuse_memory();
    }
    ZSTD_CCtx_setParameter(stream_.get(), ZSTD_c_checksumFlag, 1);
  }

  void write(std::string_view text) override { pass(text, ZSTD_e_continue); }
  void finish() override { pass({}, ZSTD_e_end); }

 private:
  void pass(std::string_view text, ZSTD_EndDirective directive) {
    ZSTD_inBuffer in{.src = text.data(), .size = text.size(), .pos = 0};
    for (bool is_done = false; !is_done;) {
      ZSTD_outBuffer out{.dst = buffer_.data(), .size = buffer_.size(), .pos = 0};
      const std::size_t left = ZSTD_compressStream2(stream_.get(), &out, &in, directive);
      if (ZSTD_isError(left) != 0) {
        refuse_memory();
      }
      put(buffer_.data(), out.pos);
      is_done = directive == ZSTD_e_end ? left == 0 : in.pos == in.size;
    }
  }

  std::unique_ptr<ZSTD_CStream, decltype(&ZSTD_freeCStream)> stream_;
  std::vector<char> buffer_;
};

bool ends_in_any_case(std::string_view text, std::string_view ending) noexcept {
  return text.size() >= ending.size() &&
         std::ranges::equal(text.substr(text.size() - ending.size()), ending, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) == b;
         });
}

}  // namespace

std::string_view name_of(Compression compression) noexcept {
  return std::ranges::find(kKinds, compression, &Kind::compression)->name;
}

std::optional<Compression> compression_of_name(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kKinds, name, &Kind::name);
  return found == kKinds.end() ? std::nullopt : std::optional(found->compression);
}

std::string_view ending_of(Compression compression) noexcept {
  return std::ranges::find(kKinds, compression, &Kind::compression)->ending;
}

Compression compression_of_path(const std::string& path) {
  for (const std::string_view ending : {".xz", ".bz2", ".zip"}) {
    if (ends_in_any_case(path, ending)) {
      throw UsageError(
          fmt::format("{}: {} is read, and not written: .gz and .zst are", path, ending.substr(1)));
    }
  }
  if (ends_in_any_case(path, ".gz")) {
    return Compression::gzip;
  }
  return ends_in_any_case(path, ".zst") ? Compression::zstd : Compression::none;
}

std::unique_ptr<TextOutput> TextOutput::make(std::FILE* file, std::string name,
                                             Compression compression) {
  switch (compression) {
    case Compression::gzip: return std::make_unique<GzipOutput>(file, std::move(name));
    case Compression::zstd: return std::make_unique<ZstdOutput>(file, std::move(name));
    case Compression::none: break;
  }
  return std::make_unique<PlainOutput>(file, std::move(name));
}

void TextOutput::put(const void* bytes, std::size_t size) {
  if (std::fwrite(bytes, 1, size, file_) != size) {
    refuse_to_write(name_, errno);
  }
}

}  // namespace palimpsest::load
