#include "engine/offline_database.h"

#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/error.h"

#include "engine/engine.h"

namespace palimpsest::engine {

OfflineDatabase::OfflineDatabase(io::Device& pages)
    : file_(buffer::PageFile::open(pages, buffer::kPageFileName, {.read_only = true})) {
  if (file_->catalog_root() == kNoPage) {
    throw Error(
        ErrorCode::not_closed_cleanly,
        fmt::format("{}: the creation of the database was never completed, and it holds nothing",
                    pages.path()));
  }
}

void OfflineDatabase::open_space() {
  space_.emplace(*file_);
}

void OfflineDatabase::open_catalog(std::uint64_t memory_bytes) {
  writer_.emplace(*file_);
  node_kind_.emplace(*file_);
  node_kind_->register_in(kinds_);
  const std::uint64_t least = buffer::BufferPool::memory_bytes_min(file_->page_size_bytes());
  pool_.emplace(*file_, *writer_, *space_, kinds_,
                buffer::BufferPoolOptions{.memory_bytes = std::max(memory_bytes, least)}, &tables_);
  large_values_.emplace(*file_, *writer_, *space_, &*pool_);
  catalog_.emplace(*pool_, *large_values_, epochs_);
  catalog_->open(file_->catalog_root());
  for (const auto& [epoch, trees] : bulk::read_bulks(*catalog_).aborted) {
    epochs_.enter_aborted(epoch);
  }
}

}  // namespace palimpsest::engine
