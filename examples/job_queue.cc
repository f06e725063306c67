// A job queue: producers put jobs in, workers take the oldest one out, do it and delete it.
//
//   example_job_queue DIRECTORY [JOBS]
//
// One transaction claims a job and another one deletes it, so that no transaction is open while the
// job is done. The index finds the oldest waiting job; a worker claims it by changing its row,
// which one transaction at a time can do. Jobs claimed by a process that died are put back when the
// queue is opened.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/table_of.h"

namespace {

using namespace palimpsest;

constexpr std::size_t kProducers = 2;
constexpr std::size_t kWorkers = 6;

enum class State : std::int8_t { waits = 1, claimed };

struct Job {
  std::int64_t id = 0;
  State state = State::waits;
  Timestamp put_at{};
  std::string payload{};
};

Table find_or_create(Database& database) {
  if (const auto found = database.find_table("job")) {
    return *found;
  }
  const TableSchema jobs{.name = "job",
                         .columns = {{"id", types::int64()},
                                     {"state", types::int8()},
                                     {"put_at", types::timestamp()},
                                     {"payload", types::varchar(1000)}},
                         .key = {"id"}};
  return database.run([&](Transaction& transaction) {
    transaction.create_table(jobs).require();
    transaction.create_index("job", {.name = "by_age", .columns = {"state", "put_at"}}).require();
    return transaction.table("job");
  });
}

class JobQueue {
 public:
  explicit JobQueue(const char* directory)
      : database_(Database::open(directory)),
        jobs_(find_or_create(database_), {{"id", &Job::id},
                                          {"state", &Job::state},
                                          {"put_at", &Job::put_at},
                                          {"payload", &Job::payload}}),
        by_age_(jobs_.table().index("by_age")) {
    Cursor last = jobs_.table().cursor();
    last.seek_last();
    next_id_ = last.valid() ? jobs_.of(last.row()).id + 1 : 0;
    put_back_claimed();
  }

  void put(const std::string& payload) {
    const std::int64_t id = next_id_++;
    database_.run([&](Transaction& transaction) {
      jobs_.insert(transaction, {.id = id, .put_at = Timestamp::now(), .payload = payload})
          .require();
    });
  }

  /// The oldest job that no other worker is claiming; nothing if none waits.
  std::optional<Job> claim() {
    return database_.run([&](Transaction& transaction) -> std::optional<Job> {
      const auto waiting = static_cast<std::int64_t>(State::waits);
      Cursor oldest = by_age_.cursor(transaction, Range::prefix({waiting}));
      for (; oldest.valid(); oldest.next()) {
        Job job = jobs_.of(oldest.row());
        bool waits = false;
        const auto take = [&](Job& row) {
          waits = row.state == State::waits;
          row.state = State::claimed;
        };
        // In conflict, or absent: another worker has it; try the next one.
        if (jobs_.modify(transaction, {job.id}, take) && waits) {
          job.state = State::claimed;
          return job;
        }
      }
      return std::nullopt;
    });
  }

  void finish(const Job& job) {
    database_.run([&](Transaction& transaction) { jobs_.erase(transaction, {job.id}).require(); });
  }

  [[nodiscard]] bool is_empty() const { return !jobs_.table().cursor().valid(); }
  void close() { database_.close(); }

 private:
  /// Left by an earlier process: no other one has the database open.
  void put_back_claimed() {
    const int count = database_.run([&](Transaction& transaction) {
      int put_back = 0;
      Cursor claimed = jobs_.table().cursor(transaction);
      for (; claimed.valid(); claimed.next(), ++put_back) {
        const auto put = [](Job& job) { job.state = State::waits; };
        jobs_.modify(transaction, {jobs_.of(claimed.row()).id}, put).require();
      }
      return put_back;
    });
    std::printf("%d jobs are left from before\n", count);
  }

  Database database_;
  TableOf<Job> jobs_;
  Index by_age_;
  std::atomic<std::int64_t> next_id_{0};
};

/// Claims and does jobs until there are none and no more will come; returns those it has done.
void work(JobQueue& queue, const std::atomic<std::size_t>& producing,
          std::vector<std::int64_t>& done) {
  for (;;) {
    const bool last_look = producing == 0;
    if (const auto job = queue.claim()) {
      done.push_back(job->id);  // here it would be done
      queue.finish(*job);
    } else if (last_look) {
      return;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

/// Whether no job was done twice.
bool all_once(std::vector<std::vector<std::int64_t>>& done, std::size_t& count) {
  std::vector<std::int64_t> all;
  for (const auto& of_worker : done) {
    all.insert(all.end(), of_worker.begin(), of_worker.end());
  }
  std::sort(all.begin(), all.end());
  count = all.size();
  return std::adjacent_find(all.begin(), all.end()) == all.end();
}

int run(const char* directory, std::size_t jobs) {
  JobQueue queue(directory);
  std::atomic<std::size_t> producing{kProducers};
  std::vector<std::vector<std::int64_t>> done(kWorkers);
  {
    std::vector<std::jthread> threads;
    threads.reserve(kProducers + kWorkers);
    for (std::size_t producer = 0; producer < kProducers; ++producer) {
      threads.emplace_back([&] {
        for (std::size_t made = 0; made < jobs / kProducers; ++made) {
          queue.put("job " + std::to_string(made));
        }
        --producing;
      });
    }
    for (auto& of_worker : done) {
      threads.emplace_back([&] { work(queue, producing, of_worker); });
    }
  }
  std::size_t count = 0;
  const bool once = all_once(done, count);
  const bool empty = queue.is_empty();
  std::printf("%zu jobs done by %zu workers, %s, and %s\n", count, kWorkers,
              once ? "none twice" : "SOME TWICE", empty ? "none is left" : "SOME ARE LEFT");
  queue.close();
  return once && empty && count >= jobs / kProducers * kProducers ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: example_job_queue DIRECTORY [JOBS]\n");
    return 2;
  }
  try {
    return run(argv[1], argc == 3 ? std::stoul(argv[2]) : 2000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "example_job_queue: %s\n", error.what());
    return 1;
  }
}
