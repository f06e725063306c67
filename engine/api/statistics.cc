#include "palimpsest/statistics.h"

#include <algorithm>

#include "palimpsest/database.h"

#include "engine/api/database_state.h"

namespace palimpsest {

Statistics Database::statistics() const {
  const detail::DatabaseState& state = this->state();
  engine::Engine& engine = *state.engine;
  const buffer::BufferPool& pool = engine.pool();
  const wal::LogStatistics log = engine.log().statistics();
  const engine::CheckpointStatistics checkpoints = engine.checkpointer().statistics();
  const std::uint64_t version_bytes = engine.transactions().version_bytes();
  const std::uint64_t in_use = engine.entries().bytes_in_use();
  const std::uint64_t page_bytes = pool.page_size_bytes();
  return {.memory_bytes = state.memory_bytes,
          .pool_bytes = pool.frame_count() * page_bytes,
          .page_bytes = page_bytes,
          .data_bytes = engine.file().page_count() * page_bytes,
          .version_bytes = version_bytes,
          .entry_bytes = in_use - std::min(in_use, version_bytes),
          .entries = engine.entries().entries(),
          .mapping_tables = engine.entries().tables(),
          .orphan_tables = pool.orphans().count(),
          .page_reads = engine.file().pages_read(),
          .page_writes = engine.pool().writer().statistics().pages_in_place,
          .log_bytes = log.record_bytes,
          .log_device_bytes = log.stream_bytes,
          .checkpoints = checkpoints.cycles,
          .transactions_cancelled = checkpoints.cancelled,
          .snapshots_cancelled = engine.transactions().version_memory().cancelled(),
          .transactions_active = engine.transactions().active(),
          .trees_to_empty = engine.tree_pool().waiting(),
          .bulks_unretired = engine.bulk_epochs().count(),
          .bulks_held_by_damage = engine.bulk_sweep().held()};
}

}  // namespace palimpsest
