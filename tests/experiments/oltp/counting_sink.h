// A sink of populations that stores nothing: counts rows and bytes, as they are stored, and checks
// that keys ascend in each table.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "base/bytes.h"
#include "experiments/tables/encoded_key.h"
#include "experiments/tables/encoded_row.h"
#include "experiments/tables/key.h"

namespace palimpsest::experiments::oltp::test {

struct CountingSink {
  struct Last {
    std::string key;
    std::uint64_t rows = 0;
  };
  std::map<std::string, Last> tables;  ///< by their names
  std::uint64_t bytes = 0;

  template <class Key>
  void add(const Key& key, const RowOf<Key>& row) {
    count(std::string(name_of(Key::kTable)), EncodedKey(key).view());
    bytes += EncodedRow(row).view().size();
  }
  template <class IndexKey>
  void add(const IndexKey& key) {
    count(std::string(name_of(IndexKey::kTable)), EncodedKey(key).view());
  }

  [[nodiscard]] std::uint64_t rows() const {
    std::uint64_t rows = 0;
    for (const auto& [table, last] : tables) {
      rows += last.rows;
    }
    return rows;
  }

 private:
  void count(const std::string& table, ByteView key) {
    Last& last = tables[table];
    ASSERT_LT(last.key, key) << table;
    last.key = key;
    ++last.rows;
    bytes += key.size();
  }
};

/// Both have as many rows in each table.
inline void expect_same_rows(const CountingSink& sink, const CountingSink& expected) {
  EXPECT_EQ(sink.tables.size(), expected.tables.size());
  for (const auto& [table, last] : expected.tables) {
    const auto found = sink.tables.find(table);
    ASSERT_NE(found, sink.tables.end()) << table;
    EXPECT_EQ(found->second.rows, last.rows) << table;
  }
}

/// `value` differs from `expected` by at most a hundredth.
inline void expect_near(std::uint64_t value, std::uint64_t expected) {
  EXPECT_GE(value, expected - expected / 100);
  EXPECT_LE(value, expected + expected / 100);
}

}  // namespace palimpsest::experiments::oltp::test
