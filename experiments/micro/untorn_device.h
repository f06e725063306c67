// A storage device that claims to write pages without tearing them, for measuring the cost of the
// double write. A crash of the machine may tear pages that it wrote: for benchmarks only.
#pragma once

#include <memory>

#include "base/io/device.h"

namespace palimpsest::experiments {

/// The same directory, through `device`.
[[nodiscard]] std::unique_ptr<io::Device> claim_untorn(std::unique_ptr<io::Device> device);

}  // namespace palimpsest::experiments
