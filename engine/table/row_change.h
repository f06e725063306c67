// Runs the caller's functions on a row in its leaf, under the exclusive latch; called by
// BTree::modify(), which logs what they change. Forbidden changes are detected there, and reported
// afterwards, when no latch is held; the statement is undone then.
//
// An editor (Table::modify()) sets columns, or writes any bytes. The row must stay a valid one of
// the table, with all indexed columns unchanged; so a column handle that was made before an index
// of that column does no harm. Otherwise the row gets its old bytes back before the latch is
// released. Only tables of bytes to bytes without an index are not checked. The old bytes of what
// may change are retained; those of the whole row only if there is an index.
// A rewriter (Table::rewrite()) returns new bytes. They are stored at once if they are as long as
// the old ones and move no index entry. Otherwise they are retained (copied if they could be in the
// leaf), and the statement continues without the latch: the row is claimed by then.
//
// Thread-safety: belongs to one statement. Only error texts are allocated.
#pragma once

#include <optional>
#include <string>

#include "palimpsest/table.h"
#include "palimpsest/value_editor.h"

#include "base/bytes.h"
#include "btree/node/value_buffer.h"
#include "engine/format/table_format.h"

namespace palimpsest::engine {

/// The common part: the row of the call, and whether the function was called.
class RowInPlace {
 public:
  [[nodiscard]] bool was_called() const noexcept { return called_; }
  /// The next call is for this row.
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

/// Changes of fixed columns that fit and are in no index.
class ColumnsInPlace : public RowInPlace {
 public:
  ColumnsInPlace(const TableFormat& format, ByteView key,
                 std::span<const ColumnChange> changes) noexcept
      : RowInPlace(format, key), changes_(changes) {}

  void operator()(ValueEditor& value);
  /// Throws the error, if there was one.
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
  /// Throws the error, if there was one.
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
  /// For a row that is not in its leaf, and does not change while this is used: stores nothing.
  void look_at(ByteView row);
  /// Throws the error, if there was one.
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
