#include "engine/table/table_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "palimpsest/error.h"

#include "btree/cursor.h"
#include "btree/last_leaf.h"
#include "btree/leaf_walk.h"
#include "btree/node/key_bytes.h"
#include "btree/visible_record.h"
#include "engine/format/row_values.h"
#include "engine/format/value_text.h"

namespace palimpsest::engine {
namespace {

using btree::BTree;

/// Leaves of entries brought into memory at once: the smallest pool has room for these.
constexpr std::size_t kLoadsAtATime = 16;
constexpr std::size_t kRowsHint = 1000;

/// Records that are no ghosts.
std::uint64_t count_records(const BTree& tree) {
  std::uint64_t records = 0;
  btree::visit_visible(
      tree.descent(), {.lower = {}, .upper = std::nullopt}, btree::Direction::forward, nullptr,
      [&](const btree::LeafView&, btree::SlotIndex first, btree::SlotIndex last) {
        records += static_cast<std::uint64_t>(last - first);
        return true;
      },
      [&](const btree::LeafView&, const btree::LeafRecord&) {
        ++records;
        return true;
      });
  return records;
}

/// A decoded row; reusable.
class DecodedRow {
 public:
  /// Why the bytes are no row of the table; nothing if they are one.
  [[nodiscard]] std::optional<std::string> decode(const TableFormat& format, ByteView key,
                                                  ByteView row) {
    if (auto fault = format.rows().validate(row)) {
      return fault;
    }
    try {
      values_ = memory_.of(format, key, row);
    } catch (const Error& error) {
      return error.what();
    }
    return format.keys().bytes_of(key) == key.size()
               ? std::nullopt
               : std::optional<std::string>("bytes follow the columns of its key");
  }
  /// Of the row decoded last; views of it.
  [[nodiscard]] std::span<const Value> values() const noexcept { return values_; }

 private:
  RowValues memory_;
  std::span<const Value> values_;
};

/// How an entry relates to the rows.
enum class Belonging : std::uint8_t {
  to_its_row = 1,
  to_no_row,       ///< there is no row of that key
  to_damaged_row,  ///< that row is a finding of its own
  to_other_values  ///< the row's entry is another one
};

/// Checks one index against the rows.
class IndexCheck {
 public:
  IndexCheck(const TableDefinition& table, std::size_t index, std::uint64_t batch_bytes,
             IndexAudit& audit)
      : format_(*table.format),
        rows_(*table.rows),
        entries_(*table.indexes[index]),
        codec_(format_.indexes()[index].codec),
        bytes_max_(btree::key_bytes_max(entries_.descent().page_size())),
        batch_bytes_(batch_bytes),
        audit_(audit) {}

  /// Checks that the entry of the next row exists.
  void expect(ByteView key, std::span<const Value> values) {
    KeyMemory memory;
    std::string fault;
    const auto entry = encode(values, key, memory, fault);
    if (!entry) {
      find("the row {} can have no entry: {}", text_of_row(key), fault);
      return;
    }
    pending_.push_back({.entry = std::string(entry->key), .row = std::string(key)});
    pending_bytes_ += sizeof(Expected) + entry->key.size() + key.size();
    if (pending_bytes_ >= batch_bytes_) {
      look_up_pending();
    }
  }

  /// Called after the last row.
  void finish() {
    look_up_pending();
    audit_.entries = count_records(entries_);
    if (audit_.entries != found_) {
      judge_entries();
    }
  }

 private:
  struct Expected {
    std::string entry;  ///< key of the entry
    std::string row;    ///< the primary key
  };

  template <class... Arguments>
  void find(fmt::format_string<Arguments...> what, Arguments&&... arguments) {
    audit_.findings.add(fmt::format(what, std::forward<Arguments>(arguments)...));
  }
  [[nodiscard]] std::string text_of_row(ByteView key) const {
    return text_of_key(format_.keys(), key);
  }
  [[nodiscard]] std::string text_of_entry(ByteView key) const {
    return text_of_key(codec_.columns(), key);
  }

  /// The entry of a row; nothing, with the reason in `why`, if it can have none.
  [[nodiscard]] std::optional<IndexEntry> encode(std::span<const Value> values, ByteView key,
                                                 KeyMemory& memory, std::string& why) const {
    try {
      const IndexEntry entry =
          codec_.encode(values, key, memory.room(bytes_max_).first(bytes_max_));
      if (!entry.key.empty()) {
        return entry;
      }
      why = "its key has 0 bytes";
    } catch (const Error& error) {
      why = error.what();
    }
    return std::nullopt;
  }

  void look_up_pending() {
    std::ranges::sort(pending_, {}, &Expected::entry);
    std::vector<ByteView> keys;
    for (std::span<const Expected> rest = pending_; !rest.empty();) {
      const auto now = rest.first(std::min(rest.size(), kLoadsAtATime));
      keys.clear();
      for (const Expected& expected : now) {
        keys.emplace_back(expected.entry);
      }
      entries_.prefetch(keys);
      for (const Expected& expected : now) {
        look_up(expected);
      }
      rest = rest.subspan(now.size());
    }
    pending_.clear();
    pending_bytes_ = 0;
  }

