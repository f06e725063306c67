// Reads the stream of the log back: finds its end and shows its records.
//
// First it judges all batches, from the start that the control file names. A batch belongs to the
// stream only if it is whole, has the next sequence number, names the checksum of the batch before,
// and its incarnation is not below the last one's. The first batch that does not fit ends the
// stream: it and everything behind it are the *torn tail*, batches that were never acknowledged.
// There is one exception: if a later whole batch, of an incarnation no older than the last accepted
// one, states the missing one durable, then the middle of the log is damaged. That is corruption,
// never a shorter log.
//
// Invariants: (1) from each incarnation exactly the records with GSN <= its cut count; the cut is
//                 the durable GSN that its last batch states (I-4 in docs/invariants.md). Records
//                 beyond it lie in valid batches; the reader shows them with `counts` false.
// Thread-safety: find_end() once; then visit() and visit_batches() from any thread. Nothing is
// written.
// Failure: Error io_error, corruption; they name segment and offset. Bytes from disk may be
//          hostile: sizes are checked before anything is allocated or read.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/aligned_memory.h"
#include "wal/log_control.h"
#include "wal/log_format.h"
#include "wal/segments.h"

namespace palimpsest::wal {

/// A part of the stream that lies in one segment.
struct StreamPart {
  StreamPosition begin{};
  StreamPosition end{};
};

/// Where the stream ends, and what the next batch must state.
struct LogEnd {
  StreamPosition position{};  ///< behind the last batch
  BatchSequence next_sequence{};
  std::uint64_t previous_checksum = 0;
  Incarnation incarnation{};  ///< of the last batch, or of the start
  Gsn durable_gsn{};          ///< the highest stated by any batch of the stream; 0 if none
  std::uint64_t batches = 0;
  std::uint64_t bytes = 0;  ///< of batches
  /// The batches that no batch states durable (stream_hardener.h). This engine leaves them in one
  /// segment.
  std::vector<StreamPart> unstated{};
  std::uint64_t stated_checksum = 0;  ///< of the batch before the unstated ones
};

/// A record as the reader shows it; valid during the call.
struct LoggedRecord {
  RecordView record;
  SlotId slot{};
  Lsn lsn{};
  Incarnation incarnation{};
  StreamPosition chunk{};  ///< the chunk it lies in
  Gsn stated{};            ///< the durable GSN that its batch states
  bool counts = false;     ///< at or below its incarnation's cut
};

/// A chunk as the reader shows it, its records not decoded; valid during the call.
struct ChunkRecords {
  ConstBytes bytes;
  SlotId slot{};
  Lsn first{};  ///< of the first record
  Incarnation incarnation{};
  StreamPosition chunk{};
  Gsn stated{};
  Gsn cut{};  ///< of its incarnation
};

/// A chunk read by itself.
struct LoggedChunk {
  ChunkHeader header{};
  std::vector<std::byte> records;
};

/// Walks the chunks of one slot's log backwards, and remembers its position.
class LogCursor {
 public:
  /// The record at `lsn`: a view into the cursor's memory, valid until the next call. `newest` is
  /// the slot's newest chunk. Throws io_error, corruption.
  RecordView find(const Segments& segments, SlotId slot, Lsn lsn, StreamPosition newest);

 private:
  StreamPosition at_ = kNowhere;
  LoggedChunk chunk_;
};

class LogReader {
 public:
  LogReader(const Segments& segments, const ControlState& control)
      : segments_(segments), control_(control) {}

  /// Judges the whole stream. Throws corruption if its middle is damaged; with `damage`, describes
  /// the damage there instead, and the stream is what lies before it.
  const LogEnd& find_end(std::string* damage = nullptr);

  [[nodiscard]] const LogEnd& end() const noexcept { return end_; }
  /// The stream in order, one part per segment.
  [[nodiscard]] const std::vector<StreamPart>& parts() const noexcept { return parts_; }
  /// The durable GSN that an incarnation stated last; 0 if it has no batch in the stream.
  [[nodiscard]] Gsn cut_of(Incarnation incarnation) const noexcept;

  /// Calls show(const LoggedRecord&) for all records of a part, in stream order. Different parts
  /// may be visited concurrently. A template, so that recovery's work on a record is compiled
  /// together with the decoding.
  template <class Show>
  void visit(const StreamPart& part, Show&& show) const {
    visit_chunks(part, [&](const ChunkRecords& chunk) { visit_records(chunk, show); });
  }
  /// Calls show() for the batch headers of a part.
  void visit_batches(const StreamPart& part,
                     FunctionRef<void(StreamPosition, const BatchHeader&)> show) const;

 private:
  class Window;

  /// A batch that no batch seen so far states durable.
  struct Unstated {
    BatchSequence sequence{};
    std::uint64_t previous_checksum = 0;
    StreamPart part{};
  };
  struct Expected {
    BatchSequence sequence{};
    std::uint64_t previous_checksum = 0;
    Incarnation incarnation{};
  };

  [[nodiscard]] bool was_discarded(const BatchHeader& header) const noexcept;
  [[nodiscard]] bool accept(Window& window, StreamPosition at);
  void note(StreamPosition at, const BatchHeader& header);
  void tell_unstated();
  void judge_rest(Window& window, std::string* damage) const;
  void refuse_damaged_middle(Window& window) const;
  void refuse_if_stated_durable(Window& window, StreamPosition from) const;
  void visit_chunks(const StreamPart& part, FunctionRef<void(const ChunkRecords&)> show) const;
  void visit_batch(StreamPosition at, const BatchHeader& header, ConstBytes batch,
                   FunctionRef<void(const ChunkRecords&)> show) const;
  template <class Show>
  void visit_records(const ChunkRecords& chunk, Show& show) const {
    // One object for all records of the chunk, updated in place.
    LoggedRecord shown{.record = {},
                       .slot = chunk.slot,
                       .lsn = chunk.first,
                       .incarnation = chunk.incarnation,
                       .chunk = chunk.chunk,
                       .stated = chunk.stated};
    for (std::size_t at = 0; at < chunk.bytes.size(); at += shown.record.whole.size()) {
      if (!take_record(chunk.bytes, at, shown.record)) [[unlikely]] {
        refuse_record(chunk, at);
      }
      shown.lsn = Lsn{raw(chunk.first) + at};
      shown.counts = shown.record.gsn <= chunk.cut;
      show(std::as_const(shown));
    }
  }
  [[noreturn]] void refuse_record(const ChunkRecords& chunk, std::size_t at) const;

  const Segments& segments_;
  const ControlState control_;
  Expected expected_;
  LogEnd end_;
  std::vector<StreamPart> parts_;
  std::map<Incarnation, Gsn> cuts_;
  std::deque<Unstated> unstated_;
};

/// Reads the chunk at a position, for following a slot's log backwards. Throws corruption if no
/// whole chunk of that slot is there.
[[nodiscard]] LoggedChunk read_chunk(const Segments& segments, StreamPosition at, SlotId slot);

}  // namespace palimpsest::wal
