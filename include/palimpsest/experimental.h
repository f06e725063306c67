// Switches for measuring, never for data that matters.
#pragma once

namespace palimpsest {

struct ExperimentalOptions {
  /// Off: transactions claim no records, so that nobody notices two of them changing the same one.
  /// For measuring what claims cost, with one transaction at a time; a second one is refused.
  bool write_conflicts = true;
};

}  // namespace palimpsest
