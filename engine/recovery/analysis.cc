#include "engine/recovery/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include "palimpsest/error.h"

#include "base/check.h"
#include "btree/log/tree_record.h"
#include "wal/transaction_record.h"

namespace palimpsest::engine {
namespace {

using btree::ExtentEffect;
using btree::LargeValueDescriptor;
using btree::PageEffect;
using buffer::PageRun;
using wal::LoggedRecord;
using wal::RecordRole;

[[noreturn]] void refuse(const LoggedRecord& logged, std::string_view why) {
  throw Error(ErrorCode::corruption,
              fmt::format("log of slot {} in incarnation {}, record at LSN {} with GSN {}: {}",
                          raw(logged.slot), raw(logged.incarnation), raw(logged.lsn),
                          raw(logged.record.gsn), why));
}

/// Counts distinct pages. Pages beyond the first kPages of a file, 16 GiB of 4 KiB pages, share
/// bits with earlier ones, which is corrected as in linear counting (Whang et al., TODS 1990).
class PageCount {
 public:
  void note(PageId page) noexcept {
    is_exact_ = is_exact_ && raw(page) < kPages;
    const std::uint64_t bit = raw(page) % kPages;
    std::uint64_t& word = seen_[bit / 64];
    const std::uint64_t mask = std::uint64_t{1} << bit % 64;
    count_ += (word & mask) == 0 ? 1 : 0;
    word |= mask;
  }
  [[nodiscard]] std::uint64_t count() const noexcept {
    constexpr auto kAll = static_cast<double>(kPages);
    const auto seen = static_cast<double>(std::min(count_, kPages - 1));
    return is_exact_ ? count_ : static_cast<std::uint64_t>(-kAll * std::log1p(-seen / kAll));
  }

 private:
  static constexpr std::uint64_t kPages = std::uint64_t{1} << 22U;

  std::vector<std::uint64_t> seen_ = std::vector<std::uint64_t>(kPages / 64);
  std::uint64_t count_ = 0;
  bool is_exact_ = true;
};

class Analyser {
 public:
  explicit Analyser(const AnalysisOptions& options) : options_(options) {}

  void take(const LoggedRecord& logged);
  [[nodiscard]] RecoveryAnalysis finish(Gsn durable);

 private:
  void tree_body(const LoggedRecord& logged, const wal::TransactionRecord& record,
                 TransactionTable::Open* owner);
  void extent(const LoggedRecord& logged, RecordRole role, TransactionTable::Open* owner,
              const LargeValueDescriptor& value, ExtentEffect effect);
  void space_body(const LoggedRecord& logged, const wal::TransactionRecord& record,
                  TransactionTable::Open* owner);

  void use(const PageRun& run, Gsn gsn) { result_.space.note(run, gsn, true); }
  /// Takes pages into use with what is on them already.
  void adopt(const PageRun& run, Gsn gsn) {
    use(run, gsn);
    result_.ended.note(run, gsn, true);
  }
  void free(const PageRun& run, Gsn gsn) {
    result_.space.note(run, gsn, false);
    result_.ended.note(run, gsn, false);
  }

