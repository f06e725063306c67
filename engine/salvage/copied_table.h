// A table of the copy that salvage makes, filled row by row in the order of keys; and what is told
// of it.
//
// Thread-safety: belongs to one thread.
// Failure: what writing to the copy throws. A row that is none of the table is counted and left
// out.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "palimpsest/salvage.h"
#include "palimpsest/table.h"
#include "palimpsest/transaction.h"

#include "engine/format/schema_format.h"
#include "engine/format/table_format.h"
#include "engine/salvage/committed_records.h"

namespace palimpsest::engine {

class CopiedTable final : public RecordSink {
 public:
  /// Makes the table in the copy; `told` is called for each row. All outlive it.
  CopiedTable(Transaction& copy, const StoredTable& stored, SalvagedTable& report,
              std::function<void()> told);

  void record(ByteView key, ByteView value) override;
  void left_out(ByteView key, LeftOut why) override;
  void miss(const KeyPart& part) override;

  /// There are no more rows.
  void end_rows();
  /// Makes its indexes anew. Those that the rows do not allow are told.
  static void make_indexes(Transaction& copy, const StoredTable& stored, SalvagedTable& report);

 private:
  [[nodiscard]] bool insert(ByteView key, ByteView value);
  void end_gap(const std::string& before);

  Transaction& copy_;
  const std::shared_ptr<const TableFormat> format_;
  SalvagedTable& report_;
  const std::function<void()> told_;
  const Table table_;
  std::string last_key_;  ///< of the rows copied
  bool has_row_ = false;
  bool is_in_gap_ = false;
};

}  // namespace palimpsest::engine
