#include "tests/wal/log_fixture.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"

namespace palimpsest::wal::test {

std::vector<std::byte> payload_of(SlotId slot, std::uint64_t number, std::size_t bytes) {
  std::vector<std::byte> payload(std::max(bytes, sizeof number));
  std::uint64_t state = number * 1'000'003 + raw(slot);
  for (std::size_t at = sizeof number; at < payload.size(); ++at) {
    payload[at] = static_cast<std::byte>(splitmix64(state));
  }
  std::memcpy(payload.data(), &number, sizeof number);
  return payload;
}

std::optional<std::uint64_t> number_of(SlotId slot, ConstBytes payload) {
  std::uint64_t number = 0;
  if (payload.size() < sizeof number) {
    return std::nullopt;
  }
  std::memcpy(&number, payload.data(), sizeof number);
  const auto expected = payload_of(slot, number, payload.size());
  const bool same = std::memcmp(expected.data(), payload.data(), payload.size()) == 0;
  return same ? std::optional(number) : std::nullopt;
}

Found read_log(io::Device& device, const LogFileOptions& files, bool read_only) {
  const LogStore store = LogStore::open(device, files, read_only);
  LogReader reader(store.segments(), store.control().state());
  Found found{.end = reader.find_end(), .records = {}, .beyond = {}, .cuts = {}};
  for (const StreamPart& part : reader.parts()) {
    reader.visit(part, [&](const LoggedRecord& logged) {
      const auto number = number_of(logged.slot, logged.record.payload);
      if (!number) {
        throw UnknownRecord{};
      }
      auto& records = logged.counts ? found.records : found.beyond;
      records.push_back({.incarnation = logged.incarnation,
                         .slot = logged.slot,
                         .number = *number,
                         .gsn = logged.record.gsn,
                         .lsn = logged.lsn,
                         .type = logged.record.type});
      if (found.cuts.empty() || found.cuts.back().first != logged.incarnation) {
        found.cuts.emplace_back(logged.incarnation, reader.cut_of(logged.incarnation));
      }
    });
  }
  return found;
}

std::string missing(const std::vector<Remembered>& appended, Gsn acknowledged, const Found& found) {
  std::string text;
  for (const Remembered& record : appended) {
    if (record.gsn <= acknowledged &&
        std::ranges::find(found.records, record) == found.records.end()) {
      text += " number " + std::to_string(record.number) + " of slot " +
              std::to_string(raw(record.slot)) + " with GSN " + std::to_string(raw(record.gsn));
    }
  }
  return text;
}

OpenLog::OpenLog(io::Device& device, const LogFileOptions& files, const LogOptions& options) {
  store_ = std::make_unique<LogStore>(device.exists(kControlFileName)
                                          ? LogStore::open(device, files, false)
                                          : LogStore::create(device, kUuid, files));
  LogReader reader(store_->segments(), store_->control().state());
  const LogEnd end = reader.find_end();
  Gsn newest = end.durable_gsn;
  for (const StreamPart& part : reader.parts()) {
    reader.visit(part,
                 [&](const LoggedRecord& logged) { newest = std::max(newest, logged.record.gsn); });
  }
  clock_.raise(newest);
  log_ = Log::begin(*store_, end, clock_, slots_, options);
}

SlotId OpenLog::claim() {
  const SlotId slot = slots_.claim(SlotId{0}).value();
  slots_[slot].merge(clock_.now());
  return slot;
}

Remembered OpenLog::change(SlotId slot, std::uint64_t number, std::size_t payload_bytes,
                           Gsn at_least) {
  return change_while(slot, number, payload_bytes, at_least, [] {});
}

Remembered OpenLog::change_while(SlotId slot, std::uint64_t number, std::size_t payload_bytes,
                                 Gsn at_least, FunctionRef<void()> meanwhile) {
  const auto payload = payload_of(slot, number, payload_bytes);
  const std::size_t bytes = kRecordHeaderBytesMax + payload.size();
  log_->reserve(slot, {.bytes = bytes, .credit_bytes = 2 * bytes});
  const Appended appended =
      log_->append(slot, at_least, kChange, payload.size(), [&](MutableBytes into) {
        std::memcpy(into.data(), payload.data(), payload.size());
        meanwhile();
      });
  return {log_->incarnation(), slot, number, appended.gsn, appended.lsn, kChange};
}

Remembered OpenLog::commit(SlotId slot, std::uint64_t number) {
  const auto payload = payload_of(slot, number, 16);
  const std::size_t bytes = kRecordHeaderBytesMax + payload.size();
  log_->reserve(slot, {.bytes = bytes, .credit_bytes = bytes});
  const Appended appended =
      log_->append_commit(slot, Gsn{0}, kCommit, std::as_bytes(std::span(payload)), [](Gsn) {});
  log_->release_credit(slot);
  return {log_->incarnation(), slot, number, appended.gsn, appended.lsn, kCommit};
}

void OpenLog::forget() {
  log_->move_start(log_->current_start(), "", false);
}

}  // namespace palimpsest::wal::test
