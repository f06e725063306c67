// A session of WiredTigerStore: one transaction after the other, single operations
// (Purpose::key_values), or the rows of a load.
//
// A cursor for each table, opened once. It keeps its position until its next use or the end of the
// transaction: a search begins with the cursor's page.
// overwrite=false at Purpose::transactions: an insert finds that the key exists, a removal that it
// is missing.
// A load has a bulk cursor for each table: rows go straight into pages, outside of transactions.
// Rows that do not ascend, or are added to a table with rows, are inserted in transactions.
// Thread-safety: belongs to one thread.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "experiments/common/bytes.h"
#include "experiments/engines/store.h"
#include "experiments/engines/wiredtiger/connection.h"

namespace palimpsest::experiments {

class WiredTigerSession {
 public:
  /// For a load: sets `load_code` to the error of closing its cursors.
  WiredTigerSession(const wiredtiger::Connection& connection, const std::vector<std::string>& uris,
                    Purpose purpose, SessionUse use, std::atomic<int>& load_code);
  ~WiredTigerSession();
  WiredTigerSession(const WiredTigerSession&) = delete;
  WiredTigerSession& operator=(const WiredTigerSession&) = delete;

  void begin(Intent intent);
  Access commit();
  void rollback() noexcept;

  template <class Use>
  Access get(TableId table, ByteView key, Use&& use) {
    ByteView value;
    const Access found = search(table, key, value);
    if (found == Access::done) {
      use(value);
    }
    end_single(table);
    return found;
  }

  template <class Change>
  Access rewrite(TableId table, ByteView key, Change&& change) {
    ByteView value;
    const Access found = search(table, key, value);
    const Access done = found == Access::done ? update(table, value, change(value)) : found;
    end_single(table);
    return done;
  }

  Access insert(TableId table, ByteView key, ByteView value);
  Access erase(TableId table, ByteView key);
  Access replace_bytes(TableId table, ByteView key, std::size_t offset, ByteView bytes);

  template <class Visit>
  Access scan(TableId table, ByteView first, ByteView last, Direction direction, Visit&& visit) {
    ByteView key;
    ByteView value;
    const bool forward = direction == Direction::forward;
    Access at = seek(table, forward ? first : last, direction, key, value);
    while (at == Access::done && (forward ? key <= last : key >= first) && visit(key, value)) {
      at = step(table, direction, key, value);
    }
    end_single(table);
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
  /// Resets the cursor after an operation outside of transactions.
  void end_single(TableId table) const;
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

  const wiredtiger::Handle session_;
  const std::vector<std::string>& uris_;
  const bool single_;  ///< operations are transactions of their own
  const char* const plain_config_;
  const bool loads_;
  std::atomic<int>& load_code_;
  bool active_ = false;  ///< a transaction is open
  std::vector<TableCursor> cursors_;
  std::string copy_;
  ConflictReason reason_ = ConflictReason::other;
};

}  // namespace palimpsest::experiments
