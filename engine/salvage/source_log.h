// The log of a damaged database: replayed on the pages as far as it can be, and what it says of
// transactions that have not ended.
//
// Where the log's middle is damaged, what lies before that is replayed; a transaction whose end is
// not among that counts as unfinished. A page that cannot be redone is left out (LostPages), the
// others are brought up to date. Losers are not undone here: their changes are taken back from the
// rows as these are read (unfinished_changes.h).
// Thread-safety: belongs to one thread.
// Failure: of a log that is damaged or missing nothing is thrown, but said in `what_is_wrong`;
//          Error out_of_memory, locked, and what writing the pages throws.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/io/device.h"
#include "buffer/page_file.h"
#include "engine/recovery/analysis.h"
#include "engine/recovery/lost_pages.h"
#include "engine/recovery/progress.h"
#include "wal/log_store.h"

namespace palimpsest::engine {

class SourceLog {
 public:
  /// `device`: null: there is none. `knows_uuid`: the header of the page file says whose the log is
  /// to be. All outlive it.
  SourceLog(io::Device* device, buffer::PageFile& file, bool knows_uuid);
  SourceLog(const SourceLog&) = delete;
  SourceLog& operator=(const SourceLog&) = delete;

  /// Replays what there is on the pages.
  void replay(std::size_t memory_bytes, const ProgressCallback& progress);

  /// After that every page that is not lost is as its last change has left it.
  [[nodiscard]] bool is_consistent() const noexcept { return is_consistent_; }
  /// Empty: the log is whole.
  [[nodiscard]] const std::string& what_is_wrong() const noexcept { return what_is_wrong_; }
  /// Of pages up to this GSN it is known which of their changes have not been committed; 0: of
  /// none.
  [[nodiscard]] Gsn known_up_to() const noexcept { return known_up_to_; }
  [[nodiscard]] const LostPages& lost() const noexcept { return lost_; }
  /// Null: nothing was replayed.
  [[nodiscard]] const RecoveryAnalysis* analysis() const noexcept {
    return analysis_ ? &*analysis_ : nullptr;
  }
  /// Where the changes of the losers lie; there are some.
  [[nodiscard]] const wal::Segments& segments() const noexcept { return store_->segments(); }

 private:
  void open(io::Device* device, bool knows_uuid);
  void replay_stream(std::size_t memory_bytes, const ProgressCallback& progress);

  buffer::PageFile& file_;
  std::optional<wal::LogStore> store_;
  std::optional<RecoveryAnalysis> analysis_;
  LostPages lost_;
  std::string what_is_wrong_;
  Gsn known_up_to_{};
  bool is_consistent_;
};

}  // namespace palimpsest::engine
