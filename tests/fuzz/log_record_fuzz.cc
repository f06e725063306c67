// Fuzz target: any bytes as log records, including their contents about transactions and free
// pages; and generated records, which must decode to themselves.
//
// Input: the first byte chooses. Even: the rest is a run of records, as in a chunk. Odd: choices,
// from which a record is made, read, then truncated and read again.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/varint.h"
#include "buffer/space_record.h"
#include "tests/fuzz/fuzz_target.h"
#include "wal/log_format.h"
#include "wal/transaction_record.h"

namespace {

using namespace palimpsest;  // NOLINT(google-build-using-namespace): one file
using buffer::PageRun;
using buffer::SpaceRecord;
using wal::BodyKind;
using wal::RecordRole;
using wal::RecordView;
using wal::TransactionRecord;

using Bytes = std::vector<std::byte>;

void require(bool holds, const char* what) {
  if (!holds) {
    fmt::print(stderr, "{}\n", what);
    std::abort();
  }
}

/// A copy of exactly its size, so that AddressSanitizer detects a read beyond it.
class Exact {
 public:
  explicit Exact(ConstBytes bytes) : bytes_(bytes.begin(), bytes.end()) {}
  [[nodiscard]] ConstBytes bytes() const { return bytes_; }

 private:
  Bytes bytes_;  // allocated with its length
};

bool lies_within(ConstBytes part, ConstBytes whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

Bytes encoded(RecordRole role, BodyKind kind, Gsn gsn, ConstBytes payload) {
  Bytes record(wal::record_bytes(gsn, payload.size()));
  std::byte* into =
      wal::put_record_header(record.data(), wal::record_type(role, kind), gsn, payload.size());
  require(into + payload.size() == record.data() + record.size(),
          "a record is as long as was said");
  std::ranges::copy(payload, into);
  return record;
}

/// The part before the body, and the body.
Bytes payload_of(const TransactionRecord& record) {
  Bytes payload(wal::prefix_bytes_max(record.role));
  std::size_t prefix_bytes = 0;
  if (record.role == RecordRole::change) {
    prefix_bytes =
        static_cast<std::size_t>(put_varint(payload.data(), record.back) - payload.data());
  } else if (record.role == RecordRole::compensation) {
    const wal::CompensationPrefix prefix{.of = record.of, .undo_next = record.undo_next};
    std::memcpy(payload.data(), &prefix, prefix_bytes = sizeof prefix);
  } else if (record.role == RecordRole::rolled_back) {
    std::memcpy(payload.data(), &record.of, prefix_bytes = sizeof record.of);
  }
  payload.resize(prefix_bytes);
  payload.insert(payload.end(), record.body.begin(), record.body.end());
  return payload;
}

void judge_space(ConstBytes body) {
  const Exact exact(body);
  const auto record = SpaceRecord::decode(exact.bytes());
  if (!record) {
    return;
  }
  require(!print(*record).empty(), "what was decoded prints");
  std::vector<PageRun> runs;
  runs.reserve(record->count());
  for (std::size_t i = 0; i < record->count(); ++i) {
    runs.push_back(record->run(i));
  }
  Bytes again(buffer::space_record_bytes(runs.size()));
  buffer::encode_space_record(runs, again);
  require(std::ranges::equal(again, body), "a record of free pages is written the same again");
}

void judge_record(const RecordView& view) {
  const auto record = wal::decode(view);
  if (!record) {
    return;
  }
  require(lies_within(record->body, view.payload), "a body lies in its payload");
  require(!print(*record).empty(), "what was decoded prints");
  const Bytes again = encoded(record->role, record->body_kind, view.gsn, payload_of(*record));
  require(std::ranges::equal(again, view.whole), "a record is written the same again");
  if (record->body_kind == BodyKind::space) {
    judge_space(record->body);
  }
}

void judge_records(ConstBytes bytes) {
  const Exact exact(bytes);
  const ConstBytes records = exact.bytes();
  for (std::size_t at = 0;;) {
    const auto view = wal::record_at(records, at);
    if (!view) {
      return;
    }
    require(view->whole.data() == records.data() + at && lies_within(view->whole, records) &&
                lies_within(view->payload, view->whole),
            "views lie in what was read");
    const ConstBytes first =
        records.subspan(at, std::min(wal::kLengthBytesMax, records.size() - at));
    require(!view->whole.empty() && wal::record_bytes_at(first) == view->whole.size(),
            "both ways to find a record's end agree");
    judge_record(*view);
    at += view->whole.size();
  }
}

void judge_varint(ConstBytes bytes) {
  const Exact exact(bytes);
  const std::byte* from = exact.bytes().data();
  std::uint64_t number = 0;
  const std::byte* behind = take_varint(from, from + bytes.size(), number);
  if (behind == nullptr) {
    return;
  }
  const auto taken = static_cast<std::size_t>(behind - from);
  Bytes again(varint_bytes(number));
  require(put_varint(again.data(), number) == again.data() + again.size() &&
              std::ranges::equal(again, bytes.first(taken)),
          "a number is written the same again");
}

/// Takes decisions from the input; zero at its end.
class Choices {
 public:
  explicit Choices(ConstBytes bytes) : bytes_(bytes) {}

  std::uint64_t byte() {
    if (bytes_.empty()) {
      return 0;
    }
    const auto byte = std::to_integer<std::uint64_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  /// Any length up to 64 bits.
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (std::uint64_t left = 1 + byte() % 8; left > 0; --left) {
      number = number << 8U | byte();
    }
    return number;
  }
  ConstBytes some(std::size_t bytes_max) {
    const ConstBytes taken = bytes_.first(std::min(bytes_.size(), bytes_max));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

 private:
  ConstBytes bytes_;
};

/// Ascending runs with gaps.
Bytes made_up_space(Choices& choices) {
  std::vector<PageRun> runs;
  PageId next{1 + choices.byte()};
  for (std::uint64_t left = 1 + choices.byte() % buffer::kSpaceRunsMax; left > 0; --left) {
    const auto pages = static_cast<std::uint32_t>(1 + choices.byte());
    runs.push_back({next, pages});
    next = PageId{raw(next) + pages + choices.byte()};
  }
  Bytes body(buffer::space_record_bytes(runs.size()));
  buffer::encode_space_record(runs, body);
  const auto record = SpaceRecord::decode(body);
  require(record && record->count() == runs.size(), "a record of free pages is one");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    require(record->run(i) == runs[i], "its runs come back");
  }
  return body;
}

/// Not inlined: otherwise g++ 12 misjudges the memory of the copy.
[[gnu::noinline]] bool is_record(ConstBytes bytes) {
  return wal::record_at(bytes, 0).has_value();
}

void made_up_record(Choices& choices) {
  TransactionRecord record;
  record.role = static_cast<RecordRole>(1 + choices.byte() % 5);
  record.back =
      static_cast<std::uint32_t>(record.role == RecordRole::change ? choices.number() : 0);
  if (record.role == RecordRole::compensation || record.role == RecordRole::rolled_back) {
    record.of = {.incarnation = wal::Incarnation{choices.number()},
                 .first = Lsn{choices.number()},
                 .slot = SlotId{static_cast<std::uint32_t>(choices.number())}};
  }
  if (record.role == RecordRole::compensation) {
    record.undo_next = choices.byte() % 4 == 0 ? wal::kNoLsn : Lsn{choices.number()};
  }
  const Gsn gsn{choices.number() % (kCounterMax + 1)};
  Bytes body;
  if (record.role != RecordRole::commit && record.role != RecordRole::rolled_back) {
    record.body_kind = choices.byte() % 2 == 0 ? BodyKind::tree : BodyKind::space;
    if (record.body_kind == BodyKind::space) {
      body = made_up_space(choices);
    } else {
      const ConstBytes some = choices.some(1 + choices.number() % 5000);
      body.assign(some.begin(), some.end());
      body.push_back(std::byte{1});
    }
  }
  record.body = body;
  const Bytes bytes = encoded(record.role, record.body_kind, gsn, payload_of(record));
  const auto view = wal::record_at(bytes, 0);
  require(view && view->gsn == gsn && view->whole.size() == bytes.size(), "a record is found");
  const auto back = wal::decode(*view);
  require(back && back->role == record.role && back->body_kind == record.body_kind &&
              back->back == record.back && back->of == record.of &&
              back->undo_next == record.undo_next && std::ranges::equal(back->body, record.body),
          "what was encoded comes back");
  judge_records(bytes);
  const std::size_t cut = choices.number() % bytes.size();
  const Exact shorter(ConstBytes(bytes).first(cut));
  require(!is_record(shorter.bytes()), "a record that is cut off is none");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const ConstBytes rest = std::as_bytes(std::span(data + 1, size - 1));
  if (data[0] % 2 == 0) {
    judge_records(rest);
    judge_varint(rest);
    judge_space(rest);
  } else {
    Choices choices(rest);
    made_up_record(choices);
  }
  return 0;
}
