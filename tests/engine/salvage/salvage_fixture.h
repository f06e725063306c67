// Databases for tests of salvage: one that has everything, what is in it, and which rows lie on
// which of its pages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "palimpsest/database.h"
#include "palimpsest/salvage.h"

#include "buffer/page_header.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::test {

/// Rows as texts, by keys as texts, by table.
using TableContent = std::map<std::string, std::string>;
using Content = std::map<std::string, TableContent>;

[[nodiscard]] TableContent content_of(const Table& table);
/// Also reads each index, and expects an entry for each row.
[[nodiscard]] Content content_of(Database& database);
/// What is not the same, in a few words; empty: nothing.
[[nodiscard]] std::string difference(const Content& expected, const Content& found);

[[nodiscard]] Options small_options();
/// Tables of bytes and of columns, with indexes, with large values, loaded by a bulk, altered, and
/// changed by a bulk where they lie; some dropped.
void make_everything(Database& database);

/// What is lost with a page.
struct OnPage {
  std::set<std::pair<std::string, std::string>> rows;  ///< table and key
  std::set<std::string> tables;                        ///< definitions
};
/// Of a database that was closed: its leaves, and pages of large values. Others hold nothing that
/// cannot be made anew.
[[nodiscard]] std::map<std::uint64_t, OnPage> pages_of(const std::string& directory);
/// By the name in the catalog; that itself has none.
[[nodiscard]] std::uint64_t root_of(const std::string& directory, const std::string& tree);
[[nodiscard]] Content without(const Content& content, const OnPage& lost);

/// A directory of a database, and its page file.
class DatabaseFiles {
 public:
  explicit DatabaseFiles(std::string directory) : directory_(std::move(directory)) {}

  [[nodiscard]] const std::string& path() const noexcept { return directory_; }
  [[nodiscard]] std::string pages() const { return directory_ + "/pages"; }
  [[nodiscard]] std::uint64_t page_count() const;
  [[nodiscard]] std::string read(std::uint64_t offset, std::size_t bytes) const;
  void write(std::uint64_t offset, const std::string& bytes) const;
  /// Something else in the place of a page, a different thing by its number; what was there.
  [[nodiscard]] std::string damage(std::uint64_t page) const;
  void mend(std::uint64_t page, const std::string& what_was_there) const;

  /// What a page says that it holds.
  [[nodiscard]] buffer::PageType type_of(std::uint64_t page) const;

  static constexpr std::uint64_t kPageBytes = 4096;

 private:
  std::string directory_;
};

struct Salvaged {
  SalvageReport report;
  Content content;
};
/// Into a directory that is made and removed for that.
[[nodiscard]] Salvaged salvaged(const std::string& directory, const SalvageOptions& options = {});

}  // namespace palimpsest::test
