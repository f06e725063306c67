// Palimpsest's adapter: one B+-tree in one page file. On the layers themselves until the public API
// exists; there is no log yet, as the peers run without theirs.
#pragma once

#include "experiments/kv_bench/kv_engine.h"

namespace palimpsest::experiments {

[[nodiscard]] EngineEntry palimpsest_engine();

}  // namespace palimpsest::experiments
