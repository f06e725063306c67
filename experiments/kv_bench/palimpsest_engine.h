// Palimpsest's adapter: one B+-tree in one page file. It uses the layers themselves, not the public
// API, and has no log: trees are measured alone, as the peers run without their logs.
#pragma once

#include "experiments/kv_bench/kv_engine.h"

namespace palimpsest::experiments {

[[nodiscard]] EngineEntry palimpsest_engine();

}  // namespace palimpsest::experiments
