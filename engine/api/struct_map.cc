#include "palimpsest/struct_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/thread_blocks.h"
#include "engine/format/column_value.h"
#include "engine/format/table_format.h"
#include "engine/format/value_text.h"

namespace palimpsest::detail {
namespace {

using engine::ColumnChange;
using engine::PlaceKind;
using engine::RowLayout;

/// As many columns as most tables have: their values need no heap.
constexpr std::size_t kValuesInPlace = 16;

/// Bytes copied between row and struct.
struct Piece {
  std::uint32_t in_row = 0;
  std::size_t in_struct = 0;
  std::size_t size = 0;
};

/// A member that is converted rather than copied.
struct Converted {
  std::size_t column = 0;  ///< the column's number in the schema
  std::size_t in_struct = 0;
  Value (*value_of)(const void* member) = nullptr;
  bool (*set)(void* member, const Value& value) = nullptr;
};

/// Joins pieces that are adjacent in both row and struct.
std::vector<Piece> joined(std::vector<Piece> pieces) {
  std::ranges::sort(pieces, {}, &Piece::in_row);
  std::vector<Piece> joined;
  for (const Piece& piece : pieces) {
    Piece* const last = joined.empty() ? nullptr : &joined.back();
    if (last != nullptr && last->in_row + last->size == piece.in_row &&
        last->in_struct + last->size == piece.in_struct) {
      last->size += piece.size;
    } else {
      joined.push_back(piece);
    }
  }
  return joined;
}

const std::byte* at(const void* begin, std::size_t offset) noexcept {
  return static_cast<const std::byte*>(begin) + offset;
}
std::byte* at(void* begin, std::size_t offset) noexcept {
  return static_cast<std::byte*>(begin) + offset;
}

[[noreturn]] void refuse(const RowLayout& layout, std::string_view column, std::string_view what) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("table \"{}\", column \"{}\": {}", layout.table(), column, what));
}

}  // namespace

struct StructShape::State {
  std::shared_ptr<const TableFormat> format;
  std::vector<Piece> pieces;
  std::vector<Converted> in_key;
  std::vector<Converted> in_row;
  std::vector<std::size_t> in_row_columns;  ///< the numbers of in_row
  std::optional<std::size_t> missing;       ///< the first column without a member

  void add(const StructMember& member, std::vector<bool>& seen, std::vector<Piece>& copied);
  void copy_pieces(const void* from, std::string& bytes) const noexcept;
};

/// Checks a member, and determines how it is copied.
void StructShape::State::add(const StructMember& member, std::vector<bool>& seen,
                             std::vector<Piece>& copied) {
  const RowLayout& layout = format->rows();
  const auto number = layout.find_column(member.column);
  if (!number) {
    refuse(layout, member.column, "there is no such column");
  }
  const DataType& type = layout.column(*number).type;
  if (seen[*number]) {
    refuse(layout, member.column, "the struct has two members for it");
  }
  seen[*number] = true;
  if (!member.holds(type)) {
    refuse(layout, member.column,
           fmt::format("its member, of {} bytes, does not have the type for {}", member.size,
                       text_of(type)));
  }
  if (member.is_nullable != type.nullable) {
    refuse(layout, member.column,
           type.nullable ? "it may be null, but its member is not a std::optional"
                         : "it is never null, but its member is a std::optional");
  }
  const engine::ColumnPlace& place = layout.place(*number);
  const Converted converted{.column = *number,
                            .in_struct = member.offset,
                            .value_of = member.value_of,
                            .set = member.set};
  if (place.kind == PlaceKind::key) {
    in_key.push_back(converted);
  } else if (member.is_copied) {
    check(place.width == member.size, "a member that is copied has as many bytes as its column");
    copied.push_back({.in_row = place.offset, .in_struct = member.offset, .size = member.size});
  } else {
    in_row.push_back(converted);
    in_row_columns.push_back(*number);
  }
}

void StructShape::State::copy_pieces(const void* from, std::string& bytes) const noexcept {
  for (const Piece& piece : pieces) {
    std::memcpy(bytes.data() + piece.in_row, at(from, piece.in_struct), piece.size);
  }
}

