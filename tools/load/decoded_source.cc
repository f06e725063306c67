#include "tools/load/decoded_source.h"

#include <fmt/format.h>
#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "tools/load/peeked_source.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

struct Mark {
  std::string_view bytes;
  const char* encoding;
};

constexpr std::array kMarks{
    Mark{{"\xFF\xFE\0\0", 4}, "UTF-32"},
    Mark{{"\0\0\xFE\xFF", 4}, "UTF-32"},
    Mark{"\xFF\xFE", "UTF-16"},
    Mark{"\xFE\xFF", "UTF-16"},
};
constexpr std::size_t kMarkBytes = 4;

bool equal_in_any_case(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, [](char left, char right) {
    const auto upper = [](char letter) {
      return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    };
    return upper(left) == upper(right);
  });
}

bool is_utf8_name(std::string_view encoding) noexcept {
  return equal_in_any_case(encoding, "UTF-8") || equal_in_any_case(encoding, "UTF8") ||
         equal_in_any_case(encoding, kAnyBytes);
}

/// iconv's handle: what is an error of it is the largest number there is.
class Converter {
 public:
  explicit Converter(const std::string& from) : handle_(iconv_open("UTF-8", from.c_str())) {}
  ~Converter() {
    if (is_known()) {
      iconv_close(handle_);
    }
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  // NOLINTNEXTLINE(performance-no-int-to-ptr): that is how iconv says it
  [[nodiscard]] bool is_known() const noexcept { return handle_ != reinterpret_cast<iconv_t>(-1); }
  /// 0, or what errno says.
  int convert(char*& from, std::size_t& from_left, char*& to, std::size_t& to_left) {
    const std::size_t done =
        iconv(handle_, from_left == 0 ? nullptr : &from, &from_left, &to, &to_left);
    return done == static_cast<std::size_t>(-1) ? errno : 0;
  }

 private:
  iconv_t handle_;
};

class DecodedSource : public ByteSource {
 public:
  DecodedSource(std::unique_ptr<ByteSource> source, const std::string& encoding, std::string path)
      : source_(std::move(source)),
        converter_(encoding),
        encoding_(encoding),
        path_(std::move(path)),
        raw_(kPieceBytes),
        text_(4 * kPieceBytes) {}

  [[nodiscard]] bool is_compressed() const noexcept override { return source_->is_compressed(); }
  std::size_t read(std::span<char> into) override {
    std::size_t done = 0;
    while (done < into.size()) {
      if (begin_ == end_ && !convert()) {
        break;
      }
      const std::size_t some = std::min(end_ - begin_, into.size() - done);
      std::copy_n(text_.begin() + static_cast<std::ptrdiff_t>(begin_), some,
                  into.begin() + static_cast<std::ptrdiff_t>(done));
      begin_ += some;
      done += some;
    }
    return done;
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;

  /// The next piece; false at the end.
  bool convert() {
    while (!at_end_) {
      const std::span<char> room = std::span(raw_).subspan(left_);
      const std::size_t read = source_->read(room);
      at_end_ = read < room.size();
      char* from = raw_.data();
      std::size_t from_left = left_ + read;
      char* to = text_.data();
      std::size_t to_left = text_.size();
      const int error = converter_.convert(from, from_left, to, to_left);
      const auto used = static_cast<std::size_t>(from - raw_.data());
      if (error == EILSEQ || (error == EINVAL && at_end_)) {
        throw Error(ErrorCode::corruption,
                    fmt::format("{}: byte {} is no text in {}", path_, read_ + used, encoding_));
      }
      read_ += used;
      std::memmove(raw_.data(), from, from_left);
      left_ = from_left;
      begin_ = 0;
      end_ = text_.size() - to_left;
      if (end_ != 0) {
        return true;
      }
    }
    return false;
  }

  std::unique_ptr<ByteSource> source_;
  Converter converter_;
  std::string encoding_;
  std::string path_;
  std::vector<char> raw_;
  std::vector<char> text_;  ///< no byte becomes more than four
  std::size_t left_ = 0;    ///< bytes of raw_ that are the beginning of a character
  std::size_t begin_ = 0;   ///< of what is left of text_
  std::size_t end_ = 0;
  std::uint64_t read_ = 0;  ///< bytes that were converted
  bool at_end_ = false;
};

}  // namespace

void require_encoding(const std::string& encoding) {
  if (!is_utf8_name(encoding) && !Converter(encoding).is_known()) {
    throw UsageError(
        fmt::format("there is no encoding \"{}\"; iconv -l prints those that there are", encoding));
  }
}

std::unique_ptr<ByteSource> decoded(std::unique_ptr<ByteSource> source, const std::string& encoding,
                                    const std::string& path) {
  if (!encoding.empty()) {
    require_encoding(encoding);
    return is_utf8_name(encoding)
               ? std::move(source)
               : std::make_unique<DecodedSource>(std::move(source), encoding, path);
  }
  auto peeked = std::make_unique<PeekedSource>(std::move(source));
  const std::string_view begin = peeked->peek(kMarkBytes);
  for (const Mark& mark : kMarks) {
    if (begin.starts_with(mark.bytes)) {
      return std::make_unique<DecodedSource>(std::move(peeked), mark.encoding, path);
    }
  }
  return peeked;
}

}  // namespace palimpsest::load
