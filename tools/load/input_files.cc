#include "tools/load/input_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/load/decoded_source.h"
#include "tools/load/json_source.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {

InputFiles::InputFiles(std::vector<std::string> paths, InputOptions options,
                       std::atomic<std::uint64_t>& taken)
    : paths_(std::move(paths)), options_(std::move(options)), taken_(taken) {}

std::string_view InputFiles::peek(std::size_t bytes) {
  if (first_ == nullptr) {
    first_ = open_text(0, taken_);
  }
  return first_->peek(bytes);
}

std::unique_ptr<PeekedSource> InputFiles::open_text(std::size_t file,
                                                    std::atomic<std::uint64_t>& taken) const {
  const std::string& path = paths_[file];
  auto source = std::make_unique<PeekedSource>(
      decoded(ByteSource::open(path, taken), options_.encoding, path));
  if (!source->skip_lines(options_.skip_lines)) {
    throw UsageError(fmt::format("{}: it has {} lines, --skip is {}", path, source->skipped().lines,
                                 options_.skip_lines));
  }
  return source;
}

std::unique_ptr<ByteSource> InputFiles::records_of(std::unique_ptr<PeekedSource> source,
                                                   std::size_t file) const {
  if (!is_json_) {
    return source;
  }
  return std::make_unique<JsonSource>(std::move(source), paths_[file]);
}

std::unique_ptr<ByteSource> InputFiles::open(std::size_t file) {
  if (file == 0 && first_ != nullptr) {
    return records_of(std::move(first_), 0);
  }
  return open(file, taken_);
}

std::unique_ptr<ByteSource> InputFiles::open(std::size_t file,
                                             std::atomic<std::uint64_t>& taken) const {
  return records_of(open_text(file, taken), file);
}

bool InputFiles::can_be_read_again() const {
  return std::ranges::all_of(paths_,
                             [](const std::string& path) { return load::can_be_read_again(path); });
}

}  // namespace palimpsest::load
