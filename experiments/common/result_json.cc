#include "experiments/common/result_json.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace palimpsest::experiments {

double microseconds(std::uint64_t nanoseconds) noexcept {
  return static_cast<double>(nanoseconds) / 1000.0;
}

nlohmann::json latency_json(const Histogram& latency_ns) {
  return {{"p50", microseconds(latency_ns.quantile(0.5))},
          {"p90", microseconds(latency_ns.quantile(0.9))},
          {"p99", microseconds(latency_ns.quantile(0.99))},
          {"p999", microseconds(latency_ns.quantile(0.999))},
          {"max", microseconds(latency_ns.max())},
          {"timed_operations", latency_ns.count()}};
}

void add_host(nlohmann::json& object, const HostInfo& host) {
  object["cpu"] = host.cpu;
  object["kernel"] = host.kernel;
  object["compiler"] = host.compiler;
  object["commit"] = host.commit;
  object["storage"] = host.storage;
}

namespace {

void write_text(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) {
    throw std::runtime_error(fmt::format("cannot write {}", file));
  }
}

}  // namespace

void write_file(const std::string& file, const std::string& text) {
  if (std::filesystem::is_other(file)) {
    write_text(file, text);
    return;
  }
  const std::string aside = aside_of(file);
  try {
    write_text(aside, text);
    std::filesystem::rename(aside, file);
  } catch (...) {
    ::unlink(aside.c_str());
    throw;
  }
}

std::string aside_of(const std::string& file) {
  return file + ".new";
}

}  // namespace palimpsest::experiments
