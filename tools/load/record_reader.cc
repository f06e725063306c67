#include "tools/load/record_reader.h"

#include <algorithm>

namespace palimpsest::load {
namespace {

SpecialBytes::Set special_bytes_of(const Dialect& dialect, bool with_delimiters) {
  return {'\n', with_delimiters ? dialect.delimiter : '\n', dialect.quote.value_or('\n'),
          dialect.escape.value_or('\n')};
}

void refuse(RawRecord& record, std::size_t at, std::string_view reason) {
  if (!record.fault) {
    record.fault = RecordFault{.at = at, .reason = reason};
  }
}

/// The byte that a letter behind a backslash stands for, or none.
std::optional<char> letter_escape(char letter) noexcept {
  switch (letter) {
    case 't': return '\t';
    case 'n': return '\n';
    case 'r': return '\r';
    case '\\': return '\\';
    default: return std::nullopt;
  }
}

}  // namespace

RecordReader::RecordReader(const Dialect& dialect, std::string_view text, bool is_last, Reads reads)
    : dialect_(dialect),
      text_(text),
      is_last_(is_last),
      reads_fields_(reads == Reads::fields),
      // A delimiter that is escaped begins no field: then it must be seen.
      sees_delimiters_(reads_fields_ || dialect.escape.has_value()),
      special_(text, special_bytes_of(dialect, sees_delimiters_)) {}

bool RecordReader::next(RawRecord& record) {
  if (!skip_lines() || at_ == text_.size()) {
    return false;
  }
  record.begin = at_;
  record.lines_before = lines_;
  record.fields.clear();
  record.fault.reset();
  special_.go_to(at_);
  Progress now{.field_begin = at_};
  if (!read(record, now)) {
    return false;
  }
  at_ = record.end;
  lines_ += now.lines;
  return true;
}

/// Of a record, that there is nothing else between its fields, and that it ends in these places.
bool RecordReader::are_ends(std::span<const SpecialBytes::Place> places) const noexcept {
  const char* const window = text_.data() + special_.window();
  const auto delimiters = places.first(places.size() - 1);
  const bool all = std::ranges::all_of(
      delimiters, [&](SpecialBytes::Place place) { return window[place] == dialect_.delimiter; });
  return all && window[places.back()] == '\n';
}

bool RecordReader::next_plain(std::size_t fields, PlainRecord& record) {
  // In tbl a delimiter may stand behind the last field.
  const std::size_t wanted = fields + (dialect_.format == Format::tbl ? 1 : 0);
  if (dialect_.letter_escapes || dialect_.delimiter == '\r' || fields == 0 ||
      starts_with_skipped(text_.substr(at_))) {
    return false;
  }
  special_.go_to(at_);
  const auto ahead = special_.ahead(at_, wanted);
  if (ahead.size() < wanted) {
    return false;
  }
  std::size_t places = fields;
  if (!are_ends(ahead.first(places))) {
    places = wanted;
    if (places == fields || !are_ends(ahead.first(places)) ||
        ahead[places - 1] != ahead[places - 2] + 1) {
      return false;
    }
  }
  record.window = text_.data() + special_.window();
  record.ends = ahead.first(fields);
  record.text = text_.data() + at_;
  const std::size_t last_begin = fields == 1 ? at_ : special_.window() + ahead[fields - 2] + 1;
  const std::size_t last_end = special_.window() + ahead[fields - 1];
  const bool may_have_return = places == fields && last_end > last_begin;
  record.return_bytes = may_have_return && text_[last_end - 1] == '\r' ? 1 : 0;
  record.begin = at_;
  record.lines_before = lines_;
  at_ = special_.window() + ahead[places - 1] + 1;
  record.end = at_;
  ++lines_;
  special_.pass(places);
  return true;
}

bool RecordReader::starts_with_skipped(std::string_view rest) const noexcept {
  if (dialect_.skip_blank && (rest.starts_with('\n') || rest.starts_with("\r\n"))) {
    return true;
  }
  return !dialect_.comment.empty() && rest.starts_with(dialect_.comment);
}

/// False if a line that is to be skipped does not end in the text.
bool RecordReader::skip_lines() {
  while (at_ < text_.size() && starts_with_skipped(text_.substr(at_))) {
    const std::size_t newline = text_.find('\n', at_);
    if (newline == std::string_view::npos && !is_last_) {
      return false;
    }
    lines_ += newline == std::string_view::npos ? 0 : 1;
    ++skipped_lines_;
    at_ = newline == std::string_view::npos ? text_.size() : newline + 1;
  }
  return true;
}

/// Reads fields up to one that is quoted or escaped, or up to the end of the text, where read()
/// goes on; true if the record has ended before.
bool RecordReader::read_plain(RawRecord& record, Progress& now) {
  const char* const text = text_.data();
  const char delimiter = dialect_.delimiter;
  std::size_t at = special_.next();
  for (; at < text_.size() && (text[at] == delimiter || text[at] == '\n'); at = special_.next()) {
    const bool ends = text[at] == '\n';
    const bool has_return = ends && at > record.begin && text[at - 1] == '\r';
    const std::size_t end = has_return ? at - 1 : at;
    record.fields.push_back({.text = {text + now.field_begin, end - now.field_begin}});
    now.field_begin = at + 1;
    if (ends) {
      record.end = at + 1;
      ++now.lines;
      return true;
    }
  }
  special_.go_back_to(at);
  return false;
}

bool RecordReader::read(RawRecord& record, Progress& now) {
  if (reads_fields_ && !dialect_.letter_escapes && read_plain(record, now)) {
    return true;
  }
  for (;;) {
    const std::size_t at = special_.next();
    if (at == text_.size()) {
      return end_at_last(record, now);
    }
    const char byte = text_[at];
    if (now.in_quotes) {
      pass_in_quotes(at, now);
    } else if (byte == '\n') {
      const bool has_return = at > record.begin && text_[at - 1] == '\r';
      record.end = at + 1;
      ++now.lines;
      end_field(has_return ? at - 1 : at, record, now);
      return true;
    } else if (byte == dialect_.delimiter) {
      end_field(at, record, now);
    } else if (dialect_.escape && byte == *dialect_.escape) {
      pass_escape(at, now);
    } else {
      pass_quote(at, record, now);
    }
  }
}

void RecordReader::pass_in_quotes(std::size_t at, Progress& now) {
  const char byte = text_[at];
  if (dialect_.escape && byte == *dialect_.escape) {
    pass_escape(at, now);
  } else if (byte == *dialect_.quote) {
    const bool doubled = !dialect_.escape && text_.substr(at + 1).starts_with(byte);
    if (doubled) {
      now.escaped = true;
      special_.go_to(at + 2);
    } else {
      now.in_quotes = false;
      now.closed_at = at;
    }
  } else if (byte == '\n') {
    ++now.lines;
  }
}

void RecordReader::pass_escape(std::size_t at, Progress& now) {
  now.escaped = true;
  if (text_.substr(at + 1).starts_with('\n')) {
    ++now.lines;
  }
  special_.go_to(std::min(at + 2, text_.size()));
}

bool RecordReader::begins_field(std::size_t at, const RawRecord& record,
                                const Progress& now) const noexcept {
  return sees_delimiters_ ? at == now.field_begin
                          : at == record.begin || text_[at - 1] == dialect_.delimiter;
}

void RecordReader::pass_quote(std::size_t at, RawRecord& record, Progress& now) const {
  if (begins_field(at, record, now)) {
    now.quoted = true;
    now.in_quotes = true;
  } else if (reads_fields_) {
    refuse(record, at,
           now.quoted ? "text behind the closing quote"
                      : "a quote within a field that does not begin with one");
  }
}

/// The text ends within the record, or behind it without a newline.
bool RecordReader::end_at_last(RawRecord& record, Progress& now) {
  if (!is_last_) {
    return false;
  }
  record.end = text_.size();
  if (now.in_quotes && reads_fields_) {
    refuse(record, now.field_begin, "the quotes do not end");
    now.closed_at = text_.size();
    now.in_quotes = false;
  }
  end_field(text_.size(), record, now);
  return true;
}

void RecordReader::end_field(std::size_t end, RawRecord& record, Progress& now) const {
  if (reads_fields_ && !now.quoted && !dialect_.letter_escapes) [[likely]] {
    record.fields.push_back({.text = {text_.data() + now.field_begin, end - now.field_begin},
                             .quoted = false,
                             .escaped = now.escaped});
  } else if (reads_fields_) {
    RawField field{.quoted = now.quoted, .escaped = now.escaped};
    if (now.quoted) {
      field.text = text_.substr(now.field_begin + 1, now.closed_at - now.field_begin - 1);
      if (now.closed_at + 1 < end) {
        refuse(record, now.closed_at + 1, "text behind the closing quote");
      }
    } else {
      field.text = text_.substr(now.field_begin, end - now.field_begin);
      field.escaped = field.escaped ||
                      (dialect_.letter_escapes && field.text.find('\\') != std::string_view::npos);
    }
    record.fields.push_back(field);
  }
  now.field_begin = end + 1;
  now.quoted = false;
  now.escaped = false;
}

Unescaped unescape(const Dialect& dialect, const RawField& field, char* into) {
  const char escape =
      dialect.letter_escapes ? '\\' : (dialect.escape ? *dialect.escape : *dialect.quote);
  char* out = into;
  for (std::size_t at = 0; at < field.text.size(); ++at) {
    char byte = field.text[at];
    if (byte == escape) {
      if (++at == field.text.size()) {
        return {.reason = "nothing follows the escape at the end of the field"};
      }
      byte = field.text[at];
      if (dialect.letter_escapes) {
        const auto meant = letter_escape(byte);
        if (!meant) {
          return {.reason = "a backslash is followed by none of t, n, r, \\"};
        }
        byte = *meant;
      }
    }
    *out++ = byte;
  }
  return {.text = {into, static_cast<std::size_t>(out - into)}};
}

}  // namespace palimpsest::load
