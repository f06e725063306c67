// `palimpsest check DIR`: checks a database that no process has open for damage. One that was not
// closed cleanly is first recovered in memory.
//
// Checked: the page file's header and length; the checksum and identity of every page in use; each
// tree, the catalog first, node by node, and the blocks of its large values; the space map against
// what the trees reach; the definition of each table, its rows, and its indexes against the rows;
// the log's control file and segments. After a clean close no page has a pending free and the log
// has nothing to replay, so every page in use must be reached from a tree, and every row and every
// entry belongs to a committed transaction. Free pages are not checked: their bytes have no
// meaning. A finding does not end the check; parts that cannot be checked because of it are left
// out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "btree/audit.h"
#include "engine/offline_database.h"
#include "tools/load/message.h"
#include "tools/palimpsest/check_report.h"
#include "tools/palimpsest/check_tables.h"
#include "tools/palimpsest/closed_files.h"
#include "tools/palimpsest/command.h"
#include "tools/palimpsest/directories.h"
#include "wal/log_store.h"

namespace palimpsest::tools {

using load::tell;

namespace {

constexpr std::uint32_t kPagesAtOnce = 32;
/// Memory for keys of indexes, beside that for pages: one part in so many of it.
constexpr std::uint64_t kBatchShare = 4;

/// Every page in use, read and verified.
PageScan scan_pages(buffer::PageFile& file, const buffer::SpaceMap& space, CheckReport& report) {
  PageScan scan;
  const std::uint32_t page_bytes = file.page_size_bytes();
  const AlignedMemory memory(std::size_t{kPagesAtOnce} * page_bytes, page_bytes);
  std::vector<buffer::PageRead> reads;
  const auto read_all = [&] {
    file.read_pages(reads);
    for (const buffer::PageRead& read : reads) {
      try {
        if (!read.ok()) {
          ++scan.damaged;
          file.throw_read_error(read);
        }
      } catch (const Error& error) {
        report.find("pages", error.what());
      }
    }
    scan.in_use += reads.size();
    reads.clear();
  };
  for (std::uint64_t page = raw(file.first_page()); page < file.page_count(); ++page) {
    if (!space.is_allocated(PageId{page})) {
      ++scan.free;
      continue;
    }
    reads.push_back({.id = PageId{page},
                     .into = memory.bytes().subspan(reads.size() * page_bytes, page_bytes)});
    if (reads.size() == kPagesAtOnce) {
      read_all();
    }
  }
  read_all();
  return scan;
}

class Check {
 public:
  Check(const ClosedOptions& options, CheckReport& report) : options_(options), report_(report) {}

  /// Throws an error that means that the database cannot be checked.
  void run() {
    if (!open_view()) {
      return;
    }
    tell_if_recovered(view_, "check");
    std::optional<engine::OfflineDatabase> opened;
    if (!open_pages(opened)) {
      return;
    }
    engine::OfflineDatabase& database = *opened;
    report_.show(database.file());
    check_log(database);
    if (!attempt("space map", [&] { database.open_space(); })) {
      return;
    }
    report_.show(scan_pages(database.file(), database.space(), report_));
    if (attempt("catalog", [&] { database.open_catalog(options_.memory_mib << 20U); })) {
      check_trees(database);
    }
  }

 private:
  /// False: it was not closed cleanly, and is damaged.
  bool open_view() {
    try {
      view_ = view_of(options_);
      return true;
    } catch (const Error& error) {
      if (is_refusal(error.code())) {
        throw;
      }
      report_.find("recovery", error.what());
      return false;
    }
  }

  /// False: the file is not a page file, which is damage, since the log says that it was one.
  bool open_pages(std::optional<engine::OfflineDatabase>& database) {
    require_page_file(*view_.pages);
    try {
      database.emplace(*view_.pages);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::not_a_database) {
        throw;
      }
      if (view_.log == nullptr) {
        throw_no_database(*view_.pages, error.code(), error.what());
      }
      report_.find("page file", error.what());
      return false;
    }
  }

  /// An error is a finding; returns false then.
  template <class Call>
  bool attempt(std::string_view where, const Call& call) {
    try {
      call();
      return true;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::not_closed_cleanly || error.code() == ErrorCode::locked ||
          error.code() == ErrorCode::out_of_memory) {
        throw;
      }
      report_.find(where, error.what());
      return false;
    }
  }

