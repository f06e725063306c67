// A read-only transaction that stays open for a whole run: it keeps old versions alive in every
// engine that has versions. It reads a few rows of every table, again and again; they must be as
// when it began.
//
// Thread-safety: belongs to the thread that opened it. Failure: changed rows, and the engine's
// errors, end the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "experiments/engines/store.h"

namespace palimpsest::experiments::oltp {

/// Its counts.
struct LongReaderCounts {
  std::uint64_t looks = 0;     ///< at a table's rows
  std::uint64_t restarts = 0;  ///< the engine had cancelled it, and it began again
};

class LongReader {
 public:
  LongReader() = default;
  virtual ~LongReader() = default;
  LongReader(const LongReader&) = delete;
  LongReader& operator=(const LongReader&) = delete;

  /// Reads the next table.
  virtual void look() = 0;
  [[nodiscard]] virtual const LongReaderCounts& counts() const noexcept = 0;
};

template <StoreSession S>
class LongReaderOn final : public LongReader {
 public:
  LongReaderOn(std::unique_ptr<S> session, std::size_t tables)
      : session_(std::move(session)), seen_(tables) {
    begin();
  }
  ~LongReaderOn() override { session_->rollback(); }

  void look() override {
    const std::size_t table = counts_.looks++ % seen_.size();
    if (!read(table, now_)) {
      session_->rollback();
      ++counts_.restarts;
      begin();
    } else if (now_ != seen_[table]) {
      throw std::runtime_error("the long reader sees different rows of table " +
                               std::to_string(table) + " than when it began");
    }
  }
  [[nodiscard]] const LongReaderCounts& counts() const noexcept override { return counts_; }

 private:
  static constexpr int kRows = 20;
  static constexpr std::size_t kRowBytes = 1024;  ///< key included: no row has more
  static constexpr int kAttemptsMax = 100;
  static constexpr std::size_t kLongestKey = 128;

  void begin() {
    for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
      session_->begin(Intent::read_only);
      if (read_all()) {
        return;
      }
      session_->rollback();
    }
    throw std::runtime_error("the long reader failed to begin " + std::to_string(kAttemptsMax) +
                             " times");
  }
  [[nodiscard]] bool read_all() {
    for (std::size_t table = 0; table < seen_.size(); ++table) {
      if (!read(table, seen_[table])) {
        return false;
      }
    }
    return true;
  }
  /// False: a conflict.
  [[nodiscard]] bool read(std::size_t table, std::string& rows) {
    const std::string above(kLongestKey, '\xFF');
    int left = kRows;
    rows.clear();
    rows.reserve(kRows * kRowBytes);
    const Access access =
        session_->scan(TableId{static_cast<std::uint8_t>(table)}, ByteView("\0", 1), above,
                       Direction::forward, [&](ByteView key, ByteView row) noexcept {
                         rows.append(key).append(row);
                         return --left > 0;
                       });
    return access == Access::done;
  }

  std::unique_ptr<S> session_;
  std::vector<std::string> seen_;  ///< by table
  std::string now_;
  LongReaderCounts counts_;
};

}  // namespace palimpsest::experiments::oltp
