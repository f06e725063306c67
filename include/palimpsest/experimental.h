// Switches for measuring, never for data that matters.
#pragma once

namespace palimpsest {

struct ExperimentalOptions {
  /// Off: transactions claim no records, so that nobody notices two of them changing the same one.
  /// For measuring what claims cost, with one transaction at a time; a second one is refused.
  bool write_conflicts = true;
  /// Off: changes leave no versions, as at isolation `none`, although transactions take snapshots
  /// and look for versions. For measuring what versions cost beside all that; with one transaction
  /// at a time, to which it makes no difference, and a second one is refused.
  bool versions = true;
};

}  // namespace palimpsest
