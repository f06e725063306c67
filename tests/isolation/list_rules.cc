#include "tests/isolation/list_rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tests/isolation/real_time.h"
#include "tests/isolation/version_finding.h"
#include "tests/isolation/writes.h"

namespace palimpsest::isolation {
namespace {

using List = std::span<const std::int64_t>;

class ListRules {
 public:
  ListRules(const History& history, DependencyGraph& graph, Findings& findings)
      : history_(history),
        graph_(graph),
        findings_(findings),
        writes_(history),
        time_(history, writes_),
        longest_(history.keys()) {}

  void check() {
    find_longest();
    for (KeyNumber key = 0; key < history_.keys(); ++key) {
      order_versions(key);
    }
    order_unread();
    each_committed([&](TransactionNumber by) {
      check_own(by);
      for (const Access& access : history_.accesses(by)) {
        if (access.is_read) {
          check_read(by, access.key, history_.values(access));
        }
      }
    });
    check_acknowledged();
  }

 private:
  struct Longest {
    std::optional<TransactionNumber> by{};
    List list{};
    Moment begun = 0;  ///< of the last read of the key
    std::optional<TransactionNumber> last_writer{};
  };

  template <class Use>
  void each_committed(const Use& use) const {
    for (TransactionNumber by = 0; by < history_.size(); ++by) {
      if (history_.at(by).commit_status == CommitStatus::committed) {
        use(by);
      }
    }
  }

  void find_longest() {
    each_committed([&](TransactionNumber by) {
      for (const Access& access : history_.accesses(by)) {
        if (!access.is_read) {
          continue;
        }
        Longest& longest = longest_[access.key];
        longest.begun = std::max(longest.begun, time_.begun(by));
        if (!longest.by || access.count > longest.list.size()) {
          longest.by = by;
          longest.list = history_.values(access);
        }
      }
    });
  }

  void order_versions(KeyNumber key) {
    Longest& longest = longest_[key];
    std::optional<TransactionNumber>& before = longest.last_writer;
    for (std::size_t i = 0; i < longest.list.size(); ++i) {
      Write* write = judge(*longest.by, key, longest.list[i]);
      if (write == nullptr || history_.at(write->by).commit_status == CommitStatus::aborted) {
        continue;
      }
      if (write->position != Write::kNowhere) {
        add(Anomaly::duplicate, key, longest.list[i], *longest.by);
        continue;
      }
      write->position = static_cast<std::uint32_t>(i);
      if (before) {
        graph_.add(*before, write->by, EdgeKind::ww, key);
      }
      before = write->by;
    }
  }

  /// Committed elements that were never read come after all that were; only time determines their
  /// order.
  void order_unread() {
    std::vector<Version> unread;
    for (const Write& write : writes_.all()) {
      if (write.position == Write::kNowhere && write.is_last && time_.has_committed(write.by)) {
        unread.push_back({.key = write.key,
                          .value = write.value,
                          .by = write.by,
                          .there = time_.there(write.by),
                          .current = time_.begun(write.by)});
      }
    }
    unread_.emplace(std::move(unread));
    for (const Version& version : unread_->all()) {
      unread_->each_next(version, [&](const Version& next) {
        graph_.add(*version.by, *next.by, EdgeKind::ww, version.key);
      });
    }
    for (KeyNumber key = 0; key < history_.keys(); ++key) {
      if (const auto last = longest_[key].last_writer) {
        add_unread(*last, key, EdgeKind::ww);
      }
    }
  }

  /// The writer and the readers of the last version that was read come before those.
  void add_unread(TransactionNumber by, KeyNumber key, EdgeKind kind) {
    unread_->each_next({.key = key},
                       [&](const Version& next) { graph_.add(by, *next.by, kind, key); });
  }

  /// The write of an element that was read; reports it if no transaction may read it.
  Write* judge(TransactionNumber reader, KeyNumber key, std::int64_t value) {
    Write* write = writes_.find(key, value);
    if (write == nullptr) {
      add(Anomaly::unwritten, key, value, reader);
    } else if (history_.at(write->by).commit_status == CommitStatus::aborted) {
      add(Anomaly::g1a, key, value, reader, write->by);
    }
    return write;
  }

  /// How many elements at its end are the reader's own.
  [[nodiscard]] std::size_t own_count(TransactionNumber by, KeyNumber key, List list) {
    std::size_t count = 0;
    while (count < list.size()) {
      const Write* write = writes_.find(key, list[list.size() - 1 - count]);
      if (write == nullptr || write->by != by) {
        break;
      }
      ++count;
    }
    return count;
  }

