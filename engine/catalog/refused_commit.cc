#include "engine/catalog/refused_commit.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string_view>

#include "engine/format/value_text.h"

namespace palimpsest::engine {

Error named(const txn::NotSerializable& error, const TableCatalog& tables) try {
  constexpr std::string_view kWhy =
      "was read by the transaction and changed by another one, which committed first; the "
      "transaction has been rolled back";
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
