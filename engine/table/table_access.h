// A table as one call, or one cursor, reads it: by the definition that counted when it began.
//
// Reads do not keep a table from being dropped, and its trees from being used for something else.
// So whatever was read is confirmed before anybody sees it: as long as the trees have not gone
// then, what was read from them before was the table's (table/table_state.h).
// Trees that were replaced, rather than dropped, wait for whoever may read them:
//   who has a snapshot                       by that: the definition that it sees is kept
//   others, until the access goes            by a Call, in which the definition was looked for
//   the same, after keep(): long ones,       by TreesLife::readers
//     several calls
// A definition is kept in memory by the same Call, by the pointer that keep() takes, or by the
// caller (`kept`), who is spared the Call if that is the definition in question.
//
// Latching: in a transaction, reading takes its owner latch for the length of read().
// Failure: Error not_found, naming the table or the index that is not there, or no longer;
//          invalid_argument from read() if the transaction has ended.
// Thread-safety: immutable, but for keep(); a read() takes turns with the transaction's other
// calls.
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

/// Throws not_found: for this transaction there is no such table.
[[noreturn]] void refuse_missing_table(const TableState& table);

class TableAccess {
 public:
  /// What keeps a definition in memory beside the access.
  enum class Hint : std::uint8_t {
    none = 1,
    stable,  ///< and who reads asks rows_are_current() before anybody sees anything
  };
  /// Null `in`: in no transaction. `view`: another one, by whose view it reads instead of its own.
  /// All outlive it; so does `kept`, a definition of the table.
  TableAccess(txn::Transaction* in, const TableState& table, txn::Transaction* view = nullptr,
              const TableDefinition* kept = nullptr, Hint hint = Hint::none);
  TableAccess(TableAccess&&) noexcept = default;
  TableAccess& operator=(TableAccess&&) = delete;
  TableAccess(const TableAccess&) = delete;
  TableAccess& operator=(const TableAccess&) = delete;
  ~TableAccess() = default;

  /// It goes on for long, or over several calls.
  void keep();

  [[nodiscard]] txn::Transaction* transaction() const noexcept { return in_; }
  /// Whose view reads have; null: the newest state.
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
  /// The number of the index of that name. Throws not_found if there is none, or was none when what
  /// is seen was taken.
  [[nodiscard]] std::size_t require_index(std::string_view name) const;
  [[nodiscard]] KeySpace key_space() const noexcept { return {format(), rows()}; }
  [[nodiscard]] KeySpace index_space(std::size_t number) const noexcept {
    return {format(), number, index(number)};
  }

  /// Of the transaction by whose view it reads, to be used within read(); null for none, and for a
  /// bulk that reads what it changes.
  [[nodiscard]] btree::GhostRun* run() const noexcept {
    txn::Transaction* const by = view_ != nullptr ? view_ : in_;
    return by != nullptr && bulk_ == nullptr ? &by->ghost_run() : nullptr;
  }

  /// Within read(): what the transaction has read, to be added to; null if nobody will ask.
  [[nodiscard]] versioning::ReadSet* reads() const noexcept {
    return in_ == nullptr ? nullptr : in_->reads();
  }
  /// The same of one key, whether there is a record or not.
  void note_read(const btree::BTree& tree, ByteView key) const {
    if (versioning::ReadSet* const reads = this->reads()) [[unlikely]] {
      reads->add_key(tree.id(), key);
    }
  }

  /// Calls call(), which looks at trees, within the transaction, if there is one.
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
  /// Whether the transaction, if there is one, is active: it, and not a later one of its slot. In
  /// this order: whoever finds a later one active finds its life, too.
  [[nodiscard]] bool is_active() const noexcept {
    return in_ == nullptr || (in_->is_active() && in_->life() == life_);
  }
  /// Throws invalid_argument if the transaction has ended and its slot has begun another one; for
  /// good only within read().
  void confirm_transaction() const {
    if (in_ != nullptr && in_->life() != life_) [[unlikely]] {
      refuse_ended();
    }
  }
  /// Within read(): throws snapshot_too_old if what it has seen since is void.
  void confirm_view() const {
    if (const txn::Transaction* const by = view_ != nullptr ? view_ : in_) {
      by->require_view();
    }
  }
  /// After reading the rows, also under the latch of their leaf: they were the table's.
  void confirm_rows() const {
    if (table_->visible_to(in_) != definition_ && !still_has_rows()) [[unlikely]] {
      refuse_missing_table(*table_);
    }
  }
  /// The same; false also if they were replaced.
  [[nodiscard]] bool rows_are_current() const noexcept {
    return table_->visible_to(in_) == definition_;
  }
  /// The same of an index's entries.
  void confirm_index(std::size_t number) const {
    if (table_->visible_to(in_) != definition_ && !still_has_index(number)) [[unlikely]] {
      refuse_missing_index(format().stored().indexes[number].schema.name);
    }
  }

 private:
  /// A reader without a snapshot, of trees that wait for it.
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
  /// Whether its definition, found by its view, stays needed as long as that is not cancelled.
  [[nodiscard]] bool has_snapshot() const noexcept;
  void look(const TableDefinition* kept, Hint hint);
  [[nodiscard]] bool still_has_rows() const noexcept;
  [[nodiscard]] bool still_has_index(std::size_t number) const noexcept;
  [[noreturn]] void refuse_missing_index(std::string_view name) const;

  txn::Transaction* in_;
  std::uint64_t life_;  ///< of in_: its slot may have had others since
  txn::Transaction* view_;
  const versioning::ReadView* bulk_;  ///< of a bulk that changes the table; else null
  const TableState* table_;
  CallEpochs::Call call_;
  DefinitionPtr kept_;
  TreeReader reader_;
  const TableDefinition* definition_ = nullptr;
};

}  // namespace palimpsest::engine
