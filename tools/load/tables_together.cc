#include "tools/load/tables_together.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "tools/load/fault.h"
#include "tools/load/interrupt.h"

namespace palimpsest::load {
namespace {

/// Whether it is no error of one table.
bool ends_all(ErrorCode code) noexcept {
  return code == ErrorCode::no_space || code == ErrorCode::out_of_memory ||
         code == ErrorCode::failed || code == ErrorCode::locked;
}

class Work {
 public:
  Work(std::size_t tables, FunctionRef<void(std::size_t)> work) : tables_(tables), work_(work) {}

  void run(std::size_t threads) {
    std::vector<std::jthread> others;
    const std::size_t wanted = std::min(threads, tables_);
    others.reserve(wanted);
    try {
      while (others.size() + 1 < wanted) {
        others.emplace_back([this] { work(); });
      }
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): fewer do it all, too
    }
    work();
  }

  WorkTogether result() {
    if (interrupted_) {
      throw Interrupted();
    }
    std::ranges::sort(failures_, {}, &TableFailure::table);
    return {.not_begun = tables_ - std::min<std::size_t>(next_, tables_),
            .failures = std::move(failures_)};
  }

 private:
  void work() {
    while (!ends_) {
      const std::size_t table = next_++;
      if (table >= tables_) {
        return;
      }
      try {
        work_(table);
      } catch (const Interrupted&) {
        interrupted_ = true;
        ends_ = true;
      } catch (const Error& error) {
        add(table, error.code(), fmt::format("{}: {}", name_of(error.code()), error.what()));
      } catch (const std::bad_alloc& error) {
        add(table, ErrorCode::out_of_memory, error.what());
      } catch (const std::exception& error) {
        add(table, ErrorCode::invalid_argument, error.what());
      }
    }
  }

  void add(std::size_t table, ErrorCode code, std::string message) {
    const std::lock_guard lock(mutex_);
    failures_.push_back({.table = table, .code = code, .message = std::move(message)});
    ends_ = ends_ || ends_all(code);
  }

  const std::size_t tables_;
  const FunctionRef<void(std::size_t)> work_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> ends_ = false;  ///< no further table is begun
  std::atomic<bool> interrupted_ = false;
  std::mutex mutex_{};  ///< of the failures
  std::vector<TableFailure> failures_{};
};

}  // namespace

WorkTogether work_together(std::size_t tables, std::size_t threads,
                           FunctionRef<void(std::size_t)> work) {
  Work all(tables, work);
  all.run(threads);
  return all.result();
}

void require_all(const WorkTogether& work, const std::vector<std::string>& tables,
                 std::string_view done, std::string_view way_out) {
  if (work.failures.empty()) {
    return;
  }
  std::string text =
      fmt::format("{} of {} tables could not be {}", work.failures.size(), tables.size(), done);
  if (work.not_begun != 0) {
    text += fmt::format(", and {} were not begun", work.not_begun);
  }
  for (const TableFailure& failure : work.failures) {
    text += fmt::format("; {}: {}", in_quotes(tables[failure.table]), failure.message);
  }
  throw Error(work.failures.front().code, text.append(way_out));
}

}  // namespace palimpsest::load
