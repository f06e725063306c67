// The note that a checkpoint leaves in the log's control file for the next opening.
//
// On disk (little-endian):
//   0  4  version
//   4  4  zero
//   8  8  clock: a reading above the GSN of every record before replay's start and of every page
//  16  8  replayed up to: the contents of records with a GSN up to this, wherever they are, are on
//         the pages and in the space map already
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"

namespace palimpsest::engine {

struct CheckpointNote {
  Gsn clock{};
  Gsn replayed_up_to{};
};

[[nodiscard]] std::string encode_checkpoint_note(const CheckpointNote& note);
/// Zeros for the empty note of a new log. Throws corruption.
[[nodiscard]] CheckpointNote decode_checkpoint_note(std::string_view note);

}  // namespace palimpsest::engine
