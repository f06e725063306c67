#include "experiments/engines/wiredtiger/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

namespace palimpsest::experiments {
namespace {

using wiredtiger::ensure;
using wiredtiger::Handle;
using wiredtiger::kSessionsOfItsOwn;
using wiredtiger::kSynchronous;

constexpr std::chrono::seconds kCheckpointEvery{60};
constexpr std::uint32_t kMemoryMibMin = 16;

std::vector<std::string> uris_of(const std::vector<std::string>& tables) {
  std::vector<std::string> uris;
  uris.reserve(tables.size());
  for (const std::string& table : tables) {
    uris.push_back("table:" + table);
  }
  return uris;
}

StoreSettings with_tables(StoreSettings settings) {
  if (settings.tables.empty()) {
    settings.tables = {"records"};
  }
  return settings;
}

std::string checkpoints_of(const StoreSettings& settings) {
  if (settings.purpose == Purpose::commits) {
    return fmt::format(
        "wait={}",
        std::max<std::int64_t>(
            1, std::chrono::ceil<std::chrono::seconds>(settings.checkpoint_every).count()));
  }
  return fmt::format("wait={},log_size={}", kCheckpointEvery.count(),
                     std::min(settings.log_bytes_default(), std::uint64_t{2} << 30U));
}

/// Of a store with a log.
std::string log_of(const StoreSettings& settings) {
  return fmt::format("log=(enabled=true),transaction_sync=({}),checkpoint=({}),statistics=(fast)",
                     settings.durability == Durability::sync ? kSynchronous : "enabled=false",
                     checkpoints_of(settings));
}

std::string config_of(const StoreSettings& settings) {
  const std::string common =
      fmt::format("{}cache_size={},session_max={}", settings.loaded ? "" : "create,",
                  settings.memory_bytes, settings.sessions_max + kSessionsOfItsOwn);
  if (settings.purpose == Purpose::commits) {
    return fmt::format("{},{}", common, log_of(settings));
  }
  return fmt::format("{},eviction=(threads_min=1,threads_max={}),{}{}", common,
                     std::min(20U, std::thread::hardware_concurrency() + 2),
                     settings.purpose == Purpose::key_values
                         ? "log=(enabled=false),checkpoint=(wait=0),statistics=(none)"
                         : log_of(settings),
                     settings.fits_in_memory() ? "" : ",direct_io=[data]");
}

}  // namespace

WiredTigerStore::WiredTigerStore(const StoreSettings& settings)
    : settings_(with_tables(settings)),
      uris_(uris_of(settings_.tables)),
      connection_(settings_.directory, config_of(settings_)) {
  settings_.loaded ? check_tables() : create_tables();
  start_flusher();
}

void WiredTigerStore::create_tables() const {
  const Handle session(connection_);
  const std::string config =
      settings_.purpose == Purpose::commits
          ? "key_format=u,value_format=u,block_compressor=none"
          : wiredtiger::table_config(settings_.page_bytes, settings_.fits_in_memory());
  for (const std::string& uri : uris_) {
    session.create(uri, config);
  }
}

void WiredTigerStore::check_tables() const {
  const Handle session(connection_);
  for (const std::string& uri : uris_) {
    WT_CURSOR* const cursor = session.open_cursor(uri);
    ensure(cursor->close(cursor), "close a cursor");
  }
}

void WiredTigerStore::start_flusher() {
  if (has_log() && settings_.durability == Durability::async) {
    flusher_ = std::make_unique<PeriodicTask>(
        settings_.asynchronous_interval, [session = std::make_shared<Handle>(connection_)] {
          ensure(session->get()->log_flush(session->get(), "sync=on"), "flush the log");
        });
  }
}

std::unique_ptr<WiredTigerSession> WiredTigerStore::open_session(SessionUse use) {
  return std::make_unique<WiredTigerSession>(connection_, uris_, settings_.purpose, use,
                                             load_code_);
}

void WiredTigerStore::finish_load() {
  ensure(load_code_, "end a load");
  if (has_log()) {
    const Handle session(connection_);
    ensure(session.get()->checkpoint(session.get(), nullptr), "checkpoint");
  }
}

StoreCounts WiredTigerStore::counts() const {
  if (!has_log()) {
    return {};  // nor statistics
  }
  const Handle session(connection_);
  WT_CURSOR* const cursor = session.open_cursor("statistics:");
  StoreCounts counts;
  counts.page_reads = wiredtiger::statistic(cursor, WT_STAT_CONN_CACHE_READ);
  counts.page_writes = wiredtiger::statistic(cursor, WT_STAT_CONN_CACHE_WRITE);
  counts.log_bytes = wiredtiger::statistic(cursor, WT_STAT_CONN_LOG_BYTES_WRITTEN);
  counts.log_record_bytes = wiredtiger::statistic(cursor, WT_STAT_CONN_LOG_BYTES_PAYLOAD);
  std::uint64_t bytes = 0;
  for (const std::string& table : settings_.tables) {
    bytes += std::filesystem::file_size(settings_.directory / (table + ".wt"));
  }
  counts.data_bytes = bytes;
  return counts;
}

std::string WiredTigerStore::description() const {
  const std::string log =
      settings_.durability == Durability::sync
          ? fmt::format("transaction_sync=({}), group commit", kSynchronous)
          : fmt::format("log_flush(sync=on) every {} ms", settings_.asynchronous_interval.count());
  if (settings_.purpose == Purpose::commits) {
    return log;
  }
  if (settings_.purpose == Purpose::key_values) {
    return settings_.fits_in_memory() ? "page cache" : "direct";
  }
  return fmt::format("files by {}; log: {}; checkpoints every {} s",
                     settings_.fits_in_memory() ? "the page cache" : "direct I/O", log,
                     kCheckpointEvery.count());
}

EngineOptions WiredTigerStore::effective_options() const {
  const Handle session(connection_);
  WT_CURSOR* const cursor = session.open_cursor("metadata:create");
  EngineOptions options = {{.name = "wiredtiger_open", .value = config_of(settings_)}};
  for (const std::string& uri : uris_) {
    const char* config = nullptr;
    cursor->set_key(cursor, uri.c_str());
    ensure(cursor->search(cursor), "find a table's metadata");
    ensure(cursor->get_value(cursor, &config), "read a table's metadata");
    options.push_back({.name = uri, .value = config});
  }
  return options;
}

void WiredTigerStore::close() {
  if (flusher_) {
    flusher_->stop();
    flusher_.reset();  // its session ends before the connection
  }
  connection_.close();
}

StoreEntry<WiredTigerStore> wiredtiger_store() {
  return {.traits = {.name = "wiredtiger",
                     .isolations = {Isolation::snapshot},
                     .durabilities = {Durability::async, Durability::sync},
                     .memory_mib_min = kMemoryMibMin,
                     .load_threads_max = 1,
                     .takes_delta = true,
                     .checkpoints_by_time = true},
          .open = [](const StoreSettings& settings) {
            return std::make_unique<WiredTigerStore>(settings);
          }};
}

}  // namespace palimpsest::experiments
