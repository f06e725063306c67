#include "palimpsest/row.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "engine/format/table_format.h"
#include "engine/format/value_text.h"

namespace palimpsest {

using engine::PlaceKind;
using engine::RowLayout;

namespace {

/// Every view was made with the RowFormat of a TableFormat.
const detail::TableFormat& whole(const detail::RowFormat& format) noexcept {
  return static_cast<const detail::TableFormat&>(format);
}

}  // namespace

Value RowView::operator[](std::string_view column) const {
  const RowLayout& rows = whole(*format_).rows();
  const auto number = rows.find_column(column);
  if (!number) [[unlikely]] {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\" has no column \"{}\"", rows.table(), column));
  }
  return (*this)[*number];
}

Value RowView::operator[](std::size_t column) const {
  const detail::TableFormat& format = whole(*format_);
  const RowLayout& rows = format.rows();
  if (column >= rows.column_count()) [[unlikely]] {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\" has no column {}: it has {}, counted from 0",
                            rows.table(), column, rows.column_count()));
  }
  if (const auto& place = rows.place(column); place.kind == PlaceKind::key) {
    return parts_->values(format, key_)[place.offset];
  }
  if (!rows.fits(bytes_)) [[unlikely]] {
    throw Error(ErrorCode::corruption,
                fmt::format("table \"{}\": a row of {} bytes is too short: the shortest has {}",
                            rows.table(), bytes_.size(), rows.bytes_min()));
  }
  return rows.value(bytes_, column);
}

void RowView::refuse_column() const {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("table \"{}\": the column belongs to another table, or to this one "
                          "before its columns were altered",
                          whole(*format_).rows().table()));
}

std::size_t RowView::column_count() const noexcept {
  return whole(*format_).rows().column_count();
}

std::string RowView::text() const {
  std::vector<Value> values;
  values.reserve(column_count());
  for (std::size_t column = 0; column < column_count(); ++column) {
    values.push_back((*this)[column]);
  }
  return engine::text_of_values(values);
}

/// Parses the key at once: reading the row changes nothing, so any number of threads may read it.
struct Row::Content {
  Content(const RowView& from, std::shared_ptr<const detail::TableFormat> kept)
      : format(std::move(kept)),
        bytes(joined(from)),
        view(std::string_view(bytes).substr(0, from.key_bytes().size()),
             std::string_view(bytes).substr(from.key_bytes().size()), *format, key) {
    static_cast<void>(key.values(*format, view.key_bytes()));
  }

  static std::string joined(const RowView& row) {
    std::string bytes;
    bytes.reserve(row.key_bytes().size() + row.bytes().size());
    bytes += row.key_bytes();
    bytes += row.bytes();
    return bytes;
  }

  const std::shared_ptr<const detail::TableFormat> format;
  const std::string bytes;  ///< the key's bytes, then the row's
  detail::KeyParts key;
  const RowView view;
};

Row::Row(const RowView& view) : Row(view, whole(*view.format_).share()) {}

Row::Row(const RowView& view, std::shared_ptr<const detail::TableFormat> format)
    : content_(std::make_shared<const Content>(view, std::move(format))) {}

const RowView& Row::view() const noexcept {
  return content_->view;
}

}  // namespace palimpsest
