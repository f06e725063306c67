#include "engine/table/row_copy.h"

namespace palimpsest::engine {

void RowCopy::assign_large(ByteView row) {
  large_.assign(row);
  view_ = large_;
}

}  // namespace palimpsest::engine
