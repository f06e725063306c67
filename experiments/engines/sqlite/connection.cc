#include "experiments/engines/sqlite/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace palimpsest::experiments::sqlite {

Connection::Connection(const std::string& file, int flags, const std::string& settings) {
  const int code = sqlite3_open_v2(file.c_str(), &handle_,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | flags, nullptr);
  try {
    ensure(code, "open");
    execute(settings);
    execute("CREATE TABLE IF NOT EXISTS records(key INTEGER PRIMARY KEY, value BLOB NOT NULL)");
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

void Connection::execute(const std::string& text) const {
  ensure(sqlite3_exec(handle_, text.c_str(), nullptr, nullptr, nullptr), text.c_str());
}

void Connection::ensure(int code, const char* what) const {
  if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
    throw std::runtime_error(fmt::format("sqlite: {}: {}", what, sqlite3_errmsg(handle_)));
  }
}

Statement::Statement(const Connection& connection, const char* text) : connection_(connection) {
  connection_.ensure(sqlite3_prepare_v3(connection.handle(), text, -1, SQLITE_PREPARE_PERSISTENT,
                                        &statement_, nullptr),
                     text);
}

void Statement::bind(int index, std::uint64_t number) {
  constexpr std::uint64_t kMax = std::numeric_limits<sqlite3_int64>::max();
  connection_.ensure(
      sqlite3_bind_int64(statement_, index, static_cast<sqlite3_int64>(std::min(number, kMax))),
      "bind a number");
}

void Statement::bind(int index, ByteView bytes) {
  connection_.ensure(sqlite3_bind_blob(statement_, index, bytes.data(),
                                       static_cast<int>(bytes.size()), SQLITE_STATIC),
                     "bind bytes");
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  connection_.ensure(code, sqlite3_sql(statement_));
  return code == SQLITE_ROW;
}

void Statement::reset() {
  connection_.ensure(sqlite3_reset(statement_), "reset a statement");
}

std::uint64_t Statement::number(int column) const {
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
}

ByteView Statement::bytes(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_, column);
  return {static_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace palimpsest::experiments::sqlite
