#include "engine/recovery/transaction_table.h"

#include <fmt/format.h>

#include <string_view>

#include "palimpsest/error.h"

namespace palimpsest::engine {
namespace {

[[noreturn]] void refuse(wal::Incarnation incarnation, SlotId slot, Lsn lsn, std::string_view why) {
  throw Error(ErrorCode::corruption,
              fmt::format("log of slot {} in incarnation {}, record at LSN {}: {}", raw(slot),
                          raw(incarnation), raw(lsn), why));
}

[[noreturn]] void refuse(const wal::LoggedRecord& logged, std::string_view why) {
  refuse(logged.incarnation, logged.slot, logged.lsn, why);
}

}  // namespace

TransactionTable::SlotLog& TransactionTable::log_of(const wal::LoggedRecord& logged) {
  const LogName name{logged.incarnation, logged.slot};
  if (recent_ == nullptr || name != recent_name_) {
    recent_ = &logs_[name];
    recent_name_ = name;
  }
  if (recent_->oldest == wal::kNoLsn) {
    recent_->oldest = logged.lsn;
  }
  recent_->newest_chunk = logged.chunk;
  return *recent_;
}

TransactionTable::Open& TransactionTable::change(const wal::LoggedRecord& logged,
                                                 std::uint32_t back) {
  SlotLog& log = log_of(logged);
  if (back == 0) {
    if (log.open && log.open->undo_next != wal::kNoLsn) {
      refuse(logged, "a transaction begins while another has not ended");
    }
    log.open = Open{.first = logged.lsn, .given_up = {}};
  } else {
    if (back > raw(logged.lsn)) {
      refuse(logged, "it points to before the beginning of the log");
    }
    const Lsn before{raw(logged.lsn) - back};
    if (!log.open && before >= log.oldest) {
      refuse(logged, "it belongs to a transaction that has ended");
    }
    if (log.open && before != log.open->undo_next) {
      refuse(logged, "it does not point to the previous change of its transaction");
    }
    if (!log.open) {
      log.open = Open{.given_up = {}};
    }
  }
  log.open->undo_next = logged.lsn;
  return *log.open;
}

TransactionTable::Open& TransactionTable::compensation(const wal::LoggedRecord& logged,
                                                       const wal::CompensationPrefix& prefix) {
  Open& open = named(logged, prefix.of);
  const bool known = open.undo_next != wal::kNoLsn;
  if (known && prefix.undo_next != wal::kNoLsn && prefix.undo_next >= open.undo_next) {
    refuse(logged, "a compensation undoes a change that is undone already");
  }
  open.undo_next = prefix.undo_next;
  return open;
}

TransactionTable::Open& TransactionTable::named(const wal::LoggedRecord& logged,
                                                const wal::TransactionName& name) {
  static_cast<void>(log_of(logged));
  SlotLog& log = logs_[{name.incarnation, name.slot}];
  if (name.incarnation > logged.incarnation || (log.ended && name.first <= *log.ended)) {
    refuse(logged, "it undoes a transaction that has ended, or that cannot be undone");
  }
  if (!log.open) {
    log.open = Open{.first = name.first, .given_up = {}};
  } else if (log.open->first == wal::kNoLsn && name.first < log.oldest) {
    log.open->first = name.first;
  } else if (log.open->first != name.first) {
    refuse(logged, "it undoes another transaction than the one that is open");
  }
  return *log.open;
}

std::vector<GivenUp> TransactionTable::commit(const wal::LoggedRecord& logged) {
  SlotLog& log = log_of(logged);
  std::vector<GivenUp> given_up;
  if (log.open) {
    given_up = std::move(log.open->given_up);
  } else if (log.ended) {
    refuse(logged, "it commits a transaction without changes");
  }
  log.open.reset();
  log.ended = logged.lsn;
  return given_up;
}

void TransactionTable::rolled_back(const wal::LoggedRecord& logged,
                                   const wal::TransactionName& name) {
  if (named(logged, name).undo_next != wal::kNoLsn) {
    refuse(logged, "a transaction ends as rolled back before all of its changes are undone");
  }
  SlotLog& log = logs_[{name.incarnation, name.slot}];
  log.open.reset();
  log.ended = name.first;
}

std::vector<LoserTransaction> TransactionTable::losers() const {
  std::vector<LoserTransaction> losers;
  for (const auto& [name, log] : logs_) {
    if (!log.open) {
      continue;
    }
    require_changes(name, log);
    losers.push_back(
        {.name = {.incarnation = name.first, .first = log.open->first, .slot = name.second},
         .undo_next = log.open->undo_next,
         .newest_chunk = log.newest_chunk});
  }
  return losers;
}

// Checks invariant (2).
void TransactionTable::require_changes(const LogName& name, const SlotLog& log) {
  const bool undone = log.open->first != wal::kNoLsn && log.open->undo_next == wal::kNoLsn;
  if (!undone && (log.open->first == wal::kNoLsn || log.open->first < log.oldest)) {
    refuse(name.first, name.second, log.open->undo_next,
           "its transaction began before the start of replay, and its end is missing");
  }
}

}  // namespace palimpsest::engine
