#include "tools/load/peeked_source.h"

#include <algorithm>

namespace palimpsest::load {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;

}  // namespace

std::string_view PeekedSource::peek(std::size_t bytes) {
  const std::size_t there = ahead_.size() - begin_;
  if (there < bytes) {
    ahead_.erase(0, begin_);
    begin_ = 0;
    ahead_.resize(bytes);
    ahead_.resize(there + source_->read(std::span(ahead_).subspan(there)));
  }
  return std::string_view(ahead_).substr(begin_, bytes);
}

bool PeekedSource::skip_lines(std::uint64_t lines) {
  if (lines == 0) {
    return true;
  }
  const std::string_view begin = peek(kPieceBytes);
  const bool has_newlines = begin.find('\n') != std::string_view::npos;
  const char line_end = !has_newlines && begin.find('\r') != std::string_view::npos ? '\r' : '\n';
  while (skipped_.lines < lines) {
    const std::string_view piece = peek(kPieceBytes);
    if (piece.empty()) {
      return false;
    }
    const std::size_t end = piece.find(line_end);
    const std::size_t bytes = end == std::string_view::npos ? piece.size() : end + 1;
    skipped_.lines += end == std::string_view::npos ? 0 : 1;
    skipped_.bytes += bytes;
    begin_ += bytes;
  }
  return true;
}

std::size_t PeekedSource::read(std::span<char> into) {
  const std::size_t known = std::min(into.size(), ahead_.size() - begin_);
  std::copy_n(ahead_.begin() + static_cast<std::ptrdiff_t>(begin_), known, into.begin());
  begin_ += known;
  if (begin_ == ahead_.size()) {
    ahead_.clear();
    begin_ = 0;
  }
  return known == into.size() ? known : known + source_->read(into.subspan(known));
}

void PeekedSource::skip(std::uint64_t bytes) {
  const std::uint64_t known = std::min<std::uint64_t>(bytes, ahead_.size() - begin_);
  begin_ += known;
  source_->skip(bytes - known);
}

}  // namespace palimpsest::load
