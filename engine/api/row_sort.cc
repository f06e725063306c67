// Encodes and sorts rows outside of their table.
#include "palimpsest/row_sort.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "palimpsest/error.h"
#include "palimpsest/row_encoder.h"
#include "palimpsest/row_writer.h"

#include "bulk/sort/external_sort.h"
#include "engine/api/table_handle.h"
#include "engine/table/new_row.h"

namespace palimpsest {

// Encoding

class RowEncoder::State {
 public:
  ProcessMark owner;

  explicit State(std::shared_ptr<const detail::TableHandle> handle)
      : handle_(std::move(handle)), definition_(handle_->require_definition()) {}

  [[nodiscard]] EncodedRow encode(const Values& row) {
    handle_->database().require_own_process();
    handle_->require_open();  // the definition's trees are destroyed with the engine
    handle_->database().reserve_blocks();
    const auto& [key, bytes] =
        engine::record_of(*definition_, row.span(), key_memory_, row_memory_);
    return EncodedRow::of(key, bytes, definition_->format->layout);
  }

 private:
  std::shared_ptr<const detail::TableHandle> handle_;
  engine::DefinitionPtr definition_;
  engine::KeyMemory key_memory_;
  std::string row_memory_;
};

RowEncoder::RowEncoder(const Table& table) {
  static_cast<void>(table.handle());
  state_ = std::make_unique<State>(table.handle_);
}
RowEncoder::RowEncoder(RowEncoder&&) noexcept = default;
RowEncoder& RowEncoder::operator=(RowEncoder&& other) noexcept {
  detail::take_over(state_, other.state_);
  return *this;
}
RowEncoder::~RowEncoder() {
  detail::end_of(state_);
}

EncodedRow RowEncoder::operator()(const Values& row) {
  if (state_ == nullptr) [[unlikely]] {
    detail::refuse_moved_away("encoder");
  }
  return state_->encode(row);
}

std::optional<RowWriter> RowWriter::of(const Table& table) {
  const engine::DefinitionPtr definition = table.handle().require_definition();
  const engine::TableFormat& format = *definition->format;
  std::optional<RowWriter> writer = of(format.schema());
  const bool fits =
      writer && writer->key_bytes() <= engine::KeySpace(format, *definition->rows).bytes_max();
  return fits ? std::move(writer) : std::nullopt;
}

// Sorting

namespace {

/// In a record's value: the length of the note, the note, the row.
using NoteLength = std::uint32_t;

constexpr std::string_view kKeptSuffix = ".runs";

/// Accepts a name that no other file of the database has.
void check_kept_name(std::string_view name) {
  if (!name.empty() && (!name.ends_with(kKeptSuffix) || name.size() == kKeptSuffix.size() ||
                        name.find('/') != std::string_view::npos)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the saved rows are to be called \"{}\": the name must end with \"{}\" "
                            "and contain no slash",
                            name, kKeptSuffix));
  }
}

std::optional<bulk::SavedSort> saved_of(const RowSortOptions& options) {
  check_kept_name(options.kept_as);
  return options.kept_as.empty() || options.saved.empty()
             ? std::nullopt
             : std::optional(bulk::SavedSort::parse(options.saved));
}

bulk::SortOptions sort_options(const engine::SortSpace& space, const RowSortOptions& options,
                               const std::optional<bulk::SavedSort>& saved) {
  return {.memory_bytes = options.memory_bytes != 0 ? options.memory_bytes : space.memory_bytes,
          .threads = options.threads,
          .kept_name = options.kept_as,
          .saved = saved ? &*saved : nullptr};
}

}  // namespace

class RowSort::State {
 public:
  ProcessMark owner;

  State(const detail::DatabaseState& database, const RowSortOptions& options,
        detail::LayoutNumber layout)
      : path_(database.path),
        process_(database.process),
        device_(database.pages),
        keeps_(!options.kept_as.empty()),
        sort_(*device_, sort_options(database.engine->sort_space(), options, saved_of(options))),
        layout_(layout),
        all_are_known_(options.saved.empty()) {}

  void require_own_process() const {
    if (!owner.is_of_this_process()) [[unlikely]] {
      detail::refuse_other_process(path_, process_);
    }
  }

