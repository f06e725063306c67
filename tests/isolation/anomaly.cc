#include "tests/isolation/anomaly.h"

#include <fmt/format.h>

#include <utility>

namespace palimpsest::isolation {
namespace {

constexpr std::size_t kTextsMax = 5;

constexpr std::array<std::string_view, kAnomalies> kNames{"unwritten value",
                                                          "duplicate element",
                                                          "incompatible order",
                                                          "internal",
                                                          "lost write",
                                                          "stale read",
                                                          "G0",
                                                          "G1a",
                                                          "G1b",
                                                          "G1c",
                                                          "unrepeatable read",
                                                          "lost update",
                                                          "G-single",
                                                          "G-SI",
                                                          "G2-item"};

std::size_t number(Anomaly anomaly) noexcept {
  return static_cast<std::size_t>(anomaly);
}

}  // namespace

std::string_view name_of(Anomaly anomaly) noexcept {
  return kNames[number(anomaly)];
}

bool is_forbidden(Anomaly anomaly, Level level) noexcept {
  switch (level) {
    case Level::none: return anomaly == Anomaly::unwritten;
    case Level::read_committed: return anomaly <= Anomaly::g1c;
    case Level::snapshot: return anomaly != Anomaly::g2_item;
    case Level::serializable: break;
  }
  return true;
}

bool Findings::wants(Anomaly anomaly) const noexcept {
  return texts_[number(anomaly)].size() < kTextsMax;
}

void Findings::add(Anomaly anomaly, std::string text) {
  ++counts_[number(anomaly)];
  if (wants(anomaly)) {
    texts_[number(anomaly)].push_back(std::move(text));
  }
}

std::uint64_t Findings::count(Anomaly anomaly) const noexcept {
  return counts_[number(anomaly)];
}

std::uint64_t Findings::count_forbidden(Level level) const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kAnomalies; ++i) {
    sum += is_forbidden(static_cast<Anomaly>(i), level) ? counts_[i] : 0;
  }
  return sum;
}

std::string Findings::text(Level level) const {
  std::string text;
  for (std::size_t i = 0; i < kAnomalies; ++i) {
    if (counts_[i] == 0) {
      continue;
    }
    const bool forbidden = is_forbidden(static_cast<Anomaly>(i), level);
    text += fmt::format("{}: {}{}\n", kNames[i], counts_[i], forbidden ? "" : " (allowed)");
    for (const std::string& one : texts_[i]) {
      text += forbidden ? fmt::format("  {}\n", one) : "";
    }
  }
  return text;
}

}  // namespace palimpsest::isolation
