#include "engine/salvage/source_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/error.h"

#include "buffer/page_writer.h"
#include "engine/recovery/checkpoint_note.h"
#include "engine/recovery/freed_runs.h"
#include "engine/recovery/redo.h"
#include "wal/log_reader.h"

namespace palimpsest::engine {
namespace {

/// Whether the log is there and cannot be used, as opposed to the process or the machine.
bool is_damage(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::corruption:
    case ErrorCode::not_found:
    case ErrorCode::not_a_database:
    case ErrorCode::unsupported_version:
    case ErrorCode::io_error: return true;
    default: return false;
  }
}

constexpr std::size_t kWorkers = 2;

}  // namespace

SourceLog::SourceLog(io::Device* device, buffer::PageFile& file, bool knows_uuid)
    : file_(file), is_consistent_(file.was_clean()) {
  try {
    open(device, knows_uuid);
  } catch (const Error& error) {
    if (!is_damage(error.code())) {
      throw;
    }
    store_.reset();
    what_is_wrong_ = error.what();
  }
}

void SourceLog::open(io::Device* device, bool knows_uuid) {
  if (device == nullptr) {
    throw Error(ErrorCode::not_found, "there is no log");
  }
  store_.emplace(wal::LogStore::open(*device, {}, false));
  const wal::ControlState& control = store_->control().state();
  if (knows_uuid && control.uuid != file_.header().uuid) {
    throw Error(ErrorCode::corruption,
                fmt::format("{}: the log belongs to another database", device->path()));
  }
}

void SourceLog::replay(std::size_t memory_bytes, const ProgressCallback& progress) {
  if (!store_) {
    return;
  }
  try {
    replay_stream(memory_bytes, progress);
  } catch (const Error& error) {
    if (!is_damage(error.code())) {
      throw;
    }
    analysis_.reset();
    known_up_to_ = Gsn{0};
    what_is_wrong_ = error.what();
  }
}

// A file that was closed cleanly is consistent without its log, until something is replayed on it.
void SourceLog::replay_stream(std::size_t memory_bytes, const ProgressCallback& progress) {
  const wal::ControlState& control = store_->control().state();
  wal::LogReader reader(store_->segments(), control);
  const wal::LogEnd& end = reader.find_end(&what_is_wrong_);
  const Gsn replayed = decode_checkpoint_note(control.note).replayed_up_to;
  analysis_ = analyse(reader, {.page_size_bytes = file_.page_size_bytes(),
                               .freed_runs = decode_freed_runs,
                               .progress = progress,
                               .replayed_up_to = replayed});
  known_up_to_ = std::max(replayed, end.durable_gsn);
  is_consistent_ = false;
  buffer::PageWriter writer(file_);
  redo(reader, *analysis_, file_, writer,
       {.memory_bytes = memory_bytes, .workers = kWorkers, .progress = progress, .lost = &lost_});
  is_consistent_ = what_is_wrong_.empty();
}

}  // namespace palimpsest::engine
