// Database::compact().
#include "palimpsest/compaction.h"

#include "palimpsest/database.h"

#include "engine/api/database_state.h"

namespace palimpsest {

CompactionReport Database::compact(const CompactionOptions& options) {
  detail::DatabaseState& state = this->state();
  detail::require_writable(state);
  return state.engine->compact(options);
}

}  // namespace palimpsest
