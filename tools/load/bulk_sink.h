// Rows of a load as inserts of one bulk transaction, of any size, which also makes the table if it
// is new.
//
// Rows that come in the order of their keys go into the table at once, some hundred together. When
// too many of these do not, they and all that follow are sorted first (palimpsest/row_sort.h), and
// take a small part of the time. Rows that are too long to be sorted go into the table at once.
//
// With `sort.kept_as` all rows are sorted, whatever their order, and save() keeps them; one that is
// too long for that is a UsageError.
//
// Indexes of a new table are made before its rows: what a row has that an index does not take is
// then noticed at that row.
// Thread-safety and failure: row_sink.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/row_sort.h"

#include "tools/load/row_sink.h"
#include "tools/load/schema_text.h"
#include "tools/load/space_check.h"

namespace palimpsest::load {

struct BulkSinkOptions {
  bool makes_table = false;
  OnDuplicate on_duplicate = OnDuplicate::error;
  bool may_sort = true;
  RowSortOptions sort{};
  std::optional<SpaceCheckOptions> space{};  ///< nothing: no check before sorting
};

class BulkSink : public RowSink {
 public:
  /// All outlive the sink. `clock` tells sorting from writing in end().
  BulkSink(Database& database, const TableText& table, const BulkSinkOptions& options,
           RowOutcomes& outcomes, StageClock& clock);

  [[nodiscard]] Stage stage() const noexcept override {
    return sort_ ? Stage::sorting : Stage::writing;
  }
  [[nodiscard]] std::unique_ptr<RowCoder> coder() override;
  void put(const EncodedRow& row, const RowOrigin& origin) override;
  void let_go() override;
  void flush() override;
  [[nodiscard]] std::uint64_t unsaved_bytes() const noexcept override { return unsaved_bytes_; }
  [[nodiscard]] std::string save() override;
  void end() override;
  void finish() override;

 private:
  /// A row with its origin, one behind the other in bytes_.
  struct Kept {
    std::size_t key = 0;  ///< lengths
    std::size_t bytes = 0;
    std::size_t origin = 0;
  };

  void watch_order(const EncodedRow& row);
  void keep(const EncodedRow& row, std::string_view origin);
  void put_kept();
  void put_views();
  [[nodiscard]] bool begins_to_sort();
  [[nodiscard]] std::string_view encoded(const RowOrigin& origin);
  [[nodiscard]] bool keeps_rows() const noexcept { return !options_.sort.kept_as.empty(); }
  void begin_sort();
  void sort_or_insert(const EncodedRow& row, std::string_view origin);
  void insert_rows();
  void insert_one(const EncodedRow& row, const RowOrigin& origin);
  void put_duplicate(const Outcome& outcome, const EncodedRow& row, const RowOrigin& origin);
  void refuse_duplicate(const Outcome& outcome, const RowOrigin& origin);
  void refuse_range(const Error& error, const RowOrigin& origin);

  const TableText& definition_;
  const BulkSinkOptions options_;
  RowOutcomes& outcomes_;
  StageClock& clock_;
  Transaction transaction_;
  Table table_;
  std::optional<RowSort> sort_{};      ///< once rows are sorted
  std::optional<SpaceCheck> space_{};  ///< of that

  bool is_decided_;               ///< whether rows are sorted
  std::string last_key_{};        ///< the largest so far
  std::uint64_t looked_at_ = 0;   ///< rows of a window
  std::uint64_t disordered_ = 0;  ///< of these

  std::uint64_t unsaved_bytes_ = 0;  ///< if rows are kept

  std::string origin_{};
  std::string bytes_{};
  std::vector<Kept> kept_{};
  std::vector<EncodedRow> rows_{};           ///< in bytes_, or views of what was put
  std::vector<std::string_view> origins_{};  ///< of these, in bytes_
  std::vector<RowOrigin> views_{};           ///< or as they were put
  std::size_t bytes_in_views_ = 0;           ///< of these rows
};

}  // namespace palimpsest::load
