#include "engine/table/index_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "palimpsest/error.h"

#include "btree/node/key_bytes.h"
#include "engine/format/value_text.h"
#include "engine/table/refused.h"
#include "engine/table/row_messages.h"

namespace palimpsest::engine {
namespace {

bool same_in_column(const RowLayout& layout, std::size_t column, ByteView a, ByteView b) noexcept {
  const ColumnPlace& place = layout.place(column);
  switch (place.kind) {
    case PlaceKind::key: return true;
    case PlaceKind::fixed:
      return RowLayout::is_null(a, place) == RowLayout::is_null(b, place) &&
             a.substr(place.offset, place.width) == b.substr(place.offset, place.width);
    case PlaceKind::variable:
      return RowLayout::is_null(a, place) == RowLayout::is_null(b, place) &&
             layout.variable(a, place) == layout.variable(b, place);
  }
  return false;
}

[[noreturn]] void refuse_entry(const TableFormat& format, std::size_t index, ByteView primary_key,
                               std::string_view why) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("table \"{}\", index \"{}\", row {}: {}", format.schema().name,
                          format.stored().indexes[index].schema.name,
                          text_of_key(format.keys(), primary_key), why));
}

}  // namespace

bool same_in_indexes(const TableFormat& format, ByteView a, ByteView b) noexcept {
  return std::ranges::all_of(format.indexes(), [&](const TableFormat::Index& index) {
    return std::ranges::all_of(index.columns, [&](std::size_t column) {
      return same_in_column(format.rows(), column, a, b);
    });
  });
}

// The values fit their columns, so only the key's length can be wrong.
IndexEntry entry_of(const TableDefinition& definition, std::size_t index,
                    std::span<const Value> values, ByteView primary_key, KeyMemory& into) {
  const TableFormat& format = *definition.format;
  const std::size_t bytes_max =
      btree::key_bytes_max(definition.indexes[index]->descent().page_size());
  try {
    const IndexEntry entry = format.indexes()[index].codec.encode(
        values, primary_key, into.room(bytes_max).first(bytes_max));
    if (!entry.key.empty()) [[likely]] {
      return entry;
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) {
      refuse_entry(format, index, primary_key,
                   fmt::format("a key of more than {} bytes", bytes_max));
    }
    throw;
  }
  refuse_entry(format, index, primary_key,
               fmt::format("a key of 0 bytes: keys must have 1 to {}", bytes_max));
}

// Indexes that a bulk has made are trees of its own: changed without virtual versions.
template <class Write>
btree::WriteOutcome IndexEntries::change(std::size_t index, const Write& write) const {
  btree::BTree& tree = *definition_->indexes[index];
  if (definition_->is_made_by(by_->bulk_epoch(), index)) [[unlikely]] {
    return write(by_->outside_bulk(), tree);
  }
  return write(*by_, tree);
}

Outcome IndexEntries::put(std::size_t index, const IndexEntry& entry,
                          std::span<const Value> values) const {
  const btree::WriteOutcome written = change(index, [&](const auto& by, btree::BTree& tree) {
    return tree.insert(by, entry.key, entry.value);
  });
  if (written.conflict) {
    return refused(OutcomeKind::conflict, format(), index, values);
  }
  if (!written.existed) {
    return {};
  }
  bool is_of_this_row = !format().indexes()[index].codec.is_unique();
  if (!is_of_this_row) {
    static_cast<void>(definition_->indexes[index]->lookup_with(
        entry.key, [&](ByteView primary_key) { is_of_this_row = primary_key == primary_key_; },
        nullptr, by_->newest()));
  }
  if (is_of_this_row) {
    refuse_damaged_index(format(), index,
                         fmt::format("an entry of the row {} exists and should not",
                                     text_of_key(format().keys(), primary_key_)));
  }
  by_->note_read(definition_->indexes[index]->id(), entry.key);
  return refused(OutcomeKind::exists, format(), index, values);
}

Outcome IndexEntries::take(std::size_t index, const IndexEntry& entry,
                           std::span<const Value> values) const {
  const btree::WriteOutcome written =
      change(index, [&](const auto& by, btree::BTree& tree) { return tree.remove(by, entry.key); });
  if (written.conflict) {
    return refused(OutcomeKind::conflict, format(), index, values);
  }
  if (!written.existed) {
    refuse_damaged_index(format(), index,
                         fmt::format("the entry of the row {} is missing",
                                     text_of_key(format().keys(), primary_key_)));
  }
  return {};
}

Outcome IndexEntries::insert(std::span<const Value> values) const {
  for (std::size_t index = 0; index < format().indexes().size(); ++index) {
    KeyMemory memory;
    Outcome outcome = put(index, encode(index, values, memory), values);
    if (!outcome) {
      return outcome;
    }
  }
  return {};
}

Outcome IndexEntries::remove(std::span<const Value> values) const {
  for (std::size_t index = 0; index < format().indexes().size(); ++index) {
    KeyMemory memory;
    Outcome outcome = take(index, encode(index, values, memory), values);
    if (!outcome) {
      return outcome;
    }
  }
  return {};
}

Outcome IndexEntries::replace(std::span<const Value> before, std::span<const Value> after) const {
  for (std::size_t index = 0; index < format().indexes().size(); ++index) {
    KeyMemory memory_before;
    KeyMemory memory_after;
    const IndexEntry old_entry = encode(index, before, memory_before);
    const IndexEntry new_entry = encode(index, after, memory_after);
    if (old_entry.key == new_entry.key) {
      continue;  // and the value is the primary key, or empty
    }
    Outcome outcome = take(index, old_entry, before);
    if (outcome) {
      outcome = put(index, new_entry, after);
    }
    if (!outcome) {
      return outcome;
    }
  }
  return {};
}

}  // namespace palimpsest::engine
