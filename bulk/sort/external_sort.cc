#include "bulk/sort/external_sort.h"

#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/error.h"

namespace palimpsest::bulk {

ExternalSort::ExternalSort(io::Device& device, const SortOptions& options)
    : shape_(SortShape::of(options.memory_bytes, options.threads)) {
  memory_.emplace(shape_.memory_bytes);
  open_file(device, options);
  maker_.emplace(shape_, *memory_, *file_,
                 options.saved != nullptr ? std::span<const Run>(options.saved->runs)
                                          : std::span<const Run>());
}

void ExternalSort::open_file(io::Device& device, const SortOptions& options) {
  if (options.kept_name.empty()) {
    file_.emplace(device, options.name_prefix);
    return;
  }
  if (options.saved == nullptr) {
    file_.emplace(device, options.kept_name, 0);
    return;
  }
  if (options.saved->block_bytes != shape_.block_bytes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: its runs have blocks of {} bytes, this sort has blocks of {}",
                            options.kept_name, options.saved->block_bytes, shape_.block_bytes));
  }
  file_.emplace(device, options.kept_name, options.saved->file_bytes);
  record_bytes_ = options.saved->record_bytes;
  for (const Run& run : options.saved->runs) {
    statistics_.records += run.records;
  }
}

ExternalSort::~ExternalSort() {
  release();
}

/// Any error but invalid_argument ends the sort.
template <class Work>
auto ExternalSort::guarded(State expected, Work&& work) {
  if (state_ == State::failed) [[unlikely]] {
    throw Error(ErrorCode::failed, "this sort has failed before");
  }
  if (state_ != expected) [[unlikely]] {
    throw Error(ErrorCode::invalid_argument, "records are added, then finished, then read");
  }
  try {
    return work();
  } catch (...) {
    state_ = State::failed;
    release();
    throw;
  }
}

void ExternalSort::add(ByteView key, ByteView value) {
  if (key.size() > record_bytes_max() || value.size() > record_bytes_max() - key.size())
      [[unlikely]] {
    refuse_record(key, value);
  }
  guarded(State::adding, [&] { maker_->add(key, value); });
  record_bytes_ = std::max(record_bytes_, key.size() + value.size());
  ++statistics_.records;
}

SavedSort ExternalSort::save() {
  return guarded(State::adding, [&] {
    maker_->write_all();
    file_->sync();
    return SavedSort{.block_bytes = shape_.block_bytes,
                     .record_bytes = record_bytes_,
                     .file_bytes = file_->size_bytes(),
                     .runs = {maker_->runs().begin(), maker_->runs().end()}};
  });
}

void ExternalSort::finish(FunctionRef<void()> meanwhile) {
  guarded(State::adding, [&] {
    maker_->finish();
    begin_to_read(meanwhile);
  });
  state_ = State::reading;
}

bool ExternalSort::next() {
  if (state_ == State::ended) {
    return false;
  }
  return guarded(State::reading, [&] {
    const bool is_there = merger_ ? merger_->next() : tree_ && tree_->next();
    if (is_there) {
      top_ = merger_ ? &merger_->top() : &tree_->top();
    } else {
      state_ = State::ended;
      release();
    }
    return is_there;
  });
}

void ExternalSort::refuse_record(ByteView key, ByteView value) const {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("a record of {} bytes is too long to be sorted: with {} bytes of memory "
                          "a record may have {}",
                          std::uint64_t{key.size()} + value.size(), shape_.memory_bytes,
                          record_bytes_max()));
}

void ExternalSort::begin_to_read(FunctionRef<void()> meanwhile) {
  const std::vector<Run> runs(maker_->runs().begin(), maker_->runs().end());
  if (runs.empty()) {
    read_buffers();
    return;
  }
  statistics_.runs = runs.size();
  for (const Run& run : runs) {
    statistics_.written_bytes += run.payload_bytes;
  }
  maker_.reset();  // its memory is for the merge
  memory_->reset();
  merger_.emplace(shape_, *memory_, *file_, runs, record_bytes_);
  merger_->reduce(meanwhile);
  statistics_.merges = merger_->merges();
  statistics_.written_bytes += merger_->merged_bytes();
  statistics_.file_bytes = file_->size_bytes();
}

void ExternalSort::read_buffers() {
  std::vector<RecordSource*> sources;
  for (const SortBuffer* buffer : maker_->buffers()) {
    buffers_.push_back(std::make_unique<BufferSource>(*buffer));
    sources.push_back(buffers_.back().get());
  }
  if (!sources.empty()) {
    tree_.emplace(sources);
  }
}

void ExternalSort::release() noexcept {
  merger_.reset();
  tree_.reset();
  buffers_.clear();
  maker_.reset();
  file_.reset();
  memory_.reset();
}

}  // namespace palimpsest::bulk
