#include "tools/palimpsest/log_listing.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "btree/log/tree_record_print.h"
#include "wal/transaction_record.h"

namespace palimpsest::tools {
namespace {

using Json = nlohmann::ordered_json;

void print_line(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string hex(const Uuid& uuid) {
  std::string text;
  for (const std::uint8_t byte : uuid) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

/// A segment file's name without the directory's.
std::string file_name(const wal::Segments& segments, std::uint64_t number) {
  const std::string name = segments.name_of(number);
  return name.substr(name.rfind('/') + 1);
}

}  // namespace

void LogListing::show(const wal::ControlState& control) const {
  const wal::LogStart& start = control.start;
  if (json_) {
    print_line({{"kind", "control"},
                {"uuid", hex(control.uuid)},
                {"clean", control.clean},
                {"segment_bytes", control.segment_bytes},
                {"incarnation", raw(control.incarnation)},
                {"incarnation_begin", raw(control.incarnation_begin)},
                {"start",
                 {{"position", raw(start.position)},
                  {"sequence", raw(start.sequence)},
                  {"incarnation", raw(start.incarnation)}}},
                {"note_bytes", control.note.size()}});
    return;
  }
  fmt::print("control: database {}, {}, incarnation {} from batch {} on, note of {} bytes\n",
             hex(control.uuid), control.clean ? "closed cleanly" : "in use or crashed",
             raw(control.incarnation), raw(control.incarnation_begin), control.note.size());
  fmt::print("replay starts at {} in the stream, with batch {}\n", raw(start.position),
             raw(start.sequence));
}

void LogListing::show(const wal::Segments& segments) const {
  Json in_use = Json::array();
  for (const std::uint64_t number : segments.numbers()) {
    const std::string file = file_name(segments, number);
    const wal::SegmentPlace place = segments.place(number);
    if (json_) {
      in_use.push_back({{"number", number},
                        {"file", file},
                        {"begin", raw(place.begin)},
                        {"bytes", place.bytes}});
    } else {
      fmt::print("segment {}: {}, from {} on, {} bytes\n", number, file, raw(place.begin),
                 place.bytes);
    }
  }
  if (json_) {
    print_line({{"kind", "segments"}, {"in_use", in_use}, {"spare", segments.spare()}});
  } else {
    fmt::print("{} segments, {} of them spare; {} bytes\n", segments.files(), segments.spare(),
               segments.bytes());
  }
}

void LogListing::show(const wal::LogReader& reader, const wal::Segments& segments) const {
  const wal::LogEnd& end = reader.end();
  if (json_) {
    print_line({{"kind", "stream"},
                {"batches", end.batches},
                {"bytes", end.bytes},
                {"end", raw(end.position)},
                {"next_sequence", raw(end.next_sequence)},
                {"incarnation", raw(end.incarnation)},
                {"durable_gsn", raw(end.durable_gsn)}});
    return;
  }
  fmt::print(
      "whole: {} batches of {} bytes up to segment {} offset {}; next is batch {}; incarnation {}, "
      "durable GSN {}\n",
      end.batches, end.bytes, segments.number_of(end.position), segments.offset_of(end.position),
      raw(end.next_sequence), raw(end.incarnation), raw(end.durable_gsn));
}

void LogListing::show(const wal::LoggedRecord& logged) const {
  const std::string text = text_of(logged.record);
  if (json_) {
    print_line({{"kind", "record"},
                {"incarnation", raw(logged.incarnation)},
                {"slot", raw(logged.slot)},
                {"lsn", raw(logged.lsn)},
                {"gsn", raw(logged.record.gsn)},
                {"type", raw(logged.record.type)},
                {"chunk", raw(logged.chunk)},
                {"payload_bytes", logged.record.payload.size()},
                {"counts", logged.counts},
                {"text", text}});
    return;
  }
  fmt::print("{}/{}/{} GSN {}{}: {}\n", raw(logged.incarnation), raw(logged.slot), raw(logged.lsn),
             raw(logged.record.gsn), logged.counts ? "" : " (beyond the cut)", text);
}

void LogListing::show(const Error& error) const {
  if (json_) {
    print_line({{"kind", "error"}, {"code", name_of(error.code())}, {"message", error.what()}});
  }
}

std::string LogListing::text_of(const wal::RecordView& record) const {
  const auto decoded = wal::decode(record);
  if (!decoded) {
    return fmt::format("type {}, {} bytes: not a record that this build knows", raw(record.type),
                       record.payload.size());
  }
  std::string text = wal::print(*decoded);
  if (decoded->body_kind == wal::BodyKind::tree) {
    text += ": " + btree::print_tree_record(decoded->body, page_size_);
  } else if (!decoded->body.empty()) {
    text += fmt::format(": {} bytes", decoded->body.size());
  }
  return text;
}

}  // namespace palimpsest::tools
