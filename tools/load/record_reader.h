// Takes delimited text (csv, tsv, tbl) apart into records and their fields.
//
// A quote opens a field only where the field begins; anywhere else it is a fault of the record and
// opens nothing. So where a record ends depends on nothing but the bytes before it, in whatever
// pieces the text is read: the code that cuts a file into chunks and the code that parses them
// agree, also about records that are wrong.
// Invariants: (1) records and skipped lines cover the text without gaps, in order
//             (2) what follows a record does not depend on its faults
// Thread-safety: belongs to one thread. Failure: none; what is wrong with a record is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tools/load/dialect.h"
#include "tools/load/special_bytes.h"

namespace palimpsest::load {

/// A field as it stands in the text.
struct RawField {
  std::string_view text{};  ///< without its quotes
  bool quoted = false;
  bool escaped = false;  ///< bytes of it stand for others: unescape()
};

// Why records are none, with what reads them.
inline constexpr std::string_view kQuoteWithin =
    "a quote within a field that does not begin with one (--quote none takes quotes as they are)";
inline constexpr std::string_view kBlankBeforeQuote =
    "a quote behind blanks (--trim leaves blanks around fields out, --quote none takes quotes as "
    "they are)";
inline constexpr std::string_view kBehindQuote =
    "text behind the closing quote (--quote none takes quotes as they are)";
inline constexpr std::string_view kOpenQuote =
    "the quotes do not end (--quote none takes quotes as they are)";

/// Why a record is none.
struct RecordFault {
  std::size_t at = 0;  ///< in the text that the reader was given
  std::string_view reason{};
};

struct RawRecord {
  std::size_t begin = 0;           ///< in the text that the reader was given
  std::size_t end = 0;             ///< behind its \n
  std::uint64_t lines_before = 0;  ///< of that text, before the record
  std::vector<RawField> fields{};
  std::optional<RecordFault> fault{};
};

/// A record whose fields are all as they stand in the text: without quotes and escapes.
struct PlainRecord {
  std::size_t begin = 0;  ///< as of RawRecord, as the next two
  std::size_t end = 0;
  std::uint64_t lines_before = 0;
  const char* text = nullptr;                   ///< of its first field
  const char* window = nullptr;                 ///< from which the fields' ends are counted
  std::span<const SpecialBytes::Place> ends{};  ///< of the fields, valid until the next record
  std::size_t return_bytes = 0;                 ///< 1: the last field ends before a \r

  [[nodiscard]] std::string_view field(std::size_t number) const noexcept {
    const char* const from = number == 0 ? text : window + ends[number - 1] + 1;
    const char* const to = window + ends[number] - (number + 1 == ends.size() ? return_bytes : 0);
    return {from, static_cast<std::size_t>(to - from)};
  }
};

class RecordReader {
 public:
  /// What is read of records: only where they end, or their fields, too.
  enum class Reads : std::uint8_t { ends = 1, fields };

  /// `text` begins with a record; `is_last`: its end is the end of the file.
  RecordReader(const Dialect& dialect, std::string_view text, bool is_last, Reads reads);

  /// The next record, skipping comments and blank lines; false if the text has none that ends in
  /// it. Unless fields are read, `record` has no fields, and no faults.
  bool next(RawRecord& record);
  /// The same, quickly, if the next record is surely plain and has so many fields. False says
  /// nothing: next() is to be asked. When fields are read.
  bool next_plain(std::size_t fields, PlainRecord& record);
  /// Behind the last record, and the lines skipped behind it.
  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_; }
  [[nodiscard]] std::uint64_t skipped_lines() const noexcept { return skipped_lines_; }

 private:
  /// The record that is being read.
  struct Progress {
    std::size_t field_begin = 0;
    std::size_t closed_at = 0;  ///< the closing quote, if `quoted`
    std::uint64_t lines = 0;
    bool quoted = false;
    bool in_quotes = false;
    bool escaped = false;
  };

  /// Whether read_plain() sees all that matters.
  [[nodiscard]] bool is_plain_dialect() const noexcept {
    return !dialect_.letter_escapes && !dialect_.trim && dialect_.delimiter_rest.empty() &&
           dialect_.line_end != kObjectEnd;
  }
  [[nodiscard]] std::uint64_t lines_of(const RawRecord& record) const noexcept;
  [[nodiscard]] bool is_blank(std::size_t begin, std::size_t end) const noexcept;
  void pass_delimiter(std::size_t at, RawRecord& record, Progress& now);
  [[nodiscard]] bool skip_lines();
  [[nodiscard]] bool starts_with_skipped(std::string_view rest) const noexcept;
  [[nodiscard]] bool are_ends(std::span<const SpecialBytes::Place> places) const noexcept;
  bool read(RawRecord& record, Progress& now);
  bool read_plain(RawRecord& record, Progress& now);
  void pass_in_quotes(std::size_t at, Progress& now);
  void pass_escape(std::size_t at, Progress& now);
  void pass_quote(std::size_t at, RawRecord& record, Progress& now) const;
  [[nodiscard]] bool end_at_last(RawRecord& record, Progress& now);
  void end_field(std::size_t end, RawRecord& record, Progress& now) const;
  [[nodiscard]] bool begins_field(std::size_t at, const RawRecord& record,
                                  const Progress& now) const noexcept;

  const Dialect& dialect_;
  std::string_view text_;
  bool is_last_;
  bool reads_fields_;
  bool sees_delimiters_;
  SpecialBytes special_;
  std::size_t at_ = 0;
  std::uint64_t lines_ = 0;
  std::uint64_t skipped_lines_ = 0;
};

/// What a field of a dialect stands for, in `into`, which has room for as many bytes as the field;
/// or the reason why it stands for nothing.
struct Unescaped {
  std::string_view text{};
  std::string_view reason{};  ///< empty: none
};
[[nodiscard]] Unescaped unescape(const Dialect& dialect, const RawField& field, char* into);

}  // namespace palimpsest::load
