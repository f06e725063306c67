#include "engine/table/refused.h"

#include <vector>

#include "engine/format/value_text.h"

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

}  // namespace palimpsest::engine
