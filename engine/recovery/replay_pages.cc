#include "engine/recovery/replay_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "palimpsest/error.h"

#include "base/check.h"
#include "buffer/swip.h"

namespace palimpsest::engine {
namespace {

constexpr std::string_view kWayOut =
    "restore a backup, or copy what can be read of it into a new database: palimpsest salvage";

bool names_a_page(const void* file, std::uint64_t word) noexcept {
  const auto swip = buffer::Swip::of_word(word);
  return !swip.swizzled() &&
         swip.page() >= static_cast<const buffer::PageFile*>(file)->first_page();
}

}  // namespace

btree::SwipRule replay_swip_rule(const buffer::PageFile& file) noexcept {
  return {.plausible = &names_a_page, .context = &file};
}

ReplayPages::ReplayPages(buffer::PageFile& file, buffer::PageWriter& writer, std::size_t frames_max)
    : file_(file),
      writer_(writer),
      page_size_(file.page_size_bytes()),
      frames_max_(std::max(frames_max, kFramesMin)) {}

std::size_t ReplayPages::group_pages() const noexcept {
  return std::min(frames_max_ / 2, kGroupPagesMax);
}

MutableBytes ReplayPages::image(ReplayFrame frame) const noexcept {
  return memory_[frame / kChunkFrames].bytes().subspan(frame % kChunkFrames * page_size_,
                                                       page_size_);
}

ReplayFrame ReplayPages::take(PageId page, bool read) {
  if (!file_.contains(page)) {
    throw Error(ErrorCode::corruption,
                fmt::format("the log changes page {}, which page file \"{}\" of {} pages does not "
                            "have",
                            raw(page), file_.name(), file_.page_count()));
  }
  if (free_.empty() && frames_.size() < frames_max_) {
    make_frames();
  }
  if (free_.empty()) {
    make_room();
  }
  const ReplayFrame frame = free_.back();
  free_.pop_back();
  frames_[frame] = {.page = page, .group = group_};
  if (read) {
    reads_.push_back({.id = page, .into = image(frame)});
    reading_.push_back(frame);
  }
  return frame;
}

void ReplayPages::make_frames() {
  const std::size_t first = frames_.size();
  const std::size_t count = std::min(kChunkFrames, frames_max_ - first);
  memory_.emplace_back(count * page_size_, page_size_);
  frames_.resize(first + count);
  for (std::size_t frame = first + count; frame > first; --frame) {
    free_.push_back(static_cast<ReplayFrame>(frame - 1));
  }
}

// Frees frames behind the hand that the group does not use: clean ones, and dirty ones up to one
// batch.
void ReplayPages::make_room() {
  victims_.clear();
  const std::size_t wanted = std::min(writer_.batch_pages(), frames_.size() / 2);
  for (std::size_t looked = 0; looked < frames_.size() && free_.size() < wanted; ++looked) {
    const auto frame = static_cast<ReplayFrame>(hand_);
    hand_ = (hand_ + 1) % frames_.size();
    if (frames_[frame].group == group_) {
      continue;
    }
    if (frames_[frame].dirty) {
      victims_.push_back(frame);
    }
    free_.push_back(frame);
  }
  check(!free_.empty(), "a group uses half of the frames at most");
  std::ranges::reverse(free_);
  std::ranges::sort(victims_, {}, [&](ReplayFrame frame) { return frames_[frame].page; });
  write(victims_);
  for (const ReplayFrame frame : free_) {
    frames_[frame].page = kNoPage;
  }
}

void ReplayPages::write(std::span<const ReplayFrame> frames) {
  while (!frames.empty()) {
    buffer::PageWriter::Batch batch = writer_.begin_batch();
    while (!frames.empty()) {
      std::byte* slot = batch.slot();
      if (slot == nullptr) {
        break;
      }
      Frame& frame = frames_[frames.front()];
      std::memcpy(slot, image(frames.front()).data(), page_size_);
      batch.add(frame.page);
      frame.dirty = false;
      ++pages_written_;
      frames = frames.subspan(1);
    }
    batch.write();
  }
}

void ReplayPages::refuse(const buffer::PageRead& read) const {
  try {
    file_.throw_read_error(read);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corruption) {
      throw;
    }
    throw Error(error.code(), fmt::format("a page that the log changes cannot be read, and "
                                          "committed changes to it would be lost: {}; {}",
                                          error.what(), kWayOut));
  }
}

void ReplayPages::judge(const buffer::PageRead& read) const {
  if (!read.ok()) {
    refuse(read);
  }
  if (const auto fault = btree::validate_node(read.into, replay_swip_rule(file_))) {
    throw Error(ErrorCode::corruption,
                fmt::format("page file \"{}\", page {}, which the log changes: {}; {}",
                            file_.name(), raw(read.id), *fault, kWayOut));
  }
}

std::span<const ReplayFrame> ReplayPages::load_group(bool skips) {
  unread_.clear();
  if (reads_.empty()) {
    return unread_;
  }
  pages_read_ += reads_.size();
  file_.read_pages(reads_);
  for (std::size_t at = 0; at < reads_.size(); ++at) {
    try {
      judge(reads_[at]);
    } catch (const Error&) {
      if (!skips) {
        throw;
      }
      unread_.push_back(reading_[at]);
    }
  }
  reads_.clear();
  reading_.clear();
  return unread_;
}

void ReplayPages::write_all() {
  std::vector<ReplayFrame> dirty;
  for (ReplayFrame frame = 0; frame < frames_.size(); ++frame) {
    if (frames_[frame].dirty) {
      dirty.push_back(frame);
    }
  }
  std::ranges::sort(dirty, {}, [&](ReplayFrame frame) { return frames_[frame].page; });
  write(dirty);
}

}  // namespace palimpsest::engine
