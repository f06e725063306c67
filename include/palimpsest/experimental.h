// Switches for measuring, never for data that matters.
#pragma once

namespace palimpsest {

struct ExperimentalOptions {
  /// Off: transactions claim no records, so that conflicting changes go undetected. Measures what
  /// claims cost, with one transaction at a time; a second one is refused.
  bool write_conflicts = true;
  /// Off: changes leave no versions, as at isolation `none`, although transactions still take
  /// snapshots and look for versions. Measures what versions cost; with one transaction at a time,
  /// to which it makes no difference; a second one is refused.
  bool versions = true;
};

}  // namespace palimpsest
