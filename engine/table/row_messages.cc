#include "engine/table/row_messages.h"

#include <fmt/format.h>

#include "palimpsest/error.h"

#include "engine/format/value_text.h"

namespace palimpsest::engine {

void refuse_damaged_row(const TableFormat& format, ByteView key, std::string_view why) {
  throw Error(ErrorCode::corruption,
              fmt::format("table \"{}\": the row {} is damaged: {}", format.schema().name,
                          text_of_key(format.keys(), key), why));
}

void refuse_damaged_index(const TableFormat& format, std::size_t index, std::string_view why) {
  throw Error(ErrorCode::corruption,
              fmt::format("table \"{}\", index \"{}\": {}", format.schema().name,
                          format.stored().indexes[index].schema.name, why));
}

}  // namespace palimpsest::engine