  void look_up(const Expected& expected) {
    bool is_it = false;
    std::string value;
    const bool is_there = entries_.lookup_with(
        expected.entry,
        [&](ByteView found) {
          is_it = found == (codec_.is_unique() ? ByteView(expected.row) : ByteView());
          value = is_it ? ByteView() : found;
        },
        &last_);
    if (is_it) {
      ++found_;
    } else if (is_there && codec_.is_unique() &&
               belonging({.key = expected.entry, .value = value}, value) == Belonging::to_its_row) {
      find("the rows {} and {} both have {}", text_of_row(value), text_of_row(expected.row),
           text_of_entry(expected.entry));
    } else {
      find("the entry {} of the row {} is missing", text_of_entry(expected.entry),
           text_of_row(expected.row));
    }
  }

  /// The relation of an entry to the row of that key.
  [[nodiscard]] Belonging belonging(const IndexEntry& entry, ByteView key) {
    const bool may_be_key = !key.empty() && key.size() <= bytes_max_;
    if (!may_be_key || !rows_.lookup(key, row_)) {
      return Belonging::to_no_row;
    }
    if (decoded_.decode(format_, key, row_)) {
      return Belonging::to_damaged_row;
    }
    KeyMemory memory;
    std::string why;
    const auto own = encode(decoded_.values(), key, memory, why);
    const bool same = own && own->key == entry.key && own->value == entry.value;
    return same ? Belonging::to_its_row : Belonging::to_other_values;
  }

  /// Checks all entries one by one: some belong to no row.
  void judge_entries() {
    btree::Cursor cursor(entries_, kRowsHint);
    std::string value;
    for (cursor.seek_first(); cursor.valid(); cursor.next()) {
      if (cursor.read_value(value)) {
        judge({.key = cursor.key(), .value = value});
      }
    }
  }

  void judge(const IndexEntry& entry) {
    DecodedKey columns;
    if (const auto fault = codec_.decode(entry, columns)) {
      find("the entry {} is damaged: {}", text_of_entry(entry.key), *fault);
      return;
    }
    const ByteView key = codec_.primary_key(entry).value_or(ByteView());
    switch (belonging(entry, key)) {
      case Belonging::to_its_row:
      case Belonging::to_damaged_row: return;
      case Belonging::to_no_row:
        find("the entry {} leads to the row {}, which does not exist", text_of_entry(entry.key),
             text_of_row(key));
        return;
      case Belonging::to_other_values:
        find("the entry {} leads to the row {}, which has other values", text_of_entry(entry.key),
             text_of_row(key));
        return;
    }
  }

  const TableFormat& format_;
  const BTree& rows_;
  const BTree& entries_;
  const IndexCodec& codec_;
  const std::size_t bytes_max_;
  const std::uint64_t batch_bytes_;
  IndexAudit& audit_;
  std::vector<Expected> pending_;
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t found_ = 0;  ///< rows that have their entry
  btree::LastLeaf last_;
  std::string row_;
  DecodedRow decoded_;
};

/// Validates all rows, and shows each to the index checks.
void check_rows(const TableDefinition& table, std::span<const std::unique_ptr<IndexCheck>> indexes,
                TableAudit& audit) {
  const TableFormat& format = *table.format;
  DecodedRow decoded;
  std::string row;
  btree::Cursor cursor(*table.rows, kRowsHint);
  for (cursor.seek_first(); cursor.valid(); cursor.next()) {
    if (!cursor.read_value(row)) {
      continue;
    }
    ++audit.rows;
    if (const auto fault = decoded.decode(format, cursor.key(), row)) {
      ++audit.damaged_rows;
      audit.findings.add(fmt::format("the row {} is damaged: {}",
                                     text_of_key(format.keys(), cursor.key()), *fault));
      continue;
    }
    for (const auto& index : indexes) {
      index->expect(cursor.key(), decoded.values());
    }
  }
}

}  // namespace

bool TableAudit::sound() const noexcept {
  return findings.none() && std::ranges::all_of(indexes, [](const IndexAudit& index) {
           return index.findings.none();
         });
}

std::string TableAudit::text() const {
  std::string text = findings.text();
  for (const IndexAudit& index : indexes) {
    if (!index.findings.none()) {
      text += fmt::format("index \"{}\":\n{}", index.name, index.findings.text());
    }
  }
  return text;
}

TableAudit audit_table(const TableDefinition& table, const TableAuditOptions& options) {
  const std::vector<StoredIndex>& stored = table.format->stored().indexes;
  TableAudit audit;
  audit.indexes.resize(stored.size());
  std::vector<std::unique_ptr<IndexCheck>> checks;
  for (std::size_t index = 0; index < stored.size(); ++index) {
    IndexAudit& of_index = audit.indexes[index];
    of_index.name = stored[index].schema.name;
    of_index.is_unique = stored[index].schema.unique;
    of_index.is_left_out =
        std::ranges::find(options.damaged, table.indexes[index]) != options.damaged.end();
    if (!of_index.is_left_out) {
      checks.push_back(std::make_unique<IndexCheck>(table, index,
                                                    options.batch_bytes / stored.size(), of_index));
    }
  }
  check_rows(table, checks, audit);
  for (const auto& check : checks) {
    check->finish();
  }
  return audit;
}

}  // namespace palimpsest::engine
