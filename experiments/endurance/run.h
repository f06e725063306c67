// A workload on any store (engines/store.h).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "experiments/common/process_stats.h"
#include "experiments/common/record_key.h"
#include "experiments/endurance/workload.h"
#include "experiments/engines/store.h"

namespace palimpsest::experiments::endurance {

/// One run: the store, and what is measured of it.
template <Store S>
class Run {
  using Session = typename S::Session;

 public:
  Run(const Options& options, S& store, Result& result, std::uint64_t resident_bytes_before)
      : options_(options),
        store_(store),
        result_(result),
        resident_bytes_before_(resident_bytes_before),
        session_(store.open_session(SessionUse::read_write)) {}

  void work() {
    switch (options_.workload) {
      case Workload::queue: return queue();
      case Workload::reader: return reader();
      case Workload::refresh: return refresh();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr TableId kTable{0};
  /// Records of a transaction that loads or appends.
  static constexpr std::uint64_t kRecordsOfTransaction = 10;

  void queue() {
    append(0, options_.records);
    in_parts([&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t taken = first; taken < end; ++taken) {
        append(options_.records + taken, options_.records + taken + 1);
        take(taken);
      }
    });
  }

  void reader() {
    append(0, options_.records);
    const std::unique_ptr<Session> reader = open_reader();
    in_parts([&](std::uint64_t first, std::uint64_t end) {
      append(options_.records + first, options_.records + end);
    });
    const std::uint64_t found = count(*reader);
    require(found == options_.records,
            fmt::format("the reader found {} of {} records", found, options_.records));
  }

  void refresh() {
    replace_all();
    in_parts([&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t round = first; round < end; ++round) {
        replace_all();
      }
    });
    const std::uint64_t found = count(*open_reader());
    require(found == options_.records,
            fmt::format("{} of {} records after the last refresh", found, options_.records));
  }

  void in_parts(const std::function<void(std::uint64_t first, std::uint64_t end)>& work) {
    for (std::uint64_t part = 0; part < kParts; ++part) {
      const std::uint64_t first = options_.operations * part / kParts;
      const std::uint64_t end = options_.operations * (part + 1) / kParts;
      const Clock::time_point begin = Clock::now();
      work(first, end);
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      const std::uint64_t resident = read_process_stats().resident_bytes;
      result_.parts.push_back(
          {.operations = end - first,
           .seconds = seconds,
           .resident_bytes = resident - std::min(resident, resident_bytes_before_),
           .disk_bytes = occupied_bytes(options_.path)});
    }
  }

  // Operations. One transaction is under way: a conflict is an error of the engine.

  /// Records with the keys [first, end).
  void append(std::uint64_t first, std::uint64_t end) {
    while (first < end) {
      session_->begin(Intent::read_write);
      for (const std::uint64_t stop = std::min(end, first + kRecordsOfTransaction); first < stop;
           ++first) {
        expect(session_->insert(kTable, RecordKey(first).view(), value_), "insert");
      }
      expect(session_->commit(), "commit");
    }
  }

  /// Erases the first record, which has that key. Walks with the engine's cursor or iterator.
  void take(std::uint64_t expected) {
    session_->begin(Intent::read_write);
    std::optional<std::uint64_t> key;
    visit(*session_, [&](ByteView found) {
      key = record_of(found);
      return false;
    });
    require(key == expected,
            fmt::format("take {} found {}", expected, key ? std::to_string(*key) : "nothing"));
    expect(session_->erase(kTable, RecordKey(*key).view()), "erase");
    expect(session_->commit(), "commit");
  }

  void replace_all() {
    session_->replace_all(kTable, [&](auto&& put) {
      for (std::uint64_t key = 0; key < options_.records; ++key) {
        put(RecordKey(key).view(), ByteView(value_));
      }
    });
  }

  /// A snapshot, for as long as the session lives.
  [[nodiscard]] std::unique_ptr<Session> open_reader() {
    std::unique_ptr<Session> reader = store_.open_session(SessionUse::read_only);
    reader->begin(Intent::read_only);
    visit(*reader, [](ByteView) { return false; });  // some take it with the first read
    return reader;
  }

  static std::uint64_t count(Session& reader) {
    std::uint64_t count = 0;
    visit(reader, [&](ByteView) {
      ++count;
      return true;
    });
    return count;
  }

  /// Calls visit(key) for all records until it returns false.
  template <class Visit>
  static void visit(Session& session, Visit&& visit) {
    const RecordKey first(0);
    const RecordKey last(std::numeric_limits<std::uint64_t>::max());
    expect(session.scan(kTable, first.view(), last.view(), Direction::forward,
                        [&](ByteView key, ByteView) { return visit(key); }),
           "scan");
  }

  static void expect(Access access, const char* what) {
    if (access != Access::done) {
      throw std::runtime_error(fmt::format("the engine did not {}", what));
    }
  }

  const Options& options_;
  S& store_;
  Result& result_;
  const std::uint64_t resident_bytes_before_;
  const std::string value_ = std::string(kValueBytes, 'v');
  std::unique_ptr<Session> session_;
};

template <Store S>
[[nodiscard]] EngineEntry engine_on(StoreEntry<S> entry, Isolation isolation) {
  return {.traits = entry.traits, .run = [entry, isolation](const Options& options) {
            Result result;
            const std::uint64_t resident_bytes_before = read_process_stats().resident_bytes;
            const std::unique_ptr<S> store = entry.open({.purpose = Purpose::churn,
                                                         .directory = options.path,
                                                         .tables = {},
                                                         .memory_bytes = options.memory_bytes,
                                                         .isolation = isolation});
            result.description = store->description();
            try {
              Run<S>(options, *store, result, resident_bytes_before).work();
            } catch (const DamagedRecord&) {
              throw;
            } catch (const std::exception& error) {
              result.failure = error.what();
            }
            store->close();
            return result;
          }};
}

}  // namespace palimpsest::experiments::endurance
