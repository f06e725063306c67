#include "experiments/endurance/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

#include "experiments/common/flag_checks.h"
#include "experiments/common/process_stats.h"
#include "experiments/common/record_key.h"

namespace palimpsest::experiments::endurance {
namespace {

using Clock = std::chrono::steady_clock;
using engines::OrderedEngine;
using engines::OrderedReader;
using engines::OrderedSession;

/// Records of a transaction that loads or appends.
constexpr std::uint64_t kRecordsOfTransaction = 10;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void require(bool right, const std::string& what) {
  if (!right) {
    throw DamagedRecord(what);
  }
}

/// Records with the keys [first, end).
void append(OrderedSession& session, std::uint64_t first, std::uint64_t end,
            const std::string& value) {
  while (first < end) {
    session.begin();
    for (const std::uint64_t stop = std::min(end, first + kRecordsOfTransaction); first < stop;
         ++first) {
      session.insert(first, value);
    }
    session.commit();
  }
}

/// One run: the engine, and what is measured of it.
class Run {
 public:
  Run(const Options& options, OrderedEngine& engine, Result& result,
      std::uint64_t resident_bytes_before)
      : options_(options),
        engine_(engine),
        result_(result),
        resident_bytes_before_(resident_bytes_before),
        session_(engine.open_session()) {}

  void work() {
    switch (options_.workload) {
      case Workload::queue: return queue();
      case Workload::reader: return reader();
      case Workload::refresh: return refresh();
    }
  }

 private:
  void queue() {
    append(*session_, 0, options_.records, value_);
    in_parts([&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t taken = first; taken < end; ++taken) {
        append(*session_, options_.records + taken, options_.records + taken + 1, value_);
        session_->begin();
        const std::optional<std::uint64_t> key = session_->take_first();
        require(key == taken,
                fmt::format("take {} found {}", taken, key ? std::to_string(*key) : "nothing"));
        session_->commit();
      }
    });
  }

  void reader() {
    append(*session_, 0, options_.records, value_);
    const std::unique_ptr<OrderedReader> reader = engine_.open_reader();
    in_parts([&](std::uint64_t first, std::uint64_t end) {
      append(*session_, options_.records + first, options_.records + end, value_);
    });
    const std::uint64_t found = reader->count();
    require(found == options_.records,
            fmt::format("the reader found {} of {} records", found, options_.records));
  }

  void refresh() {
    session_->replace_all(options_.records, value_);
    in_parts([&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t round = first; round < end; ++round) {
        session_->replace_all(options_.records, value_);
      }
    });
    const std::uint64_t found = engine_.open_reader()->count();
    require(found == options_.records,
            fmt::format("{} of {} records after the last refresh", found, options_.records));
  }

  void in_parts(const std::function<void(std::uint64_t first, std::uint64_t end)>& work) {
    for (std::uint64_t part = 0; part < kParts; ++part) {
      const std::uint64_t first = options_.operations * part / kParts;
      const std::uint64_t end = options_.operations * (part + 1) / kParts;
      const Clock::time_point begin = Clock::now();
      work(first, end);
      const double seconds = seconds_since(begin);
      const std::uint64_t resident = read_process_stats().resident_bytes;
      result_.parts.push_back(
          {.operations = end - first,
           .seconds = seconds,
           .resident_bytes = resident - std::min(resident, resident_bytes_before_),
           .disk_bytes = occupied_bytes(options_.path)});
    }
  }

  const Options& options_;
  OrderedEngine& engine_;
  Result& result_;
  const std::uint64_t resident_bytes_before_;
  const std::string value_ = std::string(kValueBytes, 'v');
  std::unique_ptr<OrderedSession> session_;
};

void make_directory(const std::filesystem::path& path) {
  std::filesystem::create_directories(path);
  if (!std::filesystem::is_empty(path)) {
    throw UsageError(fmt::format("--path={}: is not empty", path.string()));
  }
}

}  // namespace

std::string_view name_of(Workload workload) noexcept {
  switch (workload) {
    case Workload::queue: return "queue";
    case Workload::reader: return "reader";
    case Workload::refresh: return "refresh";
  }
  return "unknown";
}

Result run(const Options& options, const engines::OrderedEngineEntry& entry) {
  make_directory(options.path);
  Result result;
  const std::uint64_t resident_bytes_before = read_process_stats().resident_bytes;
  const std::unique_ptr<OrderedEngine> engine =
      entry.open({.directory = options.path, .memory_bytes = options.memory_bytes});
  result.description = engine->description();
  try {
    Run(options, *engine, result, resident_bytes_before).work();
  } catch (const DamagedRecord&) {
    throw;
  } catch (const std::exception& error) {
    result.failure = error.what();
  }
  engine->close();
  result.disk_bytes_closed = occupied_bytes(options.path);
  return result;
}

}  // namespace palimpsest::experiments::endurance
