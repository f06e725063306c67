// Bulks that append rows with bodies of some hundred bytes to a table without an index.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/bulk/bulk_fixture.h"

namespace palimpsest::engine::test {

class AppendingBulks : public BulkRows {
 protected:
  AppendingBulks() : BulkRows(options_with_log()) { make_plain(); }

  /// A call that enters thousands of rows has their index entries in one transaction.
  [[nodiscard]] static EngineOptions options_with_log() {
    EngineOptions options = bulk_options();
    options.log_bytes_max = 200 * wal::kSegmentBytesMin;
    return options;
  }

  [[nodiscard]] Outcome add(InBulk& bulk, int id, int variant = 0,
                            const std::string& body = kBody) {
    const std::string name = name_of(id, variant);
    return bulk.bulk->insert(table(), {id, std::string_view(name), std::string_view(body)});
  }
  void add(InBulk& bulk, Rows& rows, int begin, int end) {
    for (int id = begin; id < end; ++id) {
      ASSERT_TRUE(add(bulk, id));
      rows[id] = {name_of(id, 0), kBody};
      if (id % 100 == 0) {
        make_log_space();
      }
    }
  }
  /// What the bulk sees, as its public calls do.
  [[nodiscard]] Rows seen_by(InBulk& bulk) {
    bulk.bulk->append_kept();
    return rows_of(bulk.in.get());
  }
  [[nodiscard]] std::uint64_t fresh_pages() {
    return database_->pool().writer().statistics().pages_fresh;
  }

  static inline const std::string kBody = std::string(800, 'b');
};

}  // namespace palimpsest::engine::test
