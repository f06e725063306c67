#include "tools/load/record_reader.h"

#include <algorithm>

namespace palimpsest::load {
namespace {

SpecialBytes::Set special_bytes_of(const Dialect& dialect, bool with_delimiters) {
  const char end = dialect.line_end;
  return {end, with_delimiters ? dialect.delimiter : end, dialect.quote.value_or(end),
          dialect.escape.value_or(end)};
}

void refuse(RawRecord& record, std::size_t at, std::string_view reason) {
  if (!record.fault) {
    record.fault = RecordFault{.at = at, .reason = reason};
  }
}

constexpr std::string_view kBlanks = " \t";

/// Without the blanks around it, but for a byte that is a delimiter.
std::string_view trimmed(std::string_view text, char delimiter) noexcept {
  const auto is_blank = [&](char byte) {
    return (byte == ' ' || byte == '\t') && byte != delimiter;
  };
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
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
      // A delimiter that is escaped begins no field: then it must be seen; and before a quote there
      // may be more than a delimiter.
      sees_delimiters_(reads_fields_ || dialect.escape.has_value() || dialect.trim ||
                       !dialect.delimiter_rest.empty()),
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
  return all && window[places.back()] == dialect_.line_end;
}

bool RecordReader::next_plain(std::size_t fields, PlainRecord& record) {
  const std::size_t wanted = fields + (dialect_.drops_empty_end ? 1 : 0);
  if (dialect_.letter_escapes || dialect_.delimiter == '\r' || fields == 0 || dialect_.trim ||
      !dialect_.delimiter_rest.empty() || dialect_.line_end != '\n' ||
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
  if (dialect_.skip_blank && (rest.starts_with(dialect_.line_end) || rest.starts_with("\r\n"))) {
    return true;
  }
  return !dialect_.comment.empty() && rest.starts_with(dialect_.comment);
}

/// False if a line that is to be skipped does not end in the text.
bool RecordReader::skip_lines() {
  while (at_ < text_.size() && starts_with_skipped(text_.substr(at_))) {
    const std::size_t newline = text_.find(dialect_.line_end, at_);
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
  const char line_end = dialect_.line_end;
  std::size_t at = special_.next();
  for (; at < text_.size() && (text[at] == delimiter || text[at] == line_end);
       at = special_.next()) {
    const bool ends = text[at] == line_end;
    const bool has_return = ends && line_end == '\n' && at > record.begin && text[at - 1] == '\r';
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
  if (reads_fields_ && is_plain_dialect() && read_plain(record, now)) {
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
    } else if (byte == dialect_.line_end) {
      const bool has_return = byte == '\n' && at > record.begin && text_[at - 1] == '\r';
      record.end = at + 1;
      now.lines += lines_of(record);
      end_field(has_return ? at - 1 : at, record, now);
      return true;
    } else if (byte == dialect_.delimiter) {
      pass_delimiter(at, record, now);
    } else if (dialect_.escape && byte == *dialect_.escape) {
      pass_escape(at, now);
    } else {
      pass_quote(at, record, now);
    }
  }
}

/// Of one that has ended: those in quotes and escapes have been counted.
std::uint64_t RecordReader::lines_of(const RawRecord& record) const noexcept {
  if (dialect_.line_end != kObjectEnd) {
    return 1;
  }
  const std::string_view text = text_.substr(record.begin, record.end - record.begin);
  return static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

/// A delimiter, if all of its bytes are there.
void RecordReader::pass_delimiter(std::size_t at, RawRecord& record, Progress& now) {
  const std::string_view rest = dialect_.delimiter_rest;
  if (!text_.substr(at + 1).starts_with(rest)) {
    return;
  }
  end_field(at, record, now);
  if (!rest.empty()) {
    now.field_begin += rest.size();
    special_.go_to(now.field_begin);
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
  } else if (byte == dialect_.line_end) {
    ++now.lines;
  }
}

void RecordReader::pass_escape(std::size_t at, Progress& now) {
  now.escaped = true;
  if (text_.substr(at + 1).starts_with(dialect_.line_end)) {
    ++now.lines;
  }
  special_.go_to(std::min(at + 2, text_.size()));
}

bool RecordReader::begins_field(std::size_t at, const RawRecord& record,
                                const Progress& now) const noexcept {
  if (!sees_delimiters_) {
    return at == record.begin || text_[at - 1] == dialect_.delimiter;
  }
  return at == now.field_begin || (dialect_.trim && !now.quoted && is_blank(now.field_begin, at));
}

/// Whether there are only blanks between two places.
bool RecordReader::is_blank(std::size_t begin, std::size_t end) const noexcept {
  return text_.substr(begin, end - begin).find_first_not_of(kBlanks) == std::string_view::npos;
}

void RecordReader::pass_quote(std::size_t at, RawRecord& record, Progress& now) const {
  if (begins_field(at, record, now)) {
    now.quoted = true;
    now.in_quotes = true;
    now.field_begin = at;
  } else if (reads_fields_) {
    refuse(record, at,
           now.quoted ? kBehindQuote
                      : (is_blank(now.field_begin, at) ? kBlankBeforeQuote : kQuoteWithin));
  }
}

/// The text ends within the record, or behind it without a newline.
bool RecordReader::end_at_last(RawRecord& record, Progress& now) {
  if (!is_last_) {
    return false;
  }
  record.end = text_.size();
  now.lines += dialect_.line_end == kObjectEnd ? lines_of(record) : 0;
  if (now.in_quotes && reads_fields_) {
    refuse(record, now.field_begin, kOpenQuote);
    now.closed_at = text_.size();
    now.in_quotes = false;
  }
  end_field(text_.size(), record, now);
  return true;
}

void RecordReader::end_field(std::size_t end, RawRecord& record, Progress& now) const {
  if (reads_fields_ && !now.quoted && !dialect_.letter_escapes && !dialect_.trim) [[likely]] {
    record.fields.push_back({.text = {text_.data() + now.field_begin, end - now.field_begin},
                             .quoted = false,
                             .escaped = now.escaped});
  } else if (reads_fields_) {
    RawField field{.quoted = now.quoted, .escaped = now.escaped};
    if (now.quoted) {
      field.text = text_.substr(now.field_begin + 1, now.closed_at - now.field_begin - 1);
      const bool has_more = now.closed_at + 1 < end;
      if (has_more && !(dialect_.trim && is_blank(now.closed_at + 1, end))) {
        refuse(record, now.closed_at + 1, kBehindQuote);
      }
    } else {
      field.text = text_.substr(now.field_begin, end - now.field_begin);
      field.text = dialect_.trim ? trimmed(field.text, dialect_.delimiter) : field.text;
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
