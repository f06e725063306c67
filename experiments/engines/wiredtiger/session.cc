#include "experiments/engines/wiredtiger/session.h"

#include <cerrno>
#include <utility>

namespace palimpsest::experiments {
namespace {

using wiredtiger::ensure;
using wiredtiger::key_at;
using wiredtiger::set_key;
using wiredtiger::set_value;
using wiredtiger::value_at;

}  // namespace

WiredTigerSession::WiredTigerSession(const wiredtiger::Connection& connection,
                                     const std::vector<std::string>& uris, Purpose purpose,
                                     SessionUse use, std::atomic<int>& load_code)
    : session_(connection,
               purpose == Purpose::key_values ? "isolation=read-committed" : "isolation=snapshot"),
      uris_(uris),
      single_(purpose == Purpose::key_values),
      plain_config_(purpose == Purpose::transactions ? "overwrite=false" : nullptr),
      loads_(use == SessionUse::load),
      load_code_(load_code),
      cursors_(uris.size()) {
  if (!loads_) {
    for (std::size_t i = 0; i < uris_.size(); ++i) {
      open_plain(cursors_[i], uris_[i]);
    }
  }
}

// A bulk cursor writes its last pages when it is closed.
WiredTigerSession::~WiredTigerSession() {
  for (const TableCursor& table : cursors_) {
    if (loads_ && table.cursor != nullptr) {
      if (const int code = table.cursor->close(table.cursor); code != 0) {
        load_code_ = code;
      }
    }
  }
}

void WiredTigerSession::begin(Intent /*intent*/) {
  if (!loads_ && !single_) {
    begin_with(nullptr);
  }
}

void WiredTigerSession::begin_with(const char* config) {
  WT_SESSION* const session = session_.get();
  ensure(session->begin_transaction(session, config), "begin");
  active_ = true;
}

Access WiredTigerSession::commit() {
  if (!std::exchange(active_, false)) {
    return Access::done;
  }
  WT_SESSION* const session = session_.get();
  return judge(session->commit_transaction(session, nullptr), "commit", ConflictReason::other);
}

// If this fails the transaction stays open, and the next begin() fails.
void WiredTigerSession::rollback() noexcept {
  if (std::exchange(active_, false)) {
    WT_SESSION* const session = session_.get();
    static_cast<void>(session->rollback_transaction(session, nullptr));
  }
}

Access WiredTigerSession::insert(TableId table, ByteView key, ByteView value) {
  if (loads_) {
    return load(cursors_[index_of(table)], uris_[index_of(table)], key, value);
  }
  WT_CURSOR* const cursor = at(table);
  set_key(cursor, key);
  set_value(cursor, value);
  return judge(cursor->insert(cursor), "insert", ConflictReason::write_conflict);
}

Access WiredTigerSession::erase(TableId table, ByteView key) {
  WT_CURSOR* const cursor = at(table);
  set_key(cursor, key);
  return judge(cursor->remove(cursor), "remove", ConflictReason::write_conflict);
}

Access WiredTigerSession::replace_bytes(TableId table, ByteView key, std::size_t offset,
                                        ByteView bytes) {
  WT_CURSOR* const cursor = at(table);
  WT_MODIFY change = {};
  change.data = wiredtiger::item_of(bytes);
  change.offset = offset;
  change.size = bytes.size();
  set_key(cursor, key);
  return judge(cursor->modify(cursor, &change, 1), "modify", ConflictReason::write_conflict);
}

void WiredTigerSession::end_single(TableId table) const {
  if (single_) {
    WT_CURSOR* const cursor = at(table);
    ensure(cursor->reset(cursor), "reset a cursor");
  }
}

Access WiredTigerSession::search(TableId table, ByteView key, ByteView& value) {
  WT_CURSOR* const cursor = at(table);
  set_key(cursor, key);
  const Access found = judge(cursor->search(cursor), "search", ConflictReason::too_old);
  if (found == Access::done) {
    value = value_at(cursor);
  }
  return found;
}

Access WiredTigerSession::update(TableId table, ByteView old, ByteView value) {
  WT_CURSOR* const cursor = at(table);
  if (lies_within(value, old)) {
    copy_.assign(value);
    value = copy_;
  }
  set_value(cursor, value);
  return judge(cursor->update(cursor), "update", ConflictReason::write_conflict);
}

Access WiredTigerSession::seek(TableId table, ByteView key, Direction direction, ByteView& found,
                               ByteView& value) {
  WT_CURSOR* const cursor = at(table);
  set_key(cursor, key);
  int order = 0;  // of the found key, relative to the given one
  const Access access =
      judge(cursor->search_near(cursor, &order), "search near", ConflictReason::too_old);
  if (access != Access::done) {
    return access;
  }
  if (direction == Direction::forward ? order < 0 : order > 0) {
    return step(table, direction, found, value);
  }
  found = key_at(cursor);
  value = value_at(cursor);
  return Access::done;
}

Access WiredTigerSession::step(TableId table, Direction direction, ByteView& key, ByteView& value) {
  WT_CURSOR* const cursor = at(table);
  const int code = direction == Direction::forward ? cursor->next(cursor) : cursor->prev(cursor);
  const Access access = judge(code, "walk", ConflictReason::too_old);
  if (access == Access::done) {
    key = key_at(cursor);
    value = value_at(cursor);
  }
  return access;
}

Access WiredTigerSession::load(TableCursor& into, const std::string& uri, ByteView key,
                               ByteView value) {
  if (into.cursor == nullptr) {
    open_bulk(into, uri);
  }
  if (into.bulk && key <= into.last_key) {
    ensure(into.cursor->close(into.cursor), "close a bulk cursor");
    open_plain(into, uri);
  }
  if (into.bulk) {
    into.last_key.assign(key);
  } else if (!active_ && !single_) {
    begin_with("sync=false");
  }
  set_key(into.cursor, key);
  set_value(into.cursor, value);
  return judge(into.cursor->insert(into.cursor), "insert", ConflictReason::write_conflict);
}

void WiredTigerSession::open_bulk(TableCursor& table, const std::string& uri) const {
  WT_SESSION* const session = session_.get();
  const int code = session->open_cursor(session, uri.c_str(), nullptr, "bulk", &table.cursor);
  table.bulk = code == 0;
  if (code == EBUSY || code == EINVAL) {  // the table is not empty, or not ours alone
    open_plain(table, uri);
  } else {
    ensure(code, "open a bulk cursor");
  }
}

void WiredTigerSession::open_plain(TableCursor& table, const std::string& uri) const {
  table.cursor = session_.open_cursor(uri, plain_config_);
  table.bulk = false;
}

Access WiredTigerSession::judge(int code, const char* what, ConflictReason rolled_back) {
  switch (code) {
    case 0: return Access::done;
    case WT_NOTFOUND: return Access::missing;
    case WT_DUPLICATE_KEY: return Access::exists;
    case WT_ROLLBACK: reason_ = rolled_back; return Access::conflict;
    default: ensure(code, what); return Access::done;
  }
}

}  // namespace palimpsest::experiments