StructShape::StructShape(std::shared_ptr<const TableFormat> format,
                         std::span<const StructMember> members) {
  const auto state = std::make_shared<State>();
  state->format = std::move(format);
  std::vector<bool> seen(state->format->rows().column_count());
  std::vector<Piece> copied;
  for (const StructMember& member : members) {
    state->add(member, seen, copied);
  }
  state->pieces = joined(std::move(copied));
  const auto missing = std::ranges::find(seen, false);
  if (missing != seen.end()) {
    state->missing = static_cast<std::size_t>(missing - seen.begin());
  }
  state_ = state;
}

const StructShape::State& StructShape::state() const {
  if (state_ == nullptr) [[unlikely]] {
    throw Error(ErrorCode::invalid_argument, "the table was moved from");
  }
  return *state_;
}

LayoutNumber StructShape::layout() const {
  return state().format->layout;
}

void StructShape::require(const RowView& row) const {
  const TableFormat& format = *state().format;
  if (!row.has_layout(format.layout)) [[unlikely]] {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\": the row belongs to another table, or to this one with "
                            "other columns than when the StructMap was created",
                            format.rows().table()));
  }
}

std::size_t StructShape::pieces() const noexcept {
  return state_->pieces.size();
}

void StructShape::read(const RowView& row, void* into) const {
  require(row);
  const State& state = this->state();
  const RowLayout& layout = state.format->rows();
  if (!layout.fits(row.bytes())) [[unlikely]] {
    throw Error(ErrorCode::corruption,
                fmt::format("table \"{}\": a row of {} bytes is too short: the shortest has {}",
                            layout.table(), row.bytes().size(), layout.bytes_min()));
  }
  for (const Piece& piece : state.pieces) {
    std::memcpy(at(into, piece.in_struct), row.bytes().data() + piece.in_row, piece.size);
  }
  const auto convert = [&](const Converted& one) {
    const Value value = row[one.column];
    if (!one.set(at(into, one.in_struct), value)) {
      refuse(layout, layout.column(one.column).name,
             fmt::format("its member cannot be {}", engine::text_of_value(value)));
    }
  };
  std::ranges::for_each(state.in_key, convert);
  std::ranges::for_each(state.in_row, convert);
}

void StructShape::encode(const void* from, StructBytes& into) const {
  const State& state = this->state();
  const RowLayout& layout = state.format->rows();
  if (state.missing) {
    refuse(layout, layout.column(*state.missing).name,
           "the struct has no member for it, and a whole row needs one for each column");
  }
  std::array<Value, kValuesInPlace> in_place{};
  std::vector<Value> others;
  if (layout.column_count() > kValuesInPlace) {
    others.resize(layout.column_count());
  }
  const std::span<Value> values =
      others.empty() ? std::span(in_place).first(layout.column_count()) : std::span(others);
  const auto take = [&](const Converted& one) {
    values[one.column] = one.value_of(at(from, one.in_struct));
  };
  std::ranges::for_each(state.in_key, take);
  std::ranges::for_each(state.in_row, take);
  reserve_thread_blocks();  // of pages of any size
  engine::KeyMemory memory;
  into.key = state.format->keys().encode_row(values, memory);
  layout.encode(values, state.in_row_columns, into.bytes);
  state.copy_pieces(from, into.bytes);
}

void StructShape::change(const RowView& row, const void* from, std::string& bytes) const {
  require(row);
  const State& state = this->state();
  const RowLayout& layout = state.format->rows();
  for (const Converted& one : state.in_key) {
    const DataType& type = layout.column(one.column).type;
    const Value value = one.value_of(at(from, one.in_struct));
    const bool same = type.type == ColumnType::character
                          ? engine::without_padding(value.as_bytes()) == row[one.column].as_bytes()
                          : value == row[one.column];
    if (!same) {
      refuse(layout, layout.column(one.column).name,
             "it is in the key, which modify cannot change");
    }
  }
  std::vector<ColumnChange> changes;
  changes.reserve(state.in_row.size());
  for (const Converted& one : state.in_row) {
    changes.push_back({.column = one.column, .value = one.value_of(at(from, one.in_struct))});
  }
  layout.change(row.bytes(), changes, bytes);
  state.copy_pieces(from, bytes);
}

}  // namespace palimpsest::detail
