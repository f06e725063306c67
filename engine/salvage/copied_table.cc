#include "engine/salvage/copied_table.h"

#include <utility>

#include "palimpsest/error.h"

#include "engine/format/value_text.h"

namespace palimpsest::engine {
namespace {

Table make_table(Transaction& copy, const TableSchema& schema) {
  copy.create_table(schema).require();
  return copy.table(schema.name);
}

}  // namespace

CopiedTable::CopiedTable(Transaction& copy, const StoredTable& stored, SalvagedTable& report,
                         std::function<void()> told)
    : copy_(copy),
      format_(std::make_shared<const TableFormat>(stored)),
      report_(report),
      told_(std::move(told)),
      table_(make_table(copy, stored.schema)) {}

void CopiedTable::record(ByteView key, ByteView value) {
  if (!insert(key, value)) {
    ++report_.undecodable;
    return;
  }
  if (is_in_gap_) {
    end_gap(text_of_key(format_->keys(), key));
  }
  last_key_.assign(key);
  has_row_ = true;
  ++report_.rows;
  told_();
}

/// False: it is no row of the table.
bool CopiedTable::insert(ByteView key, ByteView value) {
  try {
    return table_.insert(copy_, EncodedRow::of(key, value)).is_done();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument && error.code() != ErrorCode::corruption) {
      throw;
    }
    return false;
  }
}

void CopiedTable::left_out(ByteView /*key*/, LeftOut why) {
  switch (why) {
    case LeftOut::large_value: ++report_.lost_large_values; break;
    case LeftOut::bulk: ++report_.of_unknown_bulks; break;
    case LeftOut::unfinished: ++report_.of_unfinished; break;
    case LeftOut::undecodable: ++report_.undecodable; break;
  }
}

// Several in a row, with no row between them, are told as one.
void CopiedTable::miss(const KeyPart& /*part*/) {
  is_in_gap_ = true;
}

void CopiedTable::end_gap(const std::string& before) {
  is_in_gap_ = false;
  if (++report_.gap_count <= SalvagedTable::kGapsKept) {
    report_.gaps.push_back(
        {.after = has_row_ ? text_of_key(format_->keys(), ByteView(last_key_)) : "",
         .before = before});
  }
}

void CopiedTable::end_rows() {
  if (is_in_gap_) {
    end_gap("");
  }
}

void CopiedTable::make_indexes(Transaction& copy, const StoredTable& stored,
                               SalvagedTable& report) {
  for (const StoredIndex& index : stored.indexes) {
    try {
      const Outcome outcome = copy.create_index(stored.schema.name, index.schema);
      if (!outcome) {
        report.lost_indexes.push_back({.name = index.schema.name, .why = outcome.text()});
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) {
        throw;
      }
      report.lost_indexes.push_back({.name = index.schema.name, .why = error.what()});
    }
  }
}

}  // namespace palimpsest::engine
