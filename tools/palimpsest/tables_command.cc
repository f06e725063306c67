// `palimpsest tables DB [TABLE...]`: shows the schemas of a closed database's tables.
//
// A block of text is a schema as `load --schema-file` takes it, with the table's name in a comment
// above it. JSON: an object for each table, of "kind" table; "schema" is the same text on one line.
// Only definitions are read, no rows. A damaged one is reported, and all other tables are shown.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "btree/node/node_print.h"
#include "engine/catalog/definitions_audit.h"
#include "tools/load/fault.h"
#include "tools/load/schema_text.h"
#include "tools/palimpsest/closed_command.h"

namespace palimpsest::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kName = "tables";

struct TablesOptions {
  ClosedOptions database;
  std::vector<std::string> tables;  ///< none: all
};

load::TableText schema_of(const engine::TableDefinition& definition) {
  const engine::StoredTable& stored = definition.format->stored();
  load::TableText table{.table = stored.schema};
  for (const engine::StoredIndex& index : stored.indexes) {
    table.indexes.push_back(index.schema);
  }
  return table;
}

std::string in_parentheses(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "(" : ", ") + load::name_text_of(name);
  }
  return text + ")";
}

std::string block_of(const load::TableText& table) {
  std::size_t width = 0;
  for (const ColumnDefinition& column : table.table.columns) {
    width = std::max(width, load::name_text_of(column.name).size());
  }
  std::string text = fmt::format("-- table {}\n", load::name_text_of(table.table.name));
  for (const ColumnDefinition& column : table.table.columns) {
    text += fmt::format("{:<{}}  {},\n", load::name_text_of(column.name), width,
                        load::type_text_of(column.type));
  }
  text += fmt::format("primary key {}", in_parentheses(table.table.key));
  for (const IndexSchema& index : table.indexes) {
    text += fmt::format(",\n{}index {} {}", index.unique ? "unique " : "",
                        load::name_text_of(index.name), in_parentheses(index.columns));
  }
  return text + "\n";
}

std::string json_of(const load::TableText& table) {
  Json columns = Json::array();
  for (const ColumnDefinition& column : table.table.columns) {
    columns.push_back({{"name", column.name},
                       {"type", load::type_text_of(column.type)},
                       {"nullable", column.type.nullable}});
  }
  Json indexes = Json::array();
  for (const IndexSchema& index : table.indexes) {
    indexes.push_back({{"name", index.name}, {"unique", index.unique}, {"columns", index.columns}});
  }
  const Json line = {{"kind", "table"},    {"name", table.table.name},
                     {"columns", columns}, {"primary_key", table.table.key},
                     {"indexes", indexes}, {"schema", load::text_of(table)}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string text_of(const std::vector<load::TableText>& tables, bool json) {
  std::string text;
  for (const load::TableText& table : tables) {
    text += json || text.empty() ? "" : "\n";
    text += json ? json_of(table) : block_of(table);
  }
  return text;
}

/// Shows the requested tables, and reports why it cannot show the rest.
class Tables {
 public:
  explicit Tables(const TablesOptions& options) : options_(options) {}

  int run(ClosedFiles& files) {
    const engine::DefinitionsAudit definitions =
        engine::audit_definitions(files.database().catalog());
    std::vector<load::TableText> tables;
    for (const auto& definition : definitions.tables) {
      if (is_wanted(definition->format->schema().name)) {
        tables.push_back(schema_of(*definition));
      }
    }
    print(text_of(tables, options_.database.json));
    if (tables.empty() && options_.tables.empty() && !options_.database.json &&
        definitions.damaged.empty()) {
      print("-- no tables\n");
    }
    tell_problems(definitions, tables);
    return problems_ == 0 ? kOk : kFailed;
  }

 private:
  [[nodiscard]] bool is_wanted(std::string_view name) const {
    return options_.tables.empty() ||
           std::ranges::find(options_.tables, name) != options_.tables.end();
  }
  /// A damaged one; its name as it is shown.
  [[nodiscard]] bool is_wanted(const engine::DamagedDefinition& damaged) const {
    return options_.tables.empty() || std::ranges::any_of(options_.tables, [&](const auto& name) {
             return btree::printable(name) == damaged.table;
           });
  }
  void tell_problems(const engine::DefinitionsAudit& definitions,
                     const std::vector<load::TableText>& shown) {
    for (const engine::DamagedDefinition& damaged : definitions.damaged) {
      if (is_wanted(damaged)) {
        tell_of(ErrorCode::corruption,
                fmt::format("table {}: {}", load::in_quotes(damaged.table), damaged.what));
      }
    }
    for (const std::string& name : options_.tables) {
      if (!is_there(name, definitions, shown)) {
        tell_of(ErrorCode::not_found, fmt::format("there is no table {}", load::in_quotes(name)));
      }
    }
  }
  [[nodiscard]] static bool is_there(const std::string& name,
                                     const engine::DefinitionsAudit& definitions,
                                     const std::vector<load::TableText>& shown) {
    const auto is_it = [&](const load::TableText& table) { return table.table.name == name; };
    return std::ranges::any_of(shown, is_it) ||
           std::ranges::find(definitions.damaged, btree::printable(name),
                             &engine::DamagedDefinition::table) != definitions.damaged.end();
  }
  void tell_of(ErrorCode code, std::string_view what) {
    tell_problem(kName, code, what);
    ++problems_;
  }

  const TablesOptions& options_;
  int problems_ = 0;
};

int run(const TablesOptions& options) {
  return look_at(kName, options.database,
                 [&](ClosedFiles& files) { return Tables(options).run(files); });
}

}  // namespace

void add_tables_command(CLI::App& app, Action& chosen) {
  CLI::App* const command =
      app.add_subcommand(kName,
                         "Shows the tables of a closed database: columns, "
                         "primary key, indexes,\n"
                         "as load --schema-file takes them. Changes nothing.");
  const auto options = std::make_shared<TablesOptions>();
  add_closed_options(*command, options->database);
  command->add_option("TABLE", options->tables, "only these tables");
  command->footer(
      std::string(
          "If a TABLE does not exist, the remaining ones are shown, and the command fails.\n") +
      kClosedExitCodes);
  command->callback([options, &chosen] {
    chosen = [options](const load::MessagePlace& messages) {
      options->database.messages = messages;
      return run(*options);
    };
  });
}

}  // namespace palimpsest::tools
