// Copies all that can be read of a damaged database into a new one: what salvage() is told, and
// tells.
//
//   const SalvageReport report = salvage("shop", "shop-saved");
//   if (!report.is_whole()) {
//     ...
//   }
//
// The damaged database is only read, and no process may write to it meanwhile (locked). It may be
// damaged anywhere: in pages of tables, in its catalog, its space map, its header, its log. What is
// copied, and what never is, is said in docs/guarantees.md.
// Thread-safety: plain values; salvage() from any thread.
// Failure: salvage() throws Error not_found (there is no database), log_not_found (it was last used
//          with a log elsewhere, which SalvageOptions::log_directory does not name), locked,
//          not_a_database, unsupported_version, already_exists (the copy's directory is not empty),
//          invalid_argument (it lies in the database's own), out_of_memory (the log changes more
//          pages than memory_bytes can hold), no_space, io_error of the copy, permission_denied,
//          and what SalvageOptions::progress throws. Nothing is left of the copy then. If the
//          process is killed, an empty database is left there: the copy commits once, at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "palimpsest/log.h"

namespace palimpsest {

struct SalvageProgress {
  std::uint64_t pages_read = 0;   ///< of the damaged database
  std::uint64_t pages_total = 0;  ///< pages are read once to see what they are, before any row is
  std::uint64_t rows = 0;         ///< copied so far
};

struct SalvageOptions {
  /// Where the log is, if not beside the pages.
  std::filesystem::path log_directory{};
  /// Go on without a log, where there is none.
  bool without_log = false;
  /// For the copy, as Options::memory_bytes; as much again for pages that the log brings up to
  /// date, and an eighth for sorting. 0: as Options.
  std::uint64_t memory_bytes = 0;
  /// Also copy rows of pages of which it cannot be told whether they are in use: their rows may be
  /// of the past. There are such only where pages of the space map are damaged together with pages
  /// that lead to tables.
  bool doubtful = false;
  /// Copy the records of trees whose definition is lost, with their keys, as they are stored, into
  /// tables of bytes, "lost tree <number>". Such a tree may also have been an index, or one that
  /// was dropped.
  bool lost_trees = false;
  /// For the copy, as Options::log and Options::log_level. The damaged database reports nothing:
  /// what is found of it is in the SalvageReport.
  LogFunction log{};
  LogLevel log_level = LogLevel::warning;
  /// Called now and then. What it throws ends the salvage and is thrown by it.
  std::function<void(const SalvageProgress&)> progress{};
};

/// Where rows of a table are missing, or may be: between two rows that were copied.
struct SalvageGap {
  std::string after{};   ///< the key of the row before, for people; empty: there is none
  std::string before{};  ///< of the one behind; empty: there is none
};

struct SalvagedIndex {
  std::string name{};
  std::string why{};
};

struct SalvagedTable {
  static constexpr std::size_t kGapsKept = 64;

  std::string name{};
  std::uint64_t rows = 0;
  std::uint64_t damaged_pages = 0;  ///< that are known to be of its rows' tree
  std::uint64_t gap_count = 0;
  std::vector<SalvageGap> gaps{};  ///< the first ones
  // Rows that were left out, of which it is known that they are, or may be, there:
  std::uint64_t lost_large_values = 0;  ///< a part of their value is damaged
  std::uint64_t of_unknown_bulks = 0;   ///< bulks of which it is not known whether they committed
  std::uint64_t of_unfinished = 0;      ///< transactions that had not ended, and cannot be undone
  std::uint64_t undecodable = 0;        ///< no rows of this table
  std::vector<SalvagedIndex> lost_indexes{};  ///< that the rows do not allow

  [[nodiscard]] std::uint64_t rows_left_out() const noexcept {
    return lost_large_values + of_unknown_bulks + of_unfinished + undecodable;
  }
  /// All of its rows were copied, and all of its indexes made.
  [[nodiscard]] bool is_whole() const noexcept {
    return gap_count == 0 && rows_left_out() == 0 && lost_indexes.empty();
  }
};

/// A tree that no definition names, while some are lost.
struct LostTree {
  std::uint32_t number = 0;
  std::uint64_t records = 0;
  std::string table{};  ///< of the copy, with SalvageOptions::lost_trees
};

struct SalvageReport {
  std::vector<SalvagedTable> tables{};
  /// No table is missing but those that are named as damaged.
  bool has_all_definitions = true;
  std::vector<std::string> damaged_definitions{};  ///< names of tables
  std::vector<LostTree> lost_trees{};
  /// Empty: the log was whole. Else what the last transactions did may be missing, wholly or in
  /// parts; and what had not been committed may be there, if pages_beyond_log is not 0.
  std::string log_fault{};
  /// Pages with rows that were copied and that are younger than what the log told.
  std::uint64_t pages_beyond_log = 0;
  /// Transactions that had not ended, and of which some changes may be there.
  std::uint64_t transactions_not_undone = 0;
  std::uint64_t pages = 0;           ///< of the damaged database
  std::uint64_t damaged_pages = 0;   ///< in use, or perhaps; those of indexes are no loss
  std::uint64_t doubtful_pages = 0;  ///< SalvageOptions::doubtful
  bool is_header_made = false;       ///< that of the page file was damaged
  std::uint64_t rows = 0;
  std::chrono::milliseconds duration{0};

  /// Everything that the database held is in the copy, and nothing else.
  [[nodiscard]] bool is_whole() const noexcept;
};

/// Copies what can be read of the database into a directory that is empty or not there.
SalvageReport salvage(const std::filesystem::path& database, const std::filesystem::path& copy,
                      const SalvageOptions& options = {});

}  // namespace palimpsest
