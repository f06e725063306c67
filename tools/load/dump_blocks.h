// The rows of a dump as blocks of text, made beside each other and written in the order of keys.
//
// A thread finds where the next block ends, by a glance at its rows; makes them text; and writes
// the text when its turn has come. Finding and writing are done by one thread at a time, text is
// made by all of them. Rows are shown twice in their pages, and never copied but as text.
// Memory: the text of a block for each thread. Blocks have about kBlockBytes of rows; one may have
// a longer row.
// Failure: of a thread that is used, Error and Interrupted; what was written by then are whole
//          blocks. Thread-safety: write_all() is one call.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/database.h"
#include "palimpsest/key.h"
#include "palimpsest/table.h"

#include "tools/load/row_text.h"
#include "tools/load/text_output.h"

namespace palimpsest::load {

class DumpBlocks {
 public:
  static constexpr std::size_t kBlockBytes = std::size_t{256} << 10U;
  static constexpr std::size_t kBlockRows = 8192;

  /// All outlive it. `text` makes what turns rows into text, one for each thread. Nothing is
  /// written to the database meanwhile, so that all threads see the same rows.
  DumpBlocks(Database& database, const Table& table, const Range& range,
             std::function<std::unique_ptr<RowText>()> text, TextOutput& output);

  /// All rows of the range, by so many threads, or as many as the system allows; how many there
  /// were.
  [[nodiscard]] std::uint64_t write_all(std::size_t threads);

 private:
  /// Some rows that follow each other.
  struct Block {
    std::uint64_t number = 0;
    std::string after{};  ///< the encoded key of the row before it, if it is not the first block
    std::optional<std::string> last{};  ///< that of its last row; nothing: no row comes behind it
    std::uint64_t rows = 0;
  };

  void work() noexcept;
  void work_blocks();
  [[nodiscard]] std::optional<Block> find_block(const Transaction& in);
  [[nodiscard]] Range rows_of(const Block& block) const;
  void write(const Block& block, std::string_view text);
  void fail(std::exception_ptr failure) noexcept;

  Database& database_;
  const Table& table_;
  const Range& range_;
  const std::function<std::unique_ptr<RowText>()> text_;
  TextOutput& output_;

  std::mutex finding_{};     ///< of the next three
  std::uint64_t found_ = 0;  ///< blocks
  std::string last_{};       ///< the encoded key of the last row that was found
  bool at_end_ = false;

  std::mutex writing_{};               ///< of all that follows
  std::condition_variable written_{};  ///< a block, or a thread has failed
  std::uint64_t blocks_written_ = 0;
  std::uint64_t rows_written_ = 0;
  std::exception_ptr failure_{};
};

}  // namespace palimpsest::load