  void add(const EncodedRow& row, std::string_view note) {
    if (row.layout != 0 && row.layout != layout_) [[unlikely]] {
      throw Error(ErrorCode::invalid_argument,
                  "a sort takes only rows of its table, with the columns that the table had when "
                  "the sort was created");
    }
    all_are_known_ = all_are_known_ && row.layout != 0;
    const auto note_len = static_cast<NoteLength>(note.size());
    char length[sizeof note_len];
    std::memcpy(length, &note_len, sizeof note_len);
    value_.assign(length, sizeof length);
    value_.append(note);
    value_.append(row.bytes);
    sort_.add(row.key, value_);
  }

  [[nodiscard]] bool next() {
    has_row_ = false;
    if (!sort_.next()) {
      return false;
    }
    has_row_ = true;
    NoteLength note_len = 0;
    const std::string_view value = sort_.value();
    std::memcpy(&note_len, value.data(), sizeof note_len);
    note_ = value.substr(sizeof note_len, note_len);
    bytes_ = value.substr(sizeof note_len + note_len);
    return true;
  }
  [[nodiscard]] EncodedRow row() const {
    require_row();
    return EncodedRow::of(sort_.key(), bytes_, all_are_known_ ? layout_ : 0);
  }
  [[nodiscard]] std::string_view note() const {
    require_row();
    return note_;
  }

  [[nodiscard]] std::size_t row_bytes_max() const noexcept {
    return sort_.record_bytes_max() - sizeof(NoteLength);
  }
  [[nodiscard]] std::uint64_t file_bytes(std::uint64_t rows, std::uint64_t bytes) const noexcept {
    return sort_.file_bytes(rows, bytes + rows * sizeof(NoteLength));
  }
  [[nodiscard]] std::string save() {
    if (!keeps_) {
      throw Error(ErrorCode::invalid_argument,
                  "a sort without a name (kept_as) cannot save its rows");
    }
    return sort_.save().text();
  }
  void finish() { sort_.finish(); }

 private:
  void require_row() const {
    if (!has_row_) [[unlikely]] {
      throw Error(ErrorCode::invalid_argument,
                  "a sort has no current row before next() has found one");
    }
  }

  const std::string path_;                    ///< of the database, for messages
  const int process_;                         ///< the process that opened it, for messages
  const std::shared_ptr<io::Device> device_;  ///< the device of its file, which may outlive the
                                              ///< database
  const bool keeps_;
  bool has_row_ = false;
  bulk::ExternalSort sort_;
  std::string value_;
  const detail::LayoutNumber layout_;  ///< of the table's rows
  bool all_are_known_;                 ///< all rows are known to have layout_
  std::string_view note_;              ///< of sort_'s current record, like bytes_
  std::string_view bytes_;
};

RowSort::RowSort(const Table& table, const RowSortOptions& options) {
  const detail::TableHandle& handle = table.handle();
  handle.require_open();
  detail::require_writable(handle.database());
  state_ = std::make_unique<State>(handle.database(), options,
                                   handle.require_definition()->format->layout);
}
RowSort::RowSort(RowSort&&) noexcept = default;
RowSort& RowSort::operator=(RowSort&& other) noexcept {
  detail::take_over(state_, other.state_);
  return *this;
}
RowSort::~RowSort() {
  detail::end_of(state_);
}

RowSort::State& RowSort::state() const {
  if (state_ == nullptr) [[unlikely]] {
    detail::refuse_moved_away("sort");
  }
  state_->require_own_process();
  return *state_;
}

bool RowSort::is_usable() const noexcept {
  return state_ != nullptr && state_->owner.is_of_this_process();
}

std::size_t RowSort::row_bytes_max() const noexcept {
  return is_usable() ? state_->row_bytes_max() : 0;
}

std::uint64_t RowSort::file_bytes(std::uint64_t rows, std::uint64_t bytes) const noexcept {
  return is_usable() ? state_->file_bytes(rows, bytes) : 0;
}

void RowSort::add(const EncodedRow& row, std::string_view note) {
  state().add(row, note);
}

std::string RowSort::save() {
  return state().save();
}

void RowSort::finish() {
  state().finish();
}

bool RowSort::next() {
  return state().next();
}

EncodedRow RowSort::row() const {
  return state().row();
}

std::string_view RowSort::note() const {
  return state().note();
}

}  // namespace palimpsest
