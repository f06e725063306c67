// A table for data that brings no schema: by a sample, or by all of its records.
//
// Chosen so that what the records show is kept exactly, and that a later record that does not fit
// is noticed and never becomes another value (ValueRules::exact): integers are int64, numbers with
// a point decimals with as many digits behind it as there are; with an exponent, or more digits
// than people write, double, if that keeps them; dates, timestamps and true or false by their form;
// all other columns varchar. A column is null if a record has no value there. Digits with a zero in
// front are text.
// The primary key is the first column whose values are all there and all different. Where there is
// none, a column that counts the rows is made and is the key.
// Names that are missing, there twice, too long, or have control characters in them are replaced by
// others, and it is said.
// Failure: UsageError if there are no records, or it cannot be told whether there is a header.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/load/chunk_reader.h"
#include "tools/load/column_guess.h"
#include "tools/load/column_plan.h"
#include "tools/load/dialect.h"
#include "tools/load/header_guess.h"
#include "tools/load/record_reader.h"
#include "tools/load/schema_text.h"

namespace palimpsest::load {

struct GuessOptions {
  std::string table{};
  Header header = Header::off;
  std::vector<std::string> columns{};  ///< names of the fields; empty: by the header, or c1, c2...
  std::vector<std::string> key{};      ///< empty: chosen
  std::string row_id{};                ///< a column of this name counts the rows, and is the key
  bool unnamed_first = false;  ///< the header names all fields but the first one, as R writes it
};

struct GuessedTable {
  TableText definition{};
  Header header = Header::off;         ///< what was asked for, or found
  std::vector<std::string> columns{};  ///< of the fields, if they are not what the header names
  std::vector<std::string> first_header{};  ///< of the first file, if names were made of it
  std::string row_id{};                     ///< the column that counts the rows; empty: none
  bool keeps_nested = false;                ///< columns of text take any value of JSON
  std::vector<std::string> notes{};         ///< what was changed, for people
};

class SchemaGuess {
 public:
  /// All of them outlive it.
  SchemaGuess(const Dialect& dialect, const GuessOptions& options, const std::string& path);

  /// The next chunk of the input; the first ones of files lose their headers.
  void see(const Chunk& chunk);
  /// How many records have been seen whole, without one that may be a header.
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
  [[nodiscard]] GuessedTable finish();

 private:
  struct FirstField {
    std::string text{};
    bool quoted = false;
  };

  void begin_file(Chunk& chunk);
  void begin_first_file(Chunk& chunk);
  void hold_first(Chunk& chunk);
  void set_names(std::vector<std::string> names);
  void see_records(const Chunk& chunk);
  void see_fields(std::vector<RawField>& fields, const Chunk& chunk, std::size_t begin);
  void see_field(ColumnGuess& column, const RawField& field) const;
  void see_text(ColumnGuess& column, std::string_view text, bool quoted) const;
  void note_fault(const Chunk& chunk, std::size_t at, std::string_view reason);
  void see_objects(const Chunk& chunk);
  void limit_memory();
  void decide_header();
  [[nodiscard]] HeaderVerdict verdict() const;
  void make_usable();
  [[nodiscard]] std::string usable_name(std::size_t number) const;
  [[nodiscard]] std::string free_name(std::string_view wanted, std::size_t before) const;
  [[nodiscard]] std::vector<std::string> choose_key();
  [[noreturn]] void refuse_empty() const;

  const Dialect& dialect_;
  const GuessOptions& options_;
  const std::string& path_;
  std::vector<ColumnGuess> columns_{};
  std::vector<FirstField> first_{};  ///< the first record, which may be a header
  bool has_begun_ = false;
  bool has_header_ = false;  ///< for sure
  std::uint64_t records_ = 0;
  std::string first_fault_{};  ///< of the first record that is none
  GuessedTable guess_{};
};

/// By the beginning of a file alone.
[[nodiscard]] GuessedTable guess_schema(const Chunk& sample, const Dialect& dialect,
                                        const std::string& path, const GuessOptions& options);

}  // namespace palimpsest::load