  const AnalysisOptions& options_;
  TransactionTable transactions_;
  PageRanges given_up_;  ///< released by transactions that have won
  PageCount changed_;
  RecoveryAnalysis result_;
};

void Analyser::take(const LoggedRecord& logged) {
  ++result_.records;
  result_.newest_gsn = std::max(result_.newest_gsn, logged.record.gsn);
  if (!logged.counts) {
    return;
  }
  ++result_.records_counted;
  const auto record = wal::decode(logged.record);
  if (!record) {
    refuse(logged, "its kind is unknown");
  }
  TransactionTable::Open* owner = nullptr;
  switch (record->role) {
    case RecordRole::system: transactions_.system(logged); break;
    case RecordRole::change: owner = &transactions_.change(logged, record->back); break;
    case RecordRole::compensation:
      owner = &transactions_.compensation(logged, {record->of, record->undo_next});
      break;
    case RecordRole::commit:
      for (const GivenUp& given : transactions_.commit(logged)) {
        given_up_.note(given.run, given.gsn, true);
      }
      return;
    case RecordRole::rolled_back: transactions_.rolled_back(logged, record->of); return;
  }
  if (logged.record.gsn <= options_.replayed_up_to) {
    return;
  }
  if (record->body_kind == wal::BodyKind::tree) {
    tree_body(logged, *record, owner);
  } else {
    space_body(logged, *record, owner);
  }
}

/// Whether the record changes one record of a leaf and names no large value: most do.
bool concerns_no_space(const btree::RecordSummary& summary) noexcept {
  return summary.is_record_change && !summary.names_large_value;
}

void Analyser::tree_body(const LoggedRecord& logged, const wal::TransactionRecord& record,
                         TransactionTable::Open* owner) {
  const auto summary = btree::summarize(record.body);
  if (!summary) {
    refuse(logged, "it is not a record of a tree");
  }
  if (record.role == RecordRole::change
          ? !summary->is_undoable
          : record.role == RecordRole::compensation && !summary->is_compensation) {
    refuse(logged, "its body does not suit its role");
  }
  if (summary->only_page != kNoPage) {
    changed_.note(summary->only_page);
  }
  if (concerns_no_space(*summary)) {
    return;
  }
  btree::TreeRecord tree;
  if (const auto fault = btree::parse_tree_record(record.body, options_.page_size_bytes, tree)) {
    refuse(logged, *fault);
  }
  const Gsn gsn = logged.record.gsn;
  btree::visit_pages(tree, [&](PageId page, PageEffect effect) {
    if (btree::is_redone(effect)) {
      changed_.note(page);
    }
    if (effect == PageEffect::allocate) {
      use({page, 1}, gsn);
    } else if (effect == PageEffect::adopt) {
      adopt({page, 1}, gsn);
    } else if (effect == PageEffect::free) {
      free({page, 1}, gsn);
    }
  });
  btree::visit_extents(tree, options_.page_size_bytes,
                       [&](const LargeValueDescriptor& value, ExtentEffect effect) {
                         extent(logged, record.role, owner, value, effect);
                       });
}

// Undo goes backwards, so the latest match is the one that is taken back.
void take_back(std::vector<GivenUp>& given_up, const PageRun& run) {
  const auto found = std::find_if(given_up.rbegin(), given_up.rend(),
                                  [&](const GivenUp& given) { return given.run == run; });
  if (found != given_up.rend()) {
    given_up.erase(std::next(found).base());
  }
}

void Analyser::extent(const LoggedRecord& logged, RecordRole role, TransactionTable::Open* owner,
                      const LargeValueDescriptor& value, ExtentEffect effect) {
  const Gsn gsn = logged.record.gsn;
  for (const PageRun& run : value.runs()) {
    if (role == RecordRole::compensation && effect == ExtentEffect::allocate) {
      take_back(owner->given_up, run);
    } else if (effect == ExtentEffect::allocate) {
      adopt(run, gsn);
    } else if (role == RecordRole::change) {
      owner->given_up.push_back({run, gsn});
    } else {
      free(run, gsn);
    }
  }
}

void Analyser::space_body(const LoggedRecord& logged, const wal::TransactionRecord& record,
                          TransactionTable::Open* owner) {
  if (!options_.freed_runs || owner != nullptr) {
    refuse(logged, "a space record where none is expected");
  }
  options_.freed_runs(record.body, [&](const PageRun& run) { free(run, logged.record.gsn); });
}

RecoveryAnalysis Analyser::finish(Gsn durable) {
  result_.newest_gsn = std::max(result_.newest_gsn, durable);
  result_.replayed_up_to = options_.replayed_up_to;
  result_.pages_changed = changed_.count();
  result_.losers = transactions_.losers();
  given_up_.visit([&](const PageRange& given) {
    result_.space.visit_not_newer(given, [&](const PageRange& part) {
      for (std::uint64_t at = raw(part.begin); at < raw(part.end);) {
        const std::uint64_t pages =
            std::min<std::uint64_t>(raw(part.end) - at, std::numeric_limits<std::uint32_t>::max());
        result_.given_up.push_back({PageId{at}, static_cast<std::uint32_t>(pages)});
        at += pages;
      }
    });
  });
  result_.space.visit([&](const PageRange& range) {
    if (range.in_use) {
      result_.page_count_min = std::max(result_.page_count_min, raw(range.end));
    }
  });
  return std::move(result_);
}

}  // namespace

RecoveryAnalysis analyse(const wal::LogReader& reader, const AnalysisOptions& options) {
  Analyser analyser(options);
  ProgressMeter meter(options.progress, RecoveryPhase::analysis, reader.end().bytes);
  std::uint64_t bytes_before = 0;
  for (const wal::StreamPart& part : reader.parts()) {
    wal::StreamPosition chunk = wal::kNowhere;
    reader.visit(part, [&](const LoggedRecord& logged) {
      if (logged.chunk != chunk) {
        chunk = logged.chunk;
        meter.at(bytes_before + raw(chunk) - raw(part.begin));
      }
      analyser.take(logged);
    });
    bytes_before += raw(part.end) - raw(part.begin);
  }
  RecoveryAnalysis analysis = analyser.finish(reader.end().durable_gsn);
  meter.finish();
  return analysis;
}

}  // namespace palimpsest::engine
