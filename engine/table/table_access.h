// A table as one call, or one cursor, reads it: by the definition that was visible when it began.
//
// A read does not keep a table from being dropped, nor its trees from being reused. So everything
// that was read is confirmed before the caller sees it: if the trees are still the table's then,
// what was read from them before was the table's (table_state.h).
// Trees that were replaced, rather than dropped, stay until their readers have finished:
//   reader with a snapshot      as long as the snapshot, which sees their definition
//   reader without one          until the access ends: its Call, in which it found the definition
//   reader without one, after   until the access ends: it is counted in TreesLife::readers
//     keep(), for a long read or several calls
// A definition is retained in memory by the same Call, by the pointer that keep() takes, or by the
// caller (`kept`); if `kept` is the visible definition, no Call is needed.
//
// Latching: in a transaction, reading takes its owner latch for the length of read().
// Failure: Error not_found, naming the table or the index that does not exist, or not any more;
// invalid_argument from read() if the transaction has ended.
// Thread-safety: immutable, except for keep(); a read() excludes other calls of the transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "btree/btree.h"
#include "engine/format/table_format.h"
#include "engine/table/encoded_keys.h"
#include "engine/table/table_state.h"
#include "txn/transaction.h"

namespace palimpsest::engine {

/// Throws not_found: this transaction sees no such table.
[[noreturn]] void refuse_missing_table(const TableState& table);

class TableAccess {
 public:
  /// How the access is used.
  enum class Hint : std::uint8_t {
    none = 1,
    stable,  ///< the reader calls rows_are_current() before it returns anything: no Call is needed
  };
  /// Null `in`: without a transaction. `view`: another transaction, which provides the read view.
  /// All arguments outlive this; so does `kept`, a definition of the table.
  TableAccess(txn::Transaction* in, const TableState& table, txn::Transaction* view = nullptr,
              const TableDefinition* kept = nullptr, Hint hint = Hint::none);
  TableAccess(TableAccess&&) noexcept = default;
  TableAccess& operator=(TableAccess&&) = delete;
  TableAccess(const TableAccess&) = delete;
  TableAccess& operator=(const TableAccess&) = delete;
  ~TableAccess() = default;

  /// Prepares for a long read, or for several calls.
  void keep();

  [[nodiscard]] txn::Transaction* transaction() const noexcept { return in_; }
  /// The view that reads use; null: the newest state.
  [[nodiscard]] const versioning::ReadView* read_view() const noexcept {
    if (bulk_ != nullptr) [[unlikely]] {
      return bulk_;
    }
    const txn::Transaction* const by = view_ != nullptr ? view_ : in_;
    return by == nullptr ? nullptr : by->read_view();
  }
  [[nodiscard]] const TableFormat& format() const noexcept { return *definition_->format; }
  [[nodiscard]] const btree::BTree& rows() const noexcept { return *definition_->rows; }
  [[nodiscard]] const btree::BTree& index(std::size_t number) const noexcept {
    return *definition_->indexes[number];
  }
  /// The number of the index of that name. Throws not_found if it does not exist, or is newer than
  /// the snapshot.
  [[nodiscard]] std::size_t require_index(std::string_view name) const;
  [[nodiscard]] KeySpace key_space() const noexcept { return {format(), rows()}; }
  [[nodiscard]] KeySpace index_space(std::size_t number) const noexcept {
    return {format(), number, index(number)};
  }

  /// The cache of the transaction that provides the read view, for use within read(); null without
  /// one, and for a bulk that reads what it changes.
  [[nodiscard]] btree::GhostRun* run() const noexcept {
    txn::Transaction* const by = view_ != nullptr ? view_ : in_;
    return by != nullptr && bulk_ == nullptr ? &by->ghost_run() : nullptr;
  }

