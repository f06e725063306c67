// What `palimpsest check` prints: as text, a line an item, or as JSON, an object a line.
//
// JSON: each object has "kind": file, log, pages, tree, table, index, unused_tree, finding,
// left_out, error, result. A finding has "where" and "message"; the result is the last line:
// "sound", and the number of "findings", which counts those too that are not shown. What is added
// later is added as further members and kinds.
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
  /// Of a log that is whole.
  void show(const wal::Segments& segments) const;
  void show(const PageScan& scan) const;
  void show(std::string_view tree, const btree::TreeAudit& audit) const;
  /// The table and its indexes, a line each; without the findings.
  void show(std::string_view table, const engine::TableAudit& audit) const;
  void show(const engine::UnusedTree& tree, std::uint64_t records) const;

  /// Something is wrong.
  void find(std::string_view where, std::string_view message);
  void find(std::string_view where, const btree::Findings& findings);
  /// Something could not be looked at because of that.
  void left_out(std::string_view what, std::string_view why) const;
  /// The database cannot be checked; people read it on stderr.
  void refuse(const Error& error) const;
  /// The last line; all of them are written then.
  void conclude() const;

  [[nodiscard]] bool sound() const noexcept { return findings_ == 0; }

 private:
  bool json_;
  std::uint64_t findings_ = 0;
};

}  // namespace palimpsest::tools
