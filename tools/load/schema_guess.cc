#include "tools/load/schema_guess.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "palimpsest/error.h"

#include "tools/load/column_guess.h"
#include "tools/load/fault.h"
#include "tools/load/record_reader.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

namespace ondemand = simdjson::ondemand;

/// A copy of a chunk: its header is taken off, and the chunk is still to be read.
Chunk copy_of(const Chunk& chunk) {
  Chunk copy{.bytes = chunk.bytes,
             .file = chunk.file,
             .byte = chunk.byte,
             .line = chunk.line,
             .is_first = chunk.is_first,
             .is_last = chunk.is_last};
  copy.memory = std::make_unique<char[]>(chunk.bytes + Chunk::kPaddingBytes);
  std::memcpy(copy.memory.get(), chunk.memory.get(), chunk.bytes);
  return copy;
}

class Guess {
 public:
  Guess(const Dialect& dialect, const GuessOptions& options)
      : dialect_(dialect), options_(options) {}

  TableText of(Chunk sample, const std::string& path) {
    std::vector<std::string> names = options_.columns;
    if (options_.header != Header::off) {
      const std::vector<std::string> header = take_header(sample, dialect_, path);
      if (names.empty()) {
        require_names(header, path);
        names = header;
      }
    }
    for (const std::string& name : names) {
      columns_.emplace_back(name);
    }
    if (dialect_.format == Format::jsonl) {
      see_objects(sample);
    } else {
      see_records(sample);
    }
    if (columns_.empty() || records_ == 0) {
      throw UsageError(fmt::format("{}: no records to choose a schema by", path));
    }
    return schema();
  }

 private:
  static void require_names(const std::vector<std::string>& header, const std::string& path) {
    const auto empty = std::ranges::find(header, "");
    if (empty != header.end()) {
      throw UsageError(
          fmt::format("{}: the header has no name for column {} of {}: --columns names "
                      "all of them, with - for one that is not loaded",
                      path, empty - header.begin() + 1, header.size()));
    }
  }

  void see_records(const Chunk& sample) {
    RecordReader reader(dialect_, sample.text(), sample.is_last, RecordReader::Reads::fields);
    RawRecord record;
    while (reader.next(record)) {
      std::vector<RawField>& fields = record.fields;
      if (dialect_.format == Format::tbl && fields.size() > 1 && fields.back().text.empty()) {
        fields.pop_back();
      }
      if (columns_.empty()) {
        name_columns(fields.size());
      }
      if (record.fault || fields.size() != columns_.size()) {
        continue;  // the load will tell
      }
      ++records_;
      for (std::size_t i = 0; i < fields.size(); ++i) {
        see_field(columns_[i], fields[i]);
      }
    }
  }

  void name_columns(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      columns_.emplace_back(fmt::format("c{}", i + 1));
    }
  }

  void see_field(ColumnGuess& column, const RawField& field) const {
    if (!field.quoted && is_null(field.text)) {
      column.see_null();
      return;
    }
    std::string text(field.text);
    if (field.escaped) {
      text.resize(unescape(dialect_, field, text.data()).text.size());
    }
    column.see(text);
  }

  [[nodiscard]] bool is_null(std::string_view text) const noexcept {
    switch (dialect_.null_rule) {
      case NullRule::empty: return text.empty();
      case NullRule::text: return text == dialect_.null_text;
      case NullRule::escaped: break;
    }
    return text == "\\N";
  }

  void see_objects(const Chunk& sample) {
    RecordReader lines(dialect_, sample.text(), sample.is_last, RecordReader::Reads::ends);
    RawRecord record;
    ondemand::parser parser;
    while (lines.next(record)) {
      ondemand::document document;
      ondemand::object object;
      const auto error = parser
                             .iterate(sample.memory.get() + record.begin, record.end - record.begin,
                                      sample.bytes - record.begin + Chunk::kPaddingBytes)
                             .get(document);
      if (error == simdjson::SUCCESS && document.get_object().get(object) == simdjson::SUCCESS) {
        ++records_;
        see_members(object);
      }
    }
    for (ColumnGuess& column : columns_) {
      if (column.seen() < records_) {
        column.see_null();
      }
    }
  }

  void see_members(ondemand::object& object) {
    for (auto member : object) {
      ondemand::field field;
      std::string_view name;
      if (std::move(member).get(field) != simdjson::SUCCESS ||
          field.unescaped_key().get(name) != simdjson::SUCCESS) {
        return;
      }
      auto column = std::ranges::find(columns_, name, &ColumnGuess::name);
      if (column == columns_.end()) {
        column = columns_.emplace(columns_.end(), std::string(name));
      }
      see_member(field, *column);
    }
  }

  static void see_member(ondemand::field& field, ColumnGuess& column) {
    std::string_view token = field.value().raw_json_token();
    token = token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
    std::string_view string;
    if (token == "null") {
      column.see_null();
    } else if (!token.starts_with('"')) {
      column.see(token);
    } else if (field.value().get_string().get(string) == simdjson::SUCCESS) {
      column.see(string, false);
    }
  }

  [[nodiscard]] TableText schema() const {
    TableText guess;
    guess.table.name = options_.table;
    for (const ColumnGuess& column : columns_) {
      if (!column.name().empty()) {
        guess.table.columns.push_back({.name = column.name(), .type = column.type()});
      }
    }
    guess.table.key = options_.key.empty() ? choose_key() : options_.key;
    try {
      guess.table.validate();
    } catch (const Error& error) {
      throw UsageError(fmt::format("the schema that the data suggests is none: {}", error.what()));
    }
    return guess;
  }

  [[nodiscard]] std::vector<std::string> choose_key() const {
    const auto is_exact = [](const ColumnGuess& column) {
      return column.may_be_key() && column.type().type != ColumnType::float64 &&
             !column.name().empty();
    };
    const auto found = std::ranges::find_if(columns_, is_exact);
    if (found == columns_.end()) {
      throw UsageError(
          "no column of the sample has different values in all records, so none can "
          "be the primary key: --primary-key names columns that are one together");
    }
    return {found->name()};
  }

  const Dialect& dialect_;
  const GuessOptions& options_;
  std::vector<ColumnGuess> columns_{};
  std::size_t records_ = 0;
};

}  // namespace

TableText guess_schema(const Chunk& sample, const Dialect& dialect, const std::string& path,
                       const GuessOptions& options) {
  return Guess(dialect, options).of(copy_of(sample), path);
}

}  // namespace palimpsest::load
