#include "tests/isolation/register_rules.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/isolation/real_time.h"
#include "tests/isolation/version_finding.h"
#include "tests/isolation/writes.h"

namespace palimpsest::isolation {
namespace {

/// The value of a register before its first write.
constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();
/// Most transactions that follow one version; under snapshot isolation it is one.
constexpr std::ptrdiff_t kFollowersMax = 8;

class RegisterRules {
 public:
  RegisterRules(const History& history, DependencyGraph& graph, Findings& findings)
      : history_(history),
        graph_(graph),
        findings_(findings),
        writes_(history),
        time_(history, writes_) {}

  void check() {
    for (TransactionNumber by = 0; by < history_.size(); ++by) {
      if (history_.at(by).commit_status == CommitStatus::committed) {
        check_transaction(by);
      }
    }
    std::ranges::sort(followers_, {}, order_of);
    check_followers();
    check_time();
    for (const Read& read : reads_) {
      add_followers(read);
    }
  }

 private:
  /// A read of another transaction's write.
  struct Read {
    KeyNumber key = 0;
    std::int64_t value = kNothing;
    TransactionNumber by = 0;
  };

  static std::pair<KeyNumber, std::int64_t> order_of(const Read& read) {
    return {read.key, read.value};
  }

  void check_transaction(TransactionNumber by) {
    struct Seen {
      std::optional<std::int64_t> read{};
      std::optional<std::int64_t> written{};
    };
    std::map<KeyNumber, Seen> keys;
    for (const Access& access : history_.accesses(by)) {
      const auto values = history_.values(access);
      const std::int64_t value = values.empty() ? kNothing : values.front();
      Seen& seen = keys[access.key];
      if (!access.is_read) {
        if (seen.read && !seen.written) {
          followers_.push_back({.key = access.key, .value = *seen.read, .by = by});
        }
        seen.written = value;
      } else if (seen.written) {
        if (value != *seen.written) {
          add(Anomaly::internal, access.key, value, by);
        }
      } else {
        if (seen.read && *seen.read != value) {
          add(Anomaly::unrepeatable, access.key, value, by);
        }
        seen.read = value;
        check_read({.key = access.key, .value = value, .by = by});
      }
    }
  }

  void check_read(const Read& read) {
    reads_.push_back(read);
    if (read.value == kNothing) {
      return;
    }
    const Write* write = writes_.find(read.key, read.value);
    if (write == nullptr) {
      add(Anomaly::unwritten, read.key, read.value, read.by);
      return;
    }
    if (write->by == read.by) {
      add(Anomaly::internal, read.key, read.value, read.by);
      return;
    }
    if (history_.at(write->by).commit_status == CommitStatus::aborted) {
      add(Anomaly::g1a, read.key, read.value, read.by, write->by);
      return;
    }
    if (!write->is_last) {
      add(Anomaly::g1b, read.key, read.value, read.by, write->by);
    }
    graph_.add(write->by, read.by, EdgeKind::wr, read.key);
  }

  void check_followers() {
    for (std::size_t i = 0; i < followers_.size(); ++i) {
      const Read& follower = followers_[i];
      const Write* write = writes_.find(follower.key, follower.value);
      if (write != nullptr && history_.at(write->by).commit_status != CommitStatus::aborted) {
        graph_.add(write->by, follower.by, EdgeKind::ww, follower.key);
      }
      if (i != 0 && order_of(followers_[i - 1]) == order_of(follower)) {
        add(Anomaly::lost_update, follower.key, follower.value, followers_[i - 1].by, follower.by);
      }
    }
  }

  void add_followers(const Read& read) {
    const auto found = std::ranges::equal_range(followers_, order_of(read), {}, order_of);
    const auto count = std::min(kFollowersMax, found.end() - found.begin());
    for (auto follower = found.begin(); follower != found.begin() + count; ++follower) {
      graph_.add(read.by, follower->by, EdgeKind::rw, read.key);
    }
  }

  /// What time implies about the order of versions.
  void check_time() {
    std::ranges::sort(reads_, {}, order_of);
    const VersionOrder order(versions());
    for (const Contradiction& found : order.contradictions()) {
      const Anomaly anomaly = found.missed.last_reader ? Anomaly::stale_read : Anomaly::lost_write;
      add(anomaly, found.read.key, found.read.value, *found.read.last_reader, found.missed.by);
    }
    for (const Version& version : order.all()) {
      const auto reads = reads_of(version);
      order.each_next(version, [&](const Version& next) {
        if (version.by && next.by) {
          graph_.add(*version.by, *next.by, EdgeKind::ww, version.key);
        }
        for (const Read& read : reads) {
          graph_.add(read.by, *next.by, EdgeKind::rw, version.key);
        }
      });
    }
  }

  [[nodiscard]] std::span<const Read> reads_of(const Version& version) const {
    const auto found =
        std::ranges::equal_range(reads_, std::pair(version.key, version.value), {}, order_of);
    return {found.begin(), found.end()};
  }

  [[nodiscard]] std::vector<Version> versions() const {
    std::vector<Version> all;
    all.reserve(history_.keys() + writes_.all().size());
    for (KeyNumber key = 0; key < history_.keys(); ++key) {
      all.push_back({.key = key, .value = kNothing});
    }
    for (const Write& write : writes_.all()) {
      if (write.is_last && time_.has_committed(write.by)) {
        all.push_back({.key = write.key,
                       .value = write.value,
                       .by = write.by,
                       .there = time_.there(write.by),
                       .current = time_.begun(write.by)});
      }
    }
    for (Version& version : all) {
      for (const Read& read : reads_of(version)) {
        if (!version.last_reader || time_.begun(*version.last_reader) < time_.begun(read.by)) {
          version.last_reader = read.by;
        }
        version.current = std::max(version.current, time_.begun(read.by));
      }
    }
    return all;
  }

  void add(Anomaly anomaly, KeyNumber key, std::int64_t value, TransactionNumber by,
           std::optional<TransactionNumber> other = {}) {
    add_version_finding(findings_, history_, anomaly, key,
                        value == kNothing ? "null" : std::to_string(value), by, other);
  }

  const History& history_;
  DependencyGraph& graph_;
  Findings& findings_;
  Writes writes_;
  RealTime time_;
  std::vector<Read> reads_;
  std::vector<Read> followers_;  ///< readers of a version that have written the next
};

}  // namespace

void check_registers(const History& history, DependencyGraph& graph, Findings& findings) {
  RegisterRules(history, graph, findings).check();
}

}  // namespace palimpsest::isolation
