// Describes an anomaly of one version of a key: its writer, and the transactions it affects.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tests/isolation/anomaly.h"
#include "tests/isolation/history.h"

namespace palimpsest::isolation {

/// `value`: as text.
inline void add_version_finding(Findings& findings, const History& history, Anomaly anomaly,
                                KeyNumber key, std::string_view value, TransactionNumber by,
                                std::optional<TransactionNumber> other) {
  std::string text;
  if (findings.wants(anomaly)) {
    text = fmt::format("key {}, value {}\n    {}{}{}", history.key(key), value, history.text(by),
                       other ? "\n    " : "", other ? history.text(*other) : "");
  }
  findings.add(anomaly, std::move(text));
}

}  // namespace palimpsest::isolation
