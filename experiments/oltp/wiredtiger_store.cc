#include "experiments/oltp/wiredtiger_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "experiments/oltp/peer_stores.h"
#include "experiments/peers/wiredtiger.h"

namespace palimpsest::experiments::oltp {
namespace {

constexpr const char* kSynchronous = "enabled=true,method=dsync";
constexpr std::chrono::seconds kCheckpointEvery{60};
constexpr std::uint32_t kMemoryMibMin = 16;
constexpr std::uint32_t kSessionsOfItsOwn = 32;

std::vector<std::string> uris_of(const std::vector<std::string>& tables) {
  std::vector<std::string> uris;
  uris.reserve(tables.size());
  for (const std::string& table : tables) {
    uris.push_back("table:" + table);
  }
  return uris;
}

std::string config_of(const StoreSettings& settings) {
  const unsigned eviction_threads = std::min(20U, std::thread::hardware_concurrency() + 2);
  return fmt::format(
      "{}cache_size={},session_max={},eviction=(threads_min=1,threads_max={}),"
      "log=(enabled=true),transaction_sync=({}),checkpoint=(wait={},log_size={}),"
      "statistics=(fast){}",
      settings.loaded ? "" : "create,", settings.memory_bytes,
      settings.sessions_max + kSessionsOfItsOwn, eviction_threads,
      settings.durability == Durability::sync ? kSynchronous : "enabled=false",
      kCheckpointEvery.count(), std::min(log_bytes_max(settings), std::uint64_t{2} << 30U),
      settings.fits_in_memory() ? "" : ",direct_io=[data]");
}

std::uint64_t statistic(WT_CURSOR* cursor, int key) {
  const char* description = nullptr;
  const char* printed = nullptr;
  std::uint64_t value = 0;
  cursor->set_key(cursor, key);
  wiredtiger::ensure(cursor->search(cursor), "find a statistic");
  wiredtiger::ensure(cursor->get_value(cursor, &description, &printed, &value), "read a statistic");
  return value;
}

}  // namespace

WiredTigerStore::WiredTigerStore(const StoreSettings& settings)
    : settings_(settings), uris_(uris_of(settings.tables)) {
  wiredtiger::ensure(wiredtiger_open(settings.directory.c_str(), nullptr,
                                     config_of(settings).c_str(), &connection_),
                     "open");
  try {
    settings_.loaded ? check_tables() : create_tables();
    start_flusher();
  } catch (...) {
    connection_->close(connection_, nullptr);
    throw;
  }
}

WiredTigerStore::~WiredTigerStore() {
  flusher_.reset();
  if (connection_ != nullptr) {
    connection_->close(connection_, nullptr);
  }
}

void WiredTigerStore::create_tables() const {
  const WiredTigerHandle handle(connection_);
  const std::string config = fmt::format(
      "key_format=u,value_format=u,allocation_size=4KB,internal_page_max={0},leaf_page_max={0},"
      "prefix_compression=false,block_compressor=none{1}",
      kPageBytes, settings_.fits_in_memory() ? "" : ",access_pattern_hint=random");
  for (const std::string& uri : uris_) {
    wiredtiger::ensure(handle.get()->create(handle.get(), uri.c_str(), config.c_str()),
                       "create a table");
  }
}

void WiredTigerStore::check_tables() const {
  const WiredTigerHandle handle(connection_);
  for (const std::string& uri : uris_) {
    WT_CURSOR* cursor = nullptr;
    wiredtiger::ensure(
        handle.get()->open_cursor(handle.get(), uri.c_str(), nullptr, nullptr, &cursor),
        "open a table that was loaded");
    wiredtiger::ensure(cursor->close(cursor), "close a cursor");
  }
}

void WiredTigerStore::start_flusher() {
  if (settings_.durability == Durability::async) {
    flusher_ = std::make_unique<PeriodicTask>(
        settings_.asynchronous_interval,
        [handle = std::make_shared<WiredTigerHandle>(connection_)] {
          wiredtiger::ensure(handle->get()->log_flush(handle->get(), "sync=on"), "flush the log");
        });
  }
}

std::unique_ptr<WiredTigerSession> WiredTigerStore::open_session(SessionUse use) {
  return std::make_unique<WiredTigerSession>(connection_, uris_, use, load_code_);
}

void WiredTigerStore::finish_load() {
  wiredtiger::ensure(load_code_, "end a load");
  const WiredTigerHandle handle(connection_);
  wiredtiger::ensure(handle.get()->checkpoint(handle.get(), nullptr), "checkpoint");
}

StoreCounts WiredTigerStore::counts() const {
  const WiredTigerHandle handle(connection_);
  WT_CURSOR* cursor = nullptr;
  wiredtiger::ensure(
      handle.get()->open_cursor(handle.get(), "statistics:", nullptr, nullptr, &cursor),
      "open the statistics");
  StoreCounts counts;
  counts.page_reads = statistic(cursor, WT_STAT_CONN_CACHE_READ);
  counts.page_writes = statistic(cursor, WT_STAT_CONN_CACHE_WRITE);
  counts.log_bytes = statistic(cursor, WT_STAT_CONN_LOG_BYTES_WRITTEN);
  std::uint64_t bytes = 0;
  for (const std::string& table : settings_.tables) {
    bytes += std::filesystem::file_size(settings_.directory / (table + ".wt"));
  }
  counts.data_bytes = bytes;
  return counts;
}

std::string WiredTigerStore::description() const {
  return fmt::format(
      "files by {}; log: {}; checkpoints every {} s",
      settings_.fits_in_memory() ? "the page cache" : "direct I/O",
      settings_.durability == Durability::sync
          ? fmt::format("transaction_sync=({}), group commit", kSynchronous)
          : fmt::format("log_flush(sync=on) every {} ms", settings_.asynchronous_interval.count()),
      kCheckpointEvery.count());
}

EngineOptions WiredTigerStore::effective_options() const {
  const WiredTigerHandle handle(connection_);
  WT_CURSOR* cursor = nullptr;
  wiredtiger::ensure(
      handle.get()->open_cursor(handle.get(), "metadata:create", nullptr, nullptr, &cursor),
      "open the metadata");
  EngineOptions options = {{.name = "wiredtiger_open", .value = config_of(settings_)}};
  for (const std::string& uri : uris_) {
    const char* config = nullptr;
    cursor->set_key(cursor, uri.c_str());
    wiredtiger::ensure(cursor->search(cursor), "find a table's metadata");
    wiredtiger::ensure(cursor->get_value(cursor, &config), "read a table's metadata");
    options.push_back({.name = uri, .value = config});
  }
  return options;
}

void WiredTigerStore::close() {
  if (flusher_) {
    flusher_->stop();
    flusher_.reset();  // its session ends before the connection
  }
  WT_CONNECTION* const closing = std::exchange(connection_, nullptr);
  wiredtiger::ensure(closing->close(closing, "leak_memory=true"), "close");  // checkpoints
}

StoreEntry<WiredTigerStore> wiredtiger_store() {
  return {.traits = {.name = "wiredtiger",
                     .isolations = {Isolation::snapshot},
                     .durabilities = {Durability::async, Durability::sync},
                     .memory_mib_min = kMemoryMibMin,
                     .load_threads_max = 1},
          .open = [](const StoreSettings& settings) {
            return std::make_unique<WiredTigerStore>(settings);
          }};
}

}  // namespace palimpsest::experiments::oltp
