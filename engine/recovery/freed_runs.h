// What log records of freed pages say, for the analysis (FreedRunsDecoder).
//
// Failure: Error corruption for a body that is none. Thread-safety: a pure function.
#pragma once

#include "palimpsest/error.h"
#include "palimpsest/function_ref.h"

#include "base/bytes.h"
#include "buffer/space_record.h"

namespace palimpsest::engine {

inline void decode_freed_runs(ConstBytes body, FunctionRef<void(const buffer::PageRun&)> show) {
  const auto record = buffer::SpaceRecord::decode(body);
  if (!record) {
    throw Error(ErrorCode::corruption, "a log record of freed pages is damaged");
  }
  for (std::size_t i = 0; i < record->count(); ++i) {
    show(record->run(i));
  }
}

}  // namespace palimpsest::engine
