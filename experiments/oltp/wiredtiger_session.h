// A session of WiredTigerStore: one transaction after the other, or the rows of a load.
//
// A cursor for each table, opened once. It keeps its position until its next use or the end of the
// transaction: a search begins with the cursor's page.
// overwrite=false: an insert finds that the key exists, a removal that it is missing.
// A load has a bulk cursor for each table: rows go straight into pages, outside of transactions.
// Rows that do not ascend, or are added to a table with rows, are inserted in transactions.
// Thread-safety: belongs to one thread.
#pragma once

#include <wiredtiger.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "experiments/oltp/store.h"

namespace palimpsest::experiments::oltp {

/// A WT_SESSION that is closed with its owner, and its cursors with it.
class WiredTigerHandle {
 public:
  explicit WiredTigerHandle(WT_CONNECTION* connection);
  ~WiredTigerHandle() { session_->close(session_, nullptr); }
  WiredTigerHandle(const WiredTigerHandle&) = delete;
  WiredTigerHandle& operator=(const WiredTigerHandle&) = delete;

  [[nodiscard]] WT_SESSION* get() const noexcept { return session_; }

 private:
  WT_SESSION* session_ = nullptr;
};

class WiredTigerSession {
 public:
  /// For a load: sets `load_code` to the error of closing its cursors.
  WiredTigerSession(WT_CONNECTION* connection, const std::vector<std::string>& uris, SessionUse use,
                    std::atomic<int>& load_code);
  ~WiredTigerSession();
  WiredTigerSession(const WiredTigerSession&) = delete;
  WiredTigerSession& operator=(const WiredTigerSession&) = delete;

  void begin(Intent intent);
  [[nodiscard]] Access commit();
  void rollback() noexcept;

  template <class Use>
  [[nodiscard]] Access get(TableId table, ByteView key, Use&& use) {
    ByteView value;
    const Access found = search(table, key, value);
    if (found == Access::done) {
      use(value);
    }
    return found;
  }

  template <class Change>
  [[nodiscard]] Access rewrite(TableId table, ByteView key, Change&& change) {
    ByteView value;
    const Access found = search(table, key, value);
    return found == Access::done ? update(table, value, change(value)) : found;
  }

  [[nodiscard]] Access insert(TableId table, ByteView key, ByteView value);
  [[nodiscard]] Access erase(TableId table, ByteView key);

  template <class Visit>
  [[nodiscard]] Access scan(TableId table, ByteView first, ByteView last, Direction direction,
                            Visit&& visit) {
    ByteView key;
    ByteView value;
    const bool forward = direction == Direction::forward;
    Access at = seek(table, forward ? first : last, direction, key, value);
    while (at == Access::done && (forward ? key <= last : key >= first) && visit(key, value)) {
      at = step(table, direction, key, value);
    }
    return at == Access::missing ? Access::done : at;  // missing: the end of the table
  }

  [[nodiscard]] ConflictReason conflict_reason() const noexcept { return reason_; }

 private:
  struct TableCursor {
    WT_CURSOR* cursor = nullptr;
    bool bulk = false;
    std::string last_key;  ///< inserted by a bulk cursor
  };

  [[nodiscard]] WT_CURSOR* at(TableId table) const noexcept {
    return cursors_[index_of(table)].cursor;
  }
  void begin_with(const char* config);
  /// Leaves the cursor on the key, and shows its value until the next call.
  [[nodiscard]] Access search(TableId table, ByteView key, ByteView& value);
  /// For the key at the cursor's position, with the value `old`.
  [[nodiscard]] Access update(TableId table, ByteView old, ByteView value);
  /// The first key at or after that one, in the direction; missing if there is none.
  [[nodiscard]] Access seek(TableId table, ByteView key, Direction direction, ByteView& found,
                            ByteView& value);
  [[nodiscard]] Access step(TableId table, Direction direction, ByteView& key, ByteView& value);
  [[nodiscard]] Access load(TableCursor& into, const std::string& uri, ByteView key,
                            ByteView value);
  void open_bulk(TableCursor& table, const std::string& uri) const;
  void open_plain(TableCursor& table, const std::string& uri) const;
  [[nodiscard]] Access judge(int code, const char* what, ConflictReason rolled_back);

  WiredTigerHandle session_;
  const std::vector<std::string>& uris_;
  const bool loads_;
  std::atomic<int>& load_code_;
  bool active_ = false;  ///< a transaction is open
  std::vector<TableCursor> cursors_;
  std::string copy_;
  ConflictReason reason_ = ConflictReason::other;
};

}  // namespace palimpsest::experiments::oltp
