// What becomes of bad records: they are counted, shown, written down, and too many of them end the
// load.
//
// Thread-safety: belongs to one thread. Failure: Error no_space, not_found, permission_denied,
//          io_error if a file cannot be written; the message names it.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/load/fault.h"

namespace palimpsest::load {

/// How many bad records a load goes on with.
struct FaultLimit {
  std::uint64_t count = 0;
  std::optional<double> percent{};  ///< of all records, judged at the end; in place of `count`

  /// "10", "0.5%"; nothing if it is neither.
  [[nodiscard]] static std::optional<FaultLimit> parse(std::string_view text);
};

struct FaultReportOptions {
  FaultLimit limit{};
  std::string reject_file{};     ///< for the records as they are; empty: none
  std::string reject_log{};      ///< for the messages; empty: none
  std::uint64_t shown_max = 20;  ///< messages on stderr
};

/// A file for records below one header.
struct SavedRejected {
  std::string header{};
  std::uint64_t bytes = 0;

  friend bool operator==(const SavedRejected&, const SavedRejected&) = default;
};

/// What another load has told, so that this one goes on with it.
struct SavedFaults {
  std::array<std::uint64_t, kFaultKinds.size()> by_kind{};
  std::uint64_t file_bytes = 0;        ///< of the file for records
  std::uint64_t log_bytes = 0;         ///< of the file for messages
  std::vector<SavedRejected> below{};  ///< of all files for records whose header is known
};

class FaultReport {
 public:
  /// Makes the files, empty ones; or, with `saved`, goes on where they were so long: Error
  /// corruption if they are shorter.
  explicit FaultReport(FaultReportOptions options, const SavedFaults* saved = nullptr);

  /// `record` as it stands in its file, which begins with that header: records below another one
  /// go to a file of their own, whose name has a number.
  void add(const Fault& fault, std::string_view record, std::string_view header = {});
  /// Whether there are more than the limit, of a load that has not ended.
  [[nodiscard]] bool is_over() const noexcept;
  /// Whether there are more than the limit, of a load that has ended.
  [[nodiscard]] bool is_over(std::uint64_t records) const noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// The text of the first one that was added, if none has been shown; else empty.
  [[nodiscard]] const std::string& first_unshown() const noexcept { return first_unshown_; }
  [[nodiscard]] std::uint64_t count(FaultKind kind) const noexcept {
    return by_kind_[static_cast<std::size_t>(kind) - 1];
  }
  /// What has been told, and is in the files after any crash.
  [[nodiscard]] SavedFaults save();
  /// Everything is in the files; there is nothing more to add.
  void finish();

 private:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

  /// Records that stand below one header.
  struct Rejected {
    std::string path{};
    File file{nullptr, std::fclose};
    std::optional<std::string> header{};  ///< nothing: there are none yet
  };

  [[nodiscard]] static File make_file(const std::string& path);
  [[nodiscard]] static File open_file(const std::string& path, std::uint64_t bytes);
  [[nodiscard]] static std::uint64_t sync(const File& file, const std::string& path);
  static void write(const File& file, std::string_view text, const std::string& path);
  static void close(File& file, const std::string& path);
  [[nodiscard]] std::string path_of(std::size_t number) const;
  void open_rejected(const SavedFaults* saved);
  [[nodiscard]] Rejected& rejected_below(std::string_view header);
  void reject(std::string_view record, std::string_view header);
  void tell_of(const Fault& fault);

  FaultReportOptions options_;
  std::vector<Rejected> rejected_{};  ///< empty: not wanted
  File reject_log_;
  std::uint64_t count_ = 0;
  std::array<std::uint64_t, kFaultKinds.size()> by_kind_{};
  bool has_shown_ = false;
  std::string first_unshown_{};
};

}  // namespace palimpsest::load
