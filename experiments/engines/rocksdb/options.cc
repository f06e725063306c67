#include "experiments/engines/rocksdb/options.h"

#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <limits>
#include <thread>

namespace palimpsest::experiments::rocks {
namespace {

constexpr double kBloomBitsPerKey = 10;

/// Replaces bytes of a value.
class ReplaceBytes final : public rocksdb::MergeOperator {
 public:
  bool FullMergeV2(const MergeOperationInput& in, MergeOperationOutput* out) const override {
    if (in.existing_value == nullptr) {
      return false;
    }
    out->new_value.assign(in.existing_value->data(), in.existing_value->size());
    return std::all_of(in.operand_list.begin(), in.operand_list.end(),
                       [&](const rocksdb::Slice& operand) {
                         const auto offset = static_cast<unsigned char>(operand[0]);
                         if (offset + operand.size() - 1 > out->new_value.size()) {
                           return false;
                         }
                         out->new_value.replace(offset, operand.size() - 1, operand.data() + 1,
                                                operand.size() - 1);
                         return true;
                       });
  }

  /// The later of two operands for the same bytes is all that is needed.
  bool PartialMerge(const rocksdb::Slice& /*key*/, const rocksdb::Slice& left,
                    const rocksdb::Slice& right, std::string* merged,
                    rocksdb::Logger* /*logger*/) const override {
    if (left.size() != right.size() || left[0] != right[0]) {
      return false;
    }
    merged->assign(right.data(), right.size());
    return true;
  }

  const char* Name() const override { return "log_bench.ReplaceBytes"; }
};

std::uint64_t part_of(std::uint64_t memory_bytes, std::uint64_t divisor) {
  return std::clamp(memory_bytes / divisor, kMib, 64 * kMib);
}

rocksdb::Options of_churn(const StoreSettings& settings) {
  rocksdb::Options options =
      common_options(filtered_table(settings.memory_bytes), part_of(settings.memory_bytes, 8));
  options.level_compaction_dynamic_level_bytes = true;
  return options;
}

rocksdb::Options of_commits(const StoreSettings& settings) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(settings.memory_bytes / 2);
  rocksdb::Options options = common_options(table, settings.memory_bytes / 8);
  options.max_write_buffer_number = 4;
  options.merge_operator = std::make_shared<ReplaceBytes>();
  return options;
}

/// Of a cache that bounds the memory, for single operations and for transactions.
rocksdb::Options of_bounded(const StoreSettings& settings) {
  const bool fits = settings.fits_in_memory();
  rocksdb::BlockBasedTableOptions table = hashed_table(settings.memory_bytes, settings.page_bytes);
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.whole_key_filtering = true;
  if (!fits) {
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.partition_filters = true;
    table.pin_top_level_index_and_filter = true;
  }
  const std::uint64_t write_buffer_bytes = part_of(settings.memory_bytes, 32);
  rocksdb::Options options = common_options(table, write_buffer_bytes);
  options.write_buffer_manager =
      std::make_shared<rocksdb::WriteBufferManager>(4 * write_buffer_bytes, table.block_cache);
  options.max_write_buffer_number = 4;
  options.level_compaction_dynamic_level_bytes = true;
  options.target_file_size_base = write_buffer_bytes;
  options.max_bytes_for_level_base = 4 * write_buffer_bytes;
  options.use_direct_reads = !fits;
  options.use_direct_io_for_flush_and_compaction = !fits;
  if (settings.purpose == Purpose::key_values) {
    options.optimize_filters_for_hits = true;
  } else {
    options.max_write_buffer_size_to_maintain = static_cast<std::int64_t>(write_buffer_bytes / 4);
    options.max_total_wal_size = settings.log_bytes_default();
  }
  return options;
}

rocksdb::Options of_purpose(const StoreSettings& settings) {
  switch (settings.purpose) {
    case Purpose::churn: return of_churn(settings);
    case Purpose::commits: return of_commits(settings);
    case Purpose::key_values:
    case Purpose::transactions: break;
  }
  return of_bounded(settings);
}

}  // namespace

rocksdb::Options common_options(const rocksdb::BlockBasedTableOptions& table,
                                std::uint64_t write_buffer_bytes) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = write_buffer_bytes;
  options.max_background_jobs = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.keep_log_file_num = 2;
  return options;
}

rocksdb::BlockBasedTableOptions filtered_table(std::uint64_t cache_bytes) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(cache_bytes);
  table.cache_index_and_filter_blocks = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  table.format_version = 5;
  return table;
}

rocksdb::BlockBasedTableOptions hashed_table(std::uint64_t cache_bytes, std::size_t block_bytes) {
  rocksdb::BlockBasedTableOptions table = filtered_table(cache_bytes);
  table.block_size = block_bytes;
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  return table;
}

rocksdb::Options options_of(const StoreSettings& settings,
                            const std::shared_ptr<rocksdb::Statistics>& statistics) {
  rocksdb::Options options = of_purpose(settings);
  options.create_if_missing = !settings.loaded;
  options.create_missing_column_families = !settings.loaded;
  if (settings.purpose == Purpose::commits || settings.purpose == Purpose::transactions) {
    options.enable_pipelined_write = true;
    options.manual_wal_flush = settings.durability == Durability::async;
    options.statistics = statistics;
  }
  return options;
}

std::string operand_of(std::size_t offset, ByteView bytes) {
  if (offset > std::numeric_limits<unsigned char>::max()) {
    throw std::logic_error("rocksdb: an operand's offset takes one byte");
  }
  std::string operand(1, static_cast<char>(offset));
  return operand.append(bytes);
}

}  // namespace palimpsest::experiments::rocks
