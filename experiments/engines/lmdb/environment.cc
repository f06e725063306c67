#include "experiments/engines/lmdb/environment.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

namespace palimpsest::experiments::lmdb {

void ensure(int code, const char* what) {
  if (code != MDB_SUCCESS) {
    throw std::runtime_error(fmt::format("lmdb: {}: {}", what, mdb_strerror(code)));
  }
}

Environment::Environment(const EnvironmentOptions& options) {
  ensure(mdb_env_create(&handle_), "create an environment");
  try {
    open(options);
  } catch (...) {
    close();
    throw;
  }
}

void Environment::open(const EnvironmentOptions& options) {
  if (!options.create && !std::filesystem::exists(options.directory / "data.mdb")) {
    ensure(MDB_NOTFOUND, "open a database that was loaded");  // mdb_env_open() would make one
  }
  ensure(mdb_env_set_mapsize(handle_, options.map_bytes), "set the map size");
  if (options.readers_max != 0) {
    ensure(mdb_env_set_maxreaders(handle_, options.readers_max), "set the readers");
  }
  if (!options.tables.empty()) {
    ensure(mdb_env_set_maxdbs(handle_, static_cast<MDB_dbi>(options.tables.size())),
           "set the tables");
  }
  ensure(mdb_env_open(handle_, options.directory.c_str(), options.flags, 0600), "open");
  Transaction writer(*this);
  const unsigned flags = options.create ? unsigned{MDB_CREATE} : 0U;
  const auto open_table = [&](const char* name) {
    ensure(mdb_dbi_open(writer.get(), name, flags, &tables_.emplace_back()), "open a table");
  };
  for (const std::string& table : options.tables) {
    open_table(table.c_str());
  }
  if (options.tables.empty()) {
    open_table(nullptr);
  }
  writer.commit();
}

std::uint64_t Environment::data_bytes() const {
  MDB_envinfo info = {};
  MDB_stat pages = {};
  ensure(mdb_env_info(handle_, &info), "ask about the map");
  ensure(mdb_env_stat(handle_, &pages), "ask about pages");
  return (info.me_last_pgno + std::uint64_t{1}) * pages.ms_psize;
}

std::uint64_t Environment::free_bytes() const {
  constexpr MDB_dbi kFreePages = 0;
  MDB_stat stat = {};
  ensure(mdb_env_stat(handle_, &stat), "ask about pages");
  const Transaction reader(*this, MDB_RDONLY);
  Cursor cursor(reader, kFreePages);
  std::uint64_t pages = 0;
  while (cursor.move(MDB_NEXT)) {
    std::size_t named = 0;
    std::memcpy(&named, cursor.value().data(), sizeof named);
    pages += named;
  }
  return pages * stat.ms_psize;
}

}  // namespace palimpsest::experiments::lmdb
