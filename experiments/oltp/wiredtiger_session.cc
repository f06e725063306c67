#include "experiments/oltp/wiredtiger_session.h"

#include <cerrno>
#include <utility>

#include "experiments/oltp/peer_stores.h"
#include "experiments/peers/wiredtiger.h"

namespace palimpsest::experiments::oltp {
namespace {

using wiredtiger::ensure;
using wiredtiger::item_of;
using wiredtiger::view_of;

void set_key(WT_CURSOR* cursor, ByteView key) {
  WT_ITEM item = item_of(key);
  cursor->set_key(cursor, &item);
}

void set_value(WT_CURSOR* cursor, ByteView value) {
  WT_ITEM item = item_of(value);
  cursor->set_value(cursor, &item);
}

ByteView key_at(WT_CURSOR* cursor) {
  WT_ITEM item = {};
  ensure(cursor->get_key(cursor, &item), "read a key");
  return view_of(item);
}

ByteView value_at(WT_CURSOR* cursor) {
  WT_ITEM item = {};
  ensure(cursor->get_value(cursor, &item), "read a value");
  return view_of(item);
}

}  // namespace

WiredTigerHandle::WiredTigerHandle(WT_CONNECTION* connection) {
  ensure(connection->open_session(connection, nullptr, "isolation=snapshot", &session_),
         "open a session");
}

WiredTigerSession::WiredTigerSession(WT_CONNECTION* connection,
                                     const std::vector<std::string>& uris, SessionUse use,
                                     std::atomic<int>& load_code)
    : session_(connection),
      uris_(uris),
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
  if (!loads_) {
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
  } else if (!active_) {
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
  WT_SESSION* const session = session_.get();
  ensure(session->open_cursor(session, uri.c_str(), nullptr, "overwrite=false", &table.cursor),
         "open a cursor");
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

}  // namespace palimpsest::experiments::oltp
