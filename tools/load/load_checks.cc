#include "tools/load/load_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tools/load/byte_source.h"
#include "tools/load/output_place.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

/// Standard output says how the load went.
void require_file(const std::string& output) {
  if (output == kStandardInput) {
    throw UsageError("rejected records and what is wrong with them go to files, not to -");
  }
}

void check_memory(const LoadOptions& options) {
  if (options.memory_bytes != 0 && options.memory_bytes < LoadOptions::kMemoryBytesMin) {
    throw UsageError(fmt::format("{} bytes of memory: at least {} are needed", options.memory_bytes,
                                 LoadOptions::kMemoryBytesMin));
  }
}

void check_outputs(const LoadOptions& options) {
  for (const std::string& written : {options.faults.reject_file, options.faults.reject_log}) {
    if (!written.empty()) {
      require_file(written);
      require_plain_name(written);
      require_outside(written, options.database.pages);
      require_outside(written, options.database.log);
      for (const std::string& file : options.files) {
        require_not_read(written, file);
      }
    }
  }
  require_different(options.faults.reject_file, options.faults.reject_log);
}

void check_inputs(const LoadOptions& options) {
  for (const std::string& file : options.files) {
    const auto bytes = file_bytes(file);
    if (!bytes) {
      check_is_there(file);
    }
    if (!bytes && options.resume) {
      throw UsageError(fmt::format("--resume is for files, {} is none", file));
    }
  }
}

}  // namespace

void check_options(const LoadOptions& options) {
  check_memory(options);
  if (std::ranges::count(options.files, kStandardInput) > 1) {
    throw UsageError("standard input is named twice");
  }
  check_outputs(options);
  check_inputs(options);
}

std::optional<std::uint64_t> input_bytes_of(const LoadOptions& options) {
  std::uint64_t total = 0;
  for (const std::string& file : options.files) {
    const auto bytes = file_bytes(file);
    if (!bytes) {
      return std::nullopt;
    }
    total += *bytes;
  }
  return total;
}

}  // namespace palimpsest::load
