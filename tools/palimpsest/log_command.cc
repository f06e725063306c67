// `palimpsest log DIR`: shows what a database's log says about itself, verifies it, and lists its
// records.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "base/io/device.h"
#include "buffer/file_header.h"
#include "engine/engine.h"
#include "tools/load/message.h"
#include "tools/palimpsest/command.h"
#include "tools/palimpsest/directories.h"
#include "tools/palimpsest/log_listing.h"
#include "wal/log_reader.h"
#include "wal/log_store.h"

namespace palimpsest::tools {

using load::tell;

namespace {

constexpr std::array<std::uint32_t, 5> kPageBytes{4096, 8192, 16384, 32768, 65536};
constexpr std::uint32_t kPageBytesDefault = kPageBytes.front();

struct LogOptions {
  std::string directory;
  std::string log_directory;  ///< empty: beside the pages
  bool records = false;
  bool json = false;
  std::uint32_t page_bytes = 0;  ///< 0: as the page file says
};

/// The page size of the database, needed to read records of trees. This command ignores a missing
/// or damaged page file.
std::uint32_t page_bytes_of(const std::string& directory) {
  try {
    const auto file =
        open_quietly(directory)->open(buffer::kPageFileName, io::OpenMode::read_only, false);
    const AlignedMemory blocks(buffer::kHeaderCopies * buffer::kHeaderBlockBytes,
                               buffer::kHeaderBlockBytes);
    file->read(0, blocks.bytes());
    const std::uint32_t bytes =
        buffer::find_file_header(blocks.bytes(), file->name()).header.page_size_bytes;
    if (std::ranges::find(kPageBytes, bytes) == kPageBytes.end()) {
      throw Error(ErrorCode::corruption,
                  fmt::format("page file \"{}\" has pages of {} bytes", file->name(), bytes));
    }
    return bytes;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) {
      tell(fmt::format("palimpsest: assuming pages of {} bytes: {}\n", kPageBytesDefault,
                       error.what()));
    }
    return kPageBytesDefault;
  }
}

void list(const LogOptions& options, const LogListing& listing) {
  const auto device = open_log_directory(options.directory, options.log_directory);
  require_log_control(*device);
  const wal::LogStore store = wal::LogStore::open(*device, {}, true);
  const wal::ControlState& control = store.control().state();
  listing.show(control);
  listing.show(store.segments());
  wal::LogReader reader(store.segments(), control);
  reader.find_end();
  listing.show(reader, store.segments());
  if (options.records) {
    for (const wal::StreamPart& part : reader.parts()) {
      reader.visit(part, [&](const wal::LoggedRecord& logged) { listing.show(logged); });
    }
  }
}

int run(const LogOptions& options) {
  const bool asks_file = options.records && options.page_bytes == 0;
  const LogListing listing(options.json, asks_file
                                             ? page_bytes_of(options.directory)
                                             : std::max(options.page_bytes, kPageBytesDefault));
  try {
    list(options, listing);
  } catch (const Error& error) {
    listing.show(error);
    throw;
  }
  return kOk;
}

}  // namespace

void add_log_command(CLI::App& app, Action& chosen) {
  CLI::App* const command =
      app.add_subcommand("log", "Shows the contents of a database's log, and verifies it.");
  const auto options = std::make_shared<LogOptions>();
  command->add_option("DIR", options->directory, "the database's directory")->required();
  command->add_option("--log-directory", options->log_directory, kLogDirectoryHelp);
  command->add_flag("--records", options->records, "show each record");
  command->add_flag("--json", options->json, "one JSON object a line");
  command
      ->add_option("--page-bytes", options->page_bytes,
                   "page size of the trees (default: that of the page file, else 4096)")
      ->check(CLI::IsMember(std::vector(kPageBytes.begin(), kPageBytes.end())));
  command->callback([options, &chosen] {
    chosen = [options](const load::MessagePlace&) { return run(*options); };
  });
}

}  // namespace palimpsest::tools
