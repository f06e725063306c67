#include "experiments/engines/wiredtiger/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace palimpsest::experiments::wiredtiger {

void ensure(int code, const char* what) {
  if (code != 0) {
    throw std::runtime_error(fmt::format("wiredtiger: {}: {}", what, wiredtiger_strerror(code)));
  }
}

Connection::Connection(const std::filesystem::path& directory, const std::string& config) {
  ensure(wiredtiger_open(directory.c_str(), nullptr, config.c_str(), &handle_), "open");
}

Connection::~Connection() {
  if (handle_ != nullptr) {
    handle_->close(handle_, nullptr);
  }
}

void Connection::close() {
  WT_CONNECTION* const closing = std::exchange(handle_, nullptr);
  ensure(closing->close(closing, "leak_memory=true"), "close");
}

Handle::Handle(const Connection& connection, const char* config) {
  WT_CONNECTION* const opener = connection.get();
  ensure(opener->open_session(opener, nullptr, config, &session_), "open a session");
}

WT_CURSOR* Handle::open_cursor(const std::string& uri, const char* config) const {
  WT_CURSOR* cursor = nullptr;
  ensure(session_->open_cursor(session_, uri.c_str(), nullptr, config, &cursor), "open a cursor");
  return cursor;
}

void Handle::create(const std::string& uri, const std::string& config) const {
  ensure(session_->create(session_, uri.c_str(), config.c_str()), "create a table");
}

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

std::uint64_t statistic(WT_CURSOR* cursor, int key) {
  const char* description = nullptr;
  const char* printed = nullptr;
  std::uint64_t value = 0;
  cursor->set_key(cursor, key);
  ensure(cursor->search(cursor), "find a statistic");
  ensure(cursor->get_value(cursor, &description, &printed, &value), "read a statistic");
  return value;
}

std::string table_config(std::uint32_t page_bytes, bool fits_in_memory) {
  return fmt::format(
      "key_format=u,value_format=u,allocation_size=4KB,internal_page_max={0},leaf_page_max={0},"
      "prefix_compression=false,block_compressor=none{1}",
      page_bytes, fits_in_memory ? "" : ",access_pattern_hint=random");
}

}  // namespace palimpsest::experiments::wiredtiger
