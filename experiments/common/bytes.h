// Views of bytes, as the engine's folders have them.
#pragma once

#include "base/bytes.h"
