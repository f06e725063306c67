// The output of `palimpsest check`: as text, a line for each item, or as JSON, an object on each
// line.
//
// JSON: each object has "kind": file, log, pages, tree, table, index, unused_tree, finding,
// left_out, error, result. A finding has "where" and "message"; the result is the last line:
// "sound", and the number of "findings", including those not shown. Later versions may add members
// and kinds.
// Failure: std::system_error if the output cannot be written.
#pragma once

#include <cstdint>
#include <string_view>

#include "palimpsest/error.h"

#include "btree/audit.h"
#include "buffer/page_file.h"
#include "engine/catalog/definitions_audit.h"
#include "engine/table/table_audit.h"
#include "wal/segments.h"

namespace palimpsest::tools {

struct PageScan {
  std::uint64_t in_use = 0;
  std::uint64_t damaged = 0;  ///< of those in use
  std::uint64_t free = 0;
};

class CheckReport {
 public:
  explicit CheckReport(bool json) : json_(json) {}

  void show(const buffer::PageFile& file) const;
  /// For a log without damage.
  void show(const wal::Segments& segments) const;
  void show(const PageScan& scan) const;
  void show(std::string_view tree, const btree::TreeAudit& audit) const;
  /// The table and its indexes, a line each; without the findings.
  void show(std::string_view table, const engine::TableAudit& audit) const;
  void show(const engine::UnusedTree& tree, std::uint64_t records) const;

  /// Reports damage.
  void find(std::string_view where, std::string_view message);
  void find(std::string_view where, const btree::Findings& findings);
  /// Reports a part that could not be checked because of damage.
  void left_out(std::string_view what, std::string_view why) const;
  /// The database cannot be checked; as text, stderr has the message.
  void refuse(const Error& error) const;
  /// Writes the last line, and flushes.
  void conclude() const;

  [[nodiscard]] bool sound() const noexcept { return findings_ == 0; }

 private:
  bool json_;
  std::uint64_t findings_ = 0;
};

}  // namespace palimpsest::tools