  void check_read(TransactionNumber by, KeyNumber key, List list) {
    const Longest& longest = longest_[key];
    if (!std::ranges::equal(list, longest.list.first(list.size()))) {
      explain(by, key, list);
      return;
    }
    const std::size_t own = own_count(by, key, list);
    if (const std::size_t others = list.size() - own; others != 0) {
      const Write* write = writes_.find(key, list[others - 1]);
      if (write != nullptr && write->by != by) {
        graph_.add(write->by, by, EdgeKind::wr, key);
        if (!write->is_last) {
          add(Anomaly::g1b, key, write->value, by, write->by);
        }
      }
    }
    if (own == 0 && list.size() == longest.list.size()) {
      add_unread(by, key, EdgeKind::rw);
    } else if (own == 0) {
      const Write* write = writes_.find(key, longest.list[list.size()]);
      if (write != nullptr && history_.at(write->by).commit_status != CommitStatus::aborted) {
        graph_.add(by, write->by, EdgeKind::rw, key);
      }
    }
  }

  /// Reports why a read is no prefix of the longest one.
  void explain(TransactionNumber by, KeyNumber key, List list) {
    std::vector<std::int64_t> sorted(list.begin(), list.end());
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
      add(Anomaly::duplicate, key, *twice, by);
      return;
    }
    bool explained = false;
    for (const std::int64_t value : list) {
      const Write* write = judge(by, key, value);
      explained = explained || write == nullptr ||
                  history_.at(write->by).commit_status == CommitStatus::aborted;
    }
    if (!explained) {
      add(Anomaly::incompatible_order, key, list.back(), by, longest_[key].by);
    }
  }

  /// A transaction sees its own elements at the end of the list, and what it has seen before.
  void check_own(TransactionNumber by) {
    struct Seen {
      std::optional<List> before{};
      std::size_t own = 0;  ///< elements appended so far
    };
    std::map<KeyNumber, Seen> keys;
    for (const Access& access : history_.accesses(by)) {
      Seen& seen = keys[access.key];
      if (!access.is_read) {
        ++seen.own;
        continue;
      }
      const List list = history_.values(access);
      const std::size_t own = own_count(by, access.key, list);
      if (own != seen.own) {
        add(Anomaly::internal, access.key, list.empty() ? 0 : list.back(), by);
        continue;
      }
      const List others = list.first(list.size() - own);
      if (seen.before && !std::ranges::equal(others, *seen.before)) {
        add(Anomaly::unrepeatable, access.key, others.empty() ? 0 : others.back(), by);
      }
      seen.before = others;
    }
  }

  /// A transaction that begins after a commit was acknowledged, or seen, sees it.
  void check_acknowledged() {
    struct Acknowledged {
      KeyNumber key = 0;
      Moment there = 0;
      std::uint32_t length = 0;  ///< required length of a list then
      TransactionNumber by = 0;
    };
    std::vector<Acknowledged> all;
    for (const Write& write : writes_.all()) {
      if (!time_.has_committed(write.by)) {
        continue;
      }
      const Moment there = time_.there(write.by);
      if (write.position != Write::kNowhere) {
        all.push_back({write.key, there, write.position + 1, write.by});
      } else if (longest_[write.key].begun > there) {
        add(Anomaly::lost_write, write.key, write.value, write.by);
      }
    }
    const auto order = [](const Acknowledged& one) { return std::pair(one.key, one.there); };
    std::ranges::sort(all, {}, order);
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i].key == all[i - 1].key && all[i].length < all[i - 1].length) {
        all[i].length = all[i - 1].length;
        all[i].by = all[i - 1].by;
      }
    }
    each_committed([&](TransactionNumber by) {
      for (const Access& access : history_.accesses(by)) {
        const auto later =
            std::ranges::lower_bound(all, std::pair(access.key, time_.begun(by)), {}, order);
        if (access.is_read && later != all.begin() && (later - 1)->key == access.key &&
            (later - 1)->length > access.count) {
          add(Anomaly::stale_read, access.key, access.count, by, (later - 1)->by);
        }
      }
    });
  }

  void add(Anomaly anomaly, KeyNumber key, std::int64_t value, TransactionNumber by,
           std::optional<TransactionNumber> other = {}) {
    add_version_finding(findings_, history_, anomaly, key, std::to_string(value), by, other);
  }

  const History& history_;
  DependencyGraph& graph_;
  Findings& findings_;
  Writes writes_;
  RealTime time_;
  std::vector<Longest> longest_;
  std::optional<VersionOrder> unread_;  ///< committed, and in no list
};

}  // namespace

void check_lists(const History& history, DependencyGraph& graph, Findings& findings) {
  ListRules(history, graph, findings).check();
}

}  // namespace palimpsest::isolation
