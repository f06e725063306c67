// What a checkpoint leaves in the log's control file for the next opening.
//
// On disk (little-endian): 0  4 version    4  4 zero    8  8 a reading of the clock, above the GSN
// of every record before replay's start and of every page.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"

namespace palimpsest::engine {

[[nodiscard]] std::string encode_checkpoint_note(Gsn clock);
/// The clock's reading; 0 for the empty note of a new log. Throws corruption.
[[nodiscard]] Gsn decode_checkpoint_note(std::string_view note);

}  // namespace palimpsest::engine