  void check_log(engine::OfflineDatabase& database) {
    io::Device& device = require_log(view_, options_);
    bool is_own = true;
    attempt("log", [&] {
      require_log_control(device);
      const wal::LogStore store = wal::LogStore::open(device, {}, true);
      is_own = store.control().state().uuid == database.file().header().uuid;
      if (!is_own) {
        return;
      }
      require_nothing_to_replay(store);
      report_.show(store.segments());
    });
    if (!is_own) {
      tell_foreign(device);
    }
  }

  /// Damage, unless the caller has said where the log is.
  void tell_foreign(const io::Device& device) {
    if (options_.log_directory.empty()) {
      report_.find("log", "it belongs to another database");
      return;
    }
    throw Error(ErrorCode::not_found,
                fmt::format("{}: the log belongs to another database", device.path()));
  }

  void check_trees(engine::OfflineDatabase& database) {
    btree::PageSet reached;
    std::vector<CheckedTree> checked;
    for (const txn::TreeCatalog::Entry& entry : database.catalog().entries()) {
      checked.push_back(check_tree(database.catalog(), entry, reached));
    }
    if (std::ranges::all_of(checked, &CheckedTree::sound)) {
      report_.find("space map", btree::audit_space(database.file(), database.space(), reached));
    } else {  // pages below the damage are not reached
      report_.left_out("space map", "not compared with the trees, which are damaged");
    }
    const std::uint64_t batch_bytes = (options_.memory_mib << 20U) / kBatchShare;
    attempt("tables", [&] { check_tables(database.catalog(), checked, batch_bytes, report_); });
  }

  CheckedTree check_tree(txn::TreeCatalog& catalog, const txn::TreeCatalog::Entry& entry,
                         btree::PageSet& reached) {
    const std::string name =
        entry.name.empty() ? "catalog" : fmt::format("tree \"{}\"", entry.name);
    CheckedTree checked{.name = entry.name};
    attempt(name, [&] {
      checked.tree = &catalog.tree(entry.id);
      const btree::TreeAudit audit = btree::audit(*checked.tree, reached);
      report_.show(name, audit);
      report_.find(name, audit.findings);
      checked.sound = audit.sound();
      checked.records = audit.levels.empty() ? 0 : audit.leaves().entries;
    });
    return checked;
  }

  const ClosedOptions& options_;
  CheckReport& report_;
  DatabaseView view_;
};

int check(const ClosedOptions& options, CheckReport& report) {
  try {
    Check(options, report).run();
  } catch (const Error& error) {
    if (is_refusal(error.code())) {
      report.refuse(error);
      return kCannotCheck;
    }
    report.find("page file", error.what());
  }
  report.conclude();
  return report.sound() ? kOk : kFailed;
}

/// An aborted check says nothing about the database, unless it has found something.
int run(const ClosedOptions& options) {
  CheckReport report(options.json);
  try {
    return check(options, report);
  } catch (const std::exception& error) {  // the output cannot be written, or memory has run out
    tell(fmt::format("palimpsest: the check was aborted: {}\n", error.what()));
    return report.sound() ? kCannotCheck : kFailed;
  }
}

}  // namespace

void add_check_command(CLI::App& app, Action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "check",
      "Checks a database that no program has open: every page, tree, large value, the space map,\n"
      "the log, every row, and that indexes agree with the rows. Changes nothing: a database that\n"
      "was not closed cleanly is recovered in memory.");
  const auto options = std::make_shared<ClosedOptions>();
  command->add_option("DIR", options->directory, "the database's directory")->required();
  command->add_option("--log-directory", options->log_directory, kLogDirectoryHelp);
  command->add_flag("--json", options->json, "one JSON object a line");
  command
      ->add_option("--memory-mib", options->memory_mib,
                   "memory for pages (default: 64); keys take a quarter of it in addition")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20U));
  command->footer(
      "Exit codes: 0 sound; 1 damaged; 2 usage; 3 cannot be checked: in use, never finished, "
      "absent,\n"
      "no database, not readable, its log elsewhere, more to recover than --memory-mib, or the\n"
      "output cannot be written. Free pages are not checked.");
  command->callback([options, &chosen] {
    chosen = [options](const load::MessagePlace& messages) {
      options->messages = messages;
      return run(*options);
    };
  });
}

}  // namespace palimpsest::tools
