// A row of a table as it is stored, without a database, to test functions of RowView.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/row.h"
#include "palimpsest/schema.h"
#include "palimpsest/value.h"

#include "engine/format/table_format.h"

namespace palimpsest::test {

[[nodiscard]] inline std::shared_ptr<const engine::TableFormat> format_of(TableSchema table) {
  return std::make_shared<const engine::TableFormat>(
      engine::StoredTable{.schema = std::move(table)});
}

class StoredRow {
 public:
  /// From the values of all columns in declared order.
  StoredRow(std::shared_ptr<const engine::TableFormat> format, std::span<const Value> values)
      : format_(std::move(format)) {
    std::vector<char> memory(std::size_t{1} << 20U);  // random keys are longer than real ones
    key_ = format_->keys().encode_row(values, memory);
    format_->rows().encode(values, bytes_);
  }
  /// From bytes that may be damaged.
  StoredRow(std::shared_ptr<const engine::TableFormat> format, std::string key, std::string bytes)
      : format_(std::move(format)), key_(std::move(key)), bytes_(std::move(bytes)) {}

  /// Valid as long as this; belongs to one thread.
  [[nodiscard]] RowView view() {
    parts_.forget();
    return {key_, bytes_, *format_, parts_};
  }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::shared_ptr<const engine::TableFormat> format_;
  std::string key_;
  std::string bytes_;
  engine::KeyParts parts_;
};

}  // namespace palimpsest::test