  /// Within read(): the transaction's read set, to be added to; null if it will not be validated.
  [[nodiscard]] versioning::ReadSet* reads() const noexcept {
    return in_ == nullptr ? nullptr : in_->reads();
  }
  /// Adds one key to the read set, whether there is a record or not.
  void note_read(const btree::BTree& tree, ByteView key) const {
    if (versioning::ReadSet* const reads = this->reads()) [[unlikely]] {
      reads->add_key(tree.id(), key);
    }
  }

  /// Calls call(), which reads trees, within the transaction, if there is one.
  template <class Call>
  decltype(auto) read(Call&& call) const {
    if (in_ == nullptr) {
      return call();
    }
    return in_->read([&]() -> decltype(auto) {
      confirm_transaction();
      return view_ != nullptr ? view_->read(call) : call();
    });
  }
  /// Whether the transaction, if there is one, is active, and not a later one of its slot. Reads in
  /// this order: if a later transaction is found active, its life is visible, too.
  [[nodiscard]] bool is_active() const noexcept {
    return in_ == nullptr || (in_->is_active() && in_->life() == life_);
  }
  /// Throws invalid_argument if the transaction has ended and its slot has begun another one. The
  /// result stays true only within read().
  void confirm_transaction() const {
    if (in_ != nullptr && in_->life() != life_) [[unlikely]] {
      refuse_ended();
    }
  }
  /// Within read(): throws snapshot_too_old if the snapshot was cancelled.
  void confirm_view() const {
    if (const txn::Transaction* const by = view_ != nullptr ? view_ : in_) {
      by->require_view();
    }
  }
  /// Called after reading rows, also under their leaf's latch. Throws not_found unless they were
  /// the table's.
  void confirm_rows() const {
    if (table_->visible_to(in_) != definition_ && !still_has_rows()) [[unlikely]] {
      refuse_missing_table(*table_);
    }
  }
  /// As confirm_rows(), but returns false; false also if the rows were replaced.
  [[nodiscard]] bool rows_are_current() const noexcept {
    return table_->visible_to(in_) == definition_;
  }
  /// As confirm_rows(), for an index's entries.
  void confirm_index(std::size_t number) const {
    if (table_->visible_to(in_) != definition_ && !still_has_index(number)) [[unlikely]] {
      refuse_missing_index(format().stored().indexes[number].schema.name);
    }
  }

 private:
  /// A reader without a snapshot, for which replaced trees wait.
  class TreeReader {
   public:
    TreeReader() = default;
    explicit TreeReader(std::shared_ptr<TreesLife> life) noexcept : life_(std::move(life)) {
      life_->readers.fetch_add(1);
    }
    TreeReader(TreeReader&&) noexcept = default;
    TreeReader& operator=(TreeReader&& other) noexcept {
      life_.swap(other.life_);
      return *this;
    }
    TreeReader(const TreeReader&) = delete;
    TreeReader& operator=(const TreeReader&) = delete;
    ~TreeReader() {
      if (life_ != nullptr) {
        life_->readers.fetch_sub(1);
      }
    }

   private:
    std::shared_ptr<TreesLife> life_;
  };

  [[noreturn]] static void refuse_ended();
  /// Whether its snapshot, unless cancelled, keeps the definition that it sees.
  [[nodiscard]] bool has_snapshot() const noexcept;
  void look(const TableDefinition* kept, Hint hint);
  [[nodiscard]] bool still_has_rows() const noexcept;
  [[nodiscard]] bool still_has_index(std::size_t number) const noexcept;
  [[noreturn]] void refuse_missing_index(std::string_view name) const;

  txn::Transaction* in_;
  std::uint64_t life_;  ///< of in_: its slot may have had other transactions since
  txn::Transaction* view_;
  const versioning::ReadView* bulk_;  ///< of a bulk that changes the table; else null
  const TableState* table_;
  CallEpochs::Call call_;
  DefinitionPtr kept_;
  TreeReader reader_;
  const TableDefinition* definition_ = nullptr;
};

}  // namespace palimpsest::engine
