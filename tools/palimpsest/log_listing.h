// The output of `palimpsest log`: as text, a line for each item, or as JSON, an object on each line
// ("JSON Lines"), so that a log of any size is shown while it is read.
//
// JSON: each object has "kind": control, segments, stream, record, error. Numbers are numbers,
// names of segments strings; the members are named as in the C++ structures. A record has "text",
// its line without the position, and "counts": whether recovery replays it. Later versions may add
// members and kinds.
// Failure: std::system_error if the output cannot be written.
#pragma once

#include <cstdint>
#include <string>

#include "palimpsest/error.h"

#include "wal/log_reader.h"
#include "wal/log_store.h"

namespace palimpsest::tools {

class LogListing {
 public:
  /// `page_size` is that of the trees whose records are shown.
  LogListing(bool json, std::uint32_t page_size) : json_(json), page_size_(page_size) {}

  void show(const wal::ControlState& control) const;
  void show(const wal::Segments& segments) const;
  /// A log without damage.
  void show(const wal::LogReader& reader, const wal::Segments& segments) const;
  void show(const wal::LoggedRecord& logged) const;
  /// Only in JSON: as text, stderr has the message.
  void show(const Error& error) const;

 private:
  [[nodiscard]] std::string text_of(const wal::RecordView& record) const;

  bool json_;
  std::uint32_t page_size_;
};

}  // namespace palimpsest::tools
