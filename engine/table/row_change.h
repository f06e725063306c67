// What the caller's functions do to a row where it lies: under its leaf's exclusive latch, called
// by BTree::modify(), which logs what they have changed. What they must not do is found there, and
// said afterwards, when no latch is held; the statement is undone then.
//
// An editor (Table::modify()) sets columns, or writes any bytes. It is allowed what leaves the row
// one of the table's, and all columns of indexes as they are; so a handle of a column that was made
// before an index of it does no harm. Otherwise the row has its old bytes again before the latch is
// given up. Only the plainest tables, of bytes to bytes and without an index, are not looked at.
// What it was is kept of what may change; all of the row only if there is an index to be minded.
// A rewriter (Table::rewrite()) returns new bytes. They are stored at once if they are as long as
// the old ones and move no index entry. Otherwise they are kept, copied if they could lie in the
// leaf, and the caller goes on without the latch: the row is claimed by then.
//
// Thread-safety: belongs to one statement. Nothing is allocated but the text of what is wrong.
#pragma once

#include <optional>
#include <string>

#include "palimpsest/table.h"
#include "palimpsest/value_editor.h"

#include "base/bytes.h"
#include "btree/node/value_buffer.h"
#include "engine/format/table_format.h"

namespace palimpsest::engine {

/// What both have in common: the row they are called with, and whether they were.
class RowInPlace {
 public:
  [[nodiscard]] bool was_called() const noexcept { return called_; }
  /// The next call is for another row.
  void turn_to(ByteView key) noexcept { key_ = key; }

 protected:
  RowInPlace(const TableFormat& format, ByteView key) noexcept : format_(&format), key_(key) {}

  [[nodiscard]] const TableFormat& format() const noexcept { return *format_; }
  [[nodiscard]] ByteView key() const noexcept { return key_; }
  /// Whether the row can be read at all.
  [[nodiscard]] bool begin(ByteView row) noexcept;
  [[nodiscard]] bool is_damaged() const noexcept { return damaged_; }
  /// Throws corruption if a row was damaged.
  void require_undamaged() const;
  void mark_damaged() noexcept { damaged_ = true; }

 private:
  const TableFormat* format_;
  ByteView key_;
  bool called_ = false;
  bool damaged_ = false;
};

/// Changes of fixed columns, which are in no index, and fit.
class ColumnsInPlace : public RowInPlace {
 public:
  ColumnsInPlace(const TableFormat& format, ByteView key,
                 std::span<const ColumnChange> changes) noexcept
      : RowInPlace(format, key), changes_(changes) {}

  void operator()(ValueEditor& value);
  /// Throws what went wrong.
  void require_done() const { require_undamaged(); }

 private:
  std::span<const ColumnChange> changes_;
};

class EditInPlace : public RowInPlace {
 public:
  EditInPlace(const TableFormat& format, ByteView key, EditRow edit) noexcept
      : RowInPlace(format, key), edit_(edit) {}

  void operator()(ValueEditor& value);
  [[nodiscard]] bool is_sound() const noexcept { return !is_damaged() && !refused_; }
  /// Throws what went wrong.
  void require_done() const;

 private:
  [[nodiscard]] bool is_allowed(ValueEditor& edited);

  EditRow edit_;
  bool refused_ = false;
};

class RewriteInPlace : public RowInPlace {
 public:
  RewriteInPlace(const TableFormat& format, ByteView key, RewriteRow rewrite) noexcept
      : RowInPlace(format, key), rewrite_(rewrite) {}

  void operator()(ValueEditor& value);
  /// For a row that does not lie in its leaf, and stays as it is while this is used: nothing is
  /// stored.
  void look_at(ByteView row);
  /// Throws what went wrong.
  void require_done() const;
  [[nodiscard]] bool is_stored() const noexcept { return stored_; }
  /// If it is not stored: the new bytes, and whether they move index entries.
  [[nodiscard]] ByteView kept() const noexcept { return kept_; }
  [[nodiscard]] bool moves_entries() const noexcept { return moves_entries_; }

 private:
  [[nodiscard]] std::optional<ByteView> rewritten(ByteView row);
  void keep(ByteView bytes) noexcept;

  RewriteRow rewrite_;
  btree::ValueBuffer memory_;
  ByteView kept_;
  KeyParts parts_;
  std::optional<std::string> fault_;
  bool stored_ = false;
  bool moves_entries_ = false;
};

}  // namespace palimpsest::engine
