#include "engine/rows/refused.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <vector>

#include "engine/tables/value_text.h"

namespace palimpsest::engine {

Outcome refused(OutcomeKind kind, const TableFormat& format, ByteView key) {
  return {kind,
          {.table = format.schema().name, .index = {}, .key = text_of_key(format.keys(), key)}};
}

Outcome refused(OutcomeKind kind, const TableFormat& format, std::size_t index,
                std::span<const Value> values) {
  std::vector<Value> of_index;
  for (const std::size_t column : format.indexes()[index].columns) {
    of_index.push_back(values[column]);
  }
  return {kind,
          {.table = format.schema().name,
           .index = format.stored().indexes[index].schema.name,
           .key = text_of_values(of_index)}};
}

Error named(const txn::NotSerializable& error, const TableCatalog& tables) try {
  constexpr std::string_view kWhy =
      "was read by the transaction, and changed by one that committed before it; it has been "
      "rolled back";
  for (const TablePtr& table : tables.all()) {
    const DefinitionPtr definition = table->keep_visible_to(nullptr);
    if (definition == nullptr) {
      continue;
    }
    const TableFormat& format = *definition->format;
    if (definition->rows->id() == error.tree()) {
      return {error.code(), fmt::format("table \"{}\": the row of key {} {}", format.schema().name,
                                        text_of_key(format.keys(), error.key()), kWhy)};
    }
    const auto index = std::ranges::find(definition->indexes, error.tree(),
                                         [](const auto* tree) { return tree->id(); });
    if (index != definition->indexes.end()) {
      const auto number = static_cast<std::size_t>(index - definition->indexes.begin());
      return {error.code(),
              fmt::format("table \"{}\", index \"{}\": an entry {}", format.schema().name,
                          format.stored().indexes[number].schema.name, kWhy)};
    }
  }
  return {error.code(), error.what()};
} catch (const std::bad_alloc&) {
  return {error.code(), error.what()};
}

}  // namespace palimpsest::engine
