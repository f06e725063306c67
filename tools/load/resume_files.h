// What a load that can be resumed leaves in the database's directory while it runs: its sorted
// runs, and the manifest that says what they cover.
//
//   load-<table>.runs      rows in sorted runs (palimpsest/row_sort.h)
//   load-<table>.manifest  conditions, position, counts, where the runs are; with a checksum
//
// <table> is a checksum of the table's name, eight hexadecimal digits; the manifest has the name.
// A manifest is written under another name ("*.new"), synced, and renamed, after the runs it names
// have been synced: at any time the one that is there is whole, and its runs are. The manifest is
// removed before the runs.
// Manifest: lines of text. "palimpsest load 1"; "condition NAME<tab>VALUE", some; "position FILE
// BYTE LINE"; "counts RECORDS LINES ROWS"; "faults", a number for each kind; "rejected" with the
// lengths of both files; "below BYTES HEADER" for each file of records below one header, which is
// in hexadecimal digits; "runs" with what RowSort::save() has returned; "checksum" with the CRC-32
// of all that stands before that line.
// Failure: Error io_error, no_space; corruption for a manifest that is damaged.
// Thread-safety: belongs to one thread; the database that is open keeps other processes out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/load/chunk_reader.h"
#include "tools/load/fault_report.h"
#include "tools/load/load_conditions.h"

namespace palimpsest::load {

/// How far a load has come.
struct SavedLoad {
  std::vector<LoadCondition> conditions{};
  InputPosition position{};         ///< everything before it is in the runs, or was counted
  std::uint64_t records = 0;        ///< before it
  std::uint64_t skipped_lines = 0;  ///< before it
  std::uint64_t rows = 0;           ///< in the runs
  SavedFaults faults{};
  std::string runs{};  ///< RowSortOptions::saved
};

class ResumeFiles {
 public:
  ResumeFiles(std::filesystem::path directory, const std::string& table);

  /// RowSortOptions::kept_as.
  [[nodiscard]] const std::string& runs_name() const noexcept { return runs_name_; }

  /// What the manifest says; nothing if there is none.
  [[nodiscard]] std::optional<SavedLoad> find() const;
  /// In place of what it said. The runs are on disk.
  void save(const SavedLoad& saved) const;
  /// Both files are gone, if they were there.
  void remove() const;

 private:
  [[nodiscard]] std::filesystem::path manifest() const { return directory_ / manifest_name_; }
  [[nodiscard]] std::filesystem::path new_manifest() const;

  std::filesystem::path directory_;
  std::string runs_name_;
  std::string manifest_name_;
};

}  // namespace palimpsest::load
