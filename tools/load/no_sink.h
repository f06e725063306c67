// Where the rows of a dry run go: nowhere.
//
// Thread-safety and failure: as RowSink.
#pragma once

#include <memory>

#include "tools/load/row_sink.h"

namespace palimpsest::load {

/// Takes every row: what a dry run writes to.
class NoSink : public RowSink {
 public:
  explicit NoSink(RowOutcomes& outcomes) : outcomes_(outcomes) {}

  [[nodiscard]] Stage stage() const noexcept override { return Stage::parsing; }
  std::unique_ptr<RowCoder> coder() override { return nullptr; }
  void put(const EncodedRow&, const RowOrigin&) override { outcomes_.done(PutResult::added, 1); }
  void flush() override {}
  void end() override {}
  void finish() override {}

 private:
  RowOutcomes& outcomes_;
};

}  // namespace palimpsest::load
