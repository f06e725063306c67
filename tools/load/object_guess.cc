#include "tools/load/object_guess.h"

#include <simdjson.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tools/load/record_reader.h"

namespace palimpsest::load {
namespace {

namespace ondemand = simdjson::ondemand;

std::string_view without_space(std::string_view text) noexcept {
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

class Objects {
 public:
  Objects(const Chunk& chunk, const Dialect& dialect, std::uint64_t before,
          std::vector<ColumnGuess>& columns)
      : chunk_(chunk), dialect_(dialect), before_(before), columns_(columns) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      numbers_.emplace(columns_[i].name(), i);
    }
  }

  ObjectsSeen see() {
    RecordReader lines(dialect_, chunk_.text(), chunk_.is_last, RecordReader::Reads::ends);
    RawRecord record;
    ObjectsSeen seen;
    while (lines.next(record)) {
      std::string_view line = chunk_.text().substr(record.begin, record.end - record.begin);
      line.remove_suffix(line.ends_with(kObjectEnd) ? 1 : 0);
      if (without_space(line).empty()) {
        continue;
      }
      if (see_object(line, record.begin)) {
        ++seen.objects;
        ++before_;
      } else if (!seen.first_fault) {
        seen.first_fault = record.begin;
      }
    }
    return seen;
  }

 private:
  bool see_object(std::string_view line, std::size_t begin) {
    ondemand::document document;
    ondemand::object object;
    const auto error =
        parser_.iterate(line.data(), line.size(), chunk_.bytes - begin + Chunk::kPaddingBytes)
            .get(document);
    if (error != simdjson::SUCCESS || document.get_object().get(object) != simdjson::SUCCESS) {
      return false;
    }
    std::vector<bool> is_there(columns_.size());
    for (auto member : object) {
      ondemand::field field;
      std::string_view name;
      if (std::move(member).get(field) != simdjson::SUCCESS ||
          field.unescaped_key().get(name) != simdjson::SUCCESS) {
        return false;
      }
      const std::size_t column = column_of(name);
      is_there.resize(columns_.size());
      is_there[column] = true;
      see_member(field, columns_[column]);
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!is_there[i]) {
        columns_[i].see_null();
      }
    }
    return true;
  }

  std::size_t column_of(std::string_view name) {
    const auto [found, is_new] = numbers_.try_emplace(std::string(name), columns_.size());
    if (is_new) {
      columns_.emplace_back(std::string(name), dialect_.values);
      if (before_ != 0) {
        columns_.back().see_null();
      }
    }
    return found->second;
  }

  static void see_member(ondemand::field& field, ColumnGuess& column) {
    const std::string_view token = without_space(field.value().raw_json_token());
    std::string_view string;
    if (token == "null") {
      column.see_null();
    } else if (token.starts_with('{') || token.starts_with('[')) {
      column.see_nested();
    } else if (!token.starts_with('"')) {
      column.see(token);
    } else if (field.value().get_string().get(string) == simdjson::SUCCESS) {
      column.see(string, false);
    }
  }

  const Chunk& chunk_;
  const Dialect& dialect_;
  std::uint64_t before_;
  std::vector<ColumnGuess>& columns_;
  std::unordered_map<std::string, std::size_t> numbers_{};
  ondemand::parser parser_{};
};

}  // namespace

ObjectsSeen see_objects(const Chunk& chunk, const Dialect& dialect, std::uint64_t before,
                        std::vector<ColumnGuess>& columns) {
  return Objects(chunk, dialect, before, columns).see();
}

}  // namespace palimpsest::load
