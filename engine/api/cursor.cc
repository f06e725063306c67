#include "palimpsest/cursor.h"

#include <utility>

#include "engine/api/cursor_state.h"
#include "engine/api/visiting.h"

namespace palimpsest {
namespace detail {

CursorState::CursorState(std::shared_ptr<const TableHandle> table, const Transaction* in,
                         std::string_view index, const Range& range, std::size_t rows_hint)
    : table_(std::move(table)) {
  const InTransaction by = table_->reader(in);
  bulk_ = by.bulk_state();
  engine::TableReader reader(table_->readable(), by.get(), engine::Reads::cursor);
  rows_ = index.empty() ? std::make_unique<engine::RowCursor>(std::move(reader), range, rows_hint)
                        : std::make_unique<engine::RowCursor>(std::move(reader), index, range);
}

// Uses the cursor's own mark: in its own process, a cursor at an end may outlive the database.
void CursorState::require_own_process() const {
  if (!owner.is_of_this_process()) [[unlikely]] {
    table_->database().require_own_process();
  }
}

// A bulk's state is destroyed with its Transaction, but not while the bulk is active. If the bulk
// is not active, the step reports what has become of it.
engine::RowCursor& CursorState::active() {
  require_own_process();
  Visiting::refuse_within(table_->database());
  table_->database().reserve_blocks();
  if (bulk_ != nullptr && rows_->is_active()) {
    static_cast<void>(reading(*bulk_));
  }
  return *rows_;
}

}  // namespace detail

Cursor::Cursor(std::unique_ptr<detail::CursorState> state) noexcept : state_(std::move(state)) {}
Cursor::Cursor(Cursor&&) noexcept = default;
Cursor& Cursor::operator=(Cursor&& other) noexcept {
  detail::take_over(state_, other.state_);
  return *this;
}
Cursor::~Cursor() {
  detail::end_of(state_);
}

bool Cursor::valid() const noexcept {
  return state_ != nullptr && state_->owner.is_of_this_process() && state_->rows().valid();
}

const RowView& Cursor::row() const noexcept {
  return state_->rows().row();
}

// A cursor at an end, or one that was moved from, does not move, whether the transaction is active
// or not. In a child, valid() is false wherever the cursor stands.
void Cursor::next() {
  if (state_ != nullptr) {
    state_->require_own_process();
  }
  if (valid()) {
    state_->active().next();
  }
}

void Cursor::previous() {
  if (state_ != nullptr) {
    state_->require_own_process();
  }
  if (valid()) {
    state_->active().previous();
  }
}

void Cursor::seek_first() {
  state_->active().seek_first();
}

void Cursor::seek_last() {
  state_->active().seek_last();
}

void Cursor::seek(const Key& key) {
  state_->active().seek(key);
}

void Cursor::seek_at_or_before(const Key& key) {
  state_->active().seek_at_or_before(key);
}

}  // namespace palimpsest
