// The input of a load, looked at before a row is loaded: how its files are written, whether they
// have a header, and what table they suggest where no schema says it.
//
// Failure: as InputFiles, ChunkReader, guess_file() and SchemaGuess. Thread-safety: belongs to one
// thread, but for what its reader allows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/load/chunk_reader.h"
#include "tools/load/input_files.h"
#include "tools/load/load.h"
#include "tools/load/schema_guess.h"
#include "tools/load/schema_text.h"

namespace palimpsest::load {

class LoadInput {
 public:
  LoadInput(const LoadOptions& options, Counters& counters);

  /// The first file can be read, or Error.
  void open() { static_cast<void>(files_.peek(1)); }
  /// Finds out what options have not said, and puts it into them. `known`: the table, if it is
  /// there or a schema says what it is to be; else one is chosen and returned.
  [[nodiscard]] std::optional<TableText> find(const TableText* known, LoadOptions& options);

  [[nodiscard]] ChunkReader& reader() noexcept { return *reader_; }
  [[nodiscard]] InputFiles& files() noexcept { return files_; }
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }
  /// What each header is: names of columns were made of it. Empty: nothing is required of it.
  [[nodiscard]] const std::vector<std::string>& required_header() const noexcept {
    return required_header_;
  }
  /// Whether the table was chosen, and not by all records.
  [[nodiscard]] bool is_by_sample() const noexcept { return is_by_sample_; }

 private:
  void find_dialect(const TableText* known, LoadOptions& options);
  void find_header(const TableText& known, LoadOptions& options);
  void find_row_id(const TableText& known, const std::vector<std::string>* first,
                   LoadOptions& options);
  void open_reader(const LoadOptions& options, std::size_t chunk_bytes);
  [[nodiscard]] TableText choose(LoadOptions& options);
  [[nodiscard]] GuessedTable guess_by_all(const LoadOptions& options, const GuessOptions& guess);
  [[nodiscard]] GuessedTable guess_by_sample(const LoadOptions& options, const GuessOptions& guess);

  Counters& counters_;
  InputFiles files_;
  std::optional<ChunkReader> reader_{};
  std::vector<std::string> notes_{};
  std::vector<std::string> required_header_{};
  bool unnamed_first_ = false;
  bool is_by_sample_ = false;
};

}  // namespace palimpsest::load
