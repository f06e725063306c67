// A table for tests of serializable transactions: ids, values in an index, names in a unique one,
// and notes, which may be long.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "palimpsest/database.h"

#include "tests/support/temporary_directory.h"

namespace palimpsest::test {

class SerializableItems {
 public:
  SerializableItems() {
    using namespace palimpsest::types;
    database.create_table({.name = "item",
                           .columns = {{"id", int64()},
                                       {"name", nullable(varchar(40))},
                                       {"value", int64()},
                                       {"note", varchar(20'000)}},
                           .key = {"id"}});
    database.create_index("item", {.name = "by_name", .columns = {"name"}, .unique = true});
    database.create_index("item", {.name = "by_value", .columns = {"value"}});
    table.emplace(database.table("item"));
    by_name.emplace(table->index("by_name"));
    by_value.emplace(table->index("by_value"));
  }
  [[nodiscard]] Transaction begin(Isolation isolation = Isolation::serializable) {
    return database.begin({.durability = Durability::asynchronous, .isolation = isolation});
  }
  [[nodiscard]] static std::string name_of(std::int64_t number) {
    return fmt::format("n{:03}", number);
  }

  TemporaryDirectory directory{memory_file_system()};
  Database database = Database::open(directory.path("database"), options());
  std::optional<Table> table;
  std::optional<Index> by_name;
  std::optional<Index> by_value;

 private:
  [[nodiscard]] static Options options() {
    Options options;
    options.memory_bytes = std::uint64_t{16} << 18U;  // some dozen pages
    options.version_bytes_max = std::uint64_t{1} << 20U;
    options.log_bytes_max = std::uint64_t{16} << 20U;
    return options;
  }
};

/// Rows 0 to 3, whose values are their ids.
class Serializable : public ::testing::Test {
 protected:
  Serializable() {
    Transaction in = items_.begin();
    for (std::int64_t id = 0; id < 4; ++id) {
      const std::string name = SerializableItems::name_of(id);
      items_.table->insert(in, {id, name, id, "note"}).require();
    }
    in.commit();
  }
  void set(Transaction& in, std::int64_t id, std::int64_t value) {
    items_.table->update(in, {id}, {{"value", value}}).require();
  }
  [[nodiscard]] std::int64_t value_of(std::int64_t id) {
    return (*items_.table->get({id}))["value"].as_integer();
  }
  [[nodiscard]] std::int64_t value(Transaction& in, std::int64_t id) {
    return (*items_.table->get(in, {id}))["value"].as_integer();
  }

  SerializableItems items_;
};

}  // namespace palimpsest::test
