#include "tests/engine/recovery_fixture.h"

#include <algorithm>
#include <cstring>

#include "palimpsest/error.h"

#include "base/check.h"
#include "buffer/page_header.h"

namespace palimpsest::engine::test {
namespace {

constexpr const char* kPages = "pages";

wal::LogOptions log_options() {
  return {.slot_log_bytes = std::size_t{128} << 10U,
          .record_bytes_max = std::size_t{16} << 10U,
          .batch_bytes_max = std::size_t{128} << 10U,
          .on_filling = nullptr,
          .harden_pages = nullptr};
}

auto copier(const Body& body) {
  return [&body](MutableBytes into) { std::memcpy(into.data(), body.data(), body.size()); };
}

void freed_runs(ConstBytes body, FunctionRef<void(const buffer::PageRun&)> show) {
  for (std::size_t at = 0; at < body.size(); at += sizeof(buffer::PageRun)) {
    buffer::PageRun run;
    std::memcpy(&run, body.data() + at, sizeof run);
    show(run);
  }
}

}  // namespace

LogWriter::LogWriter(io::Device& device) : log_(device, kFiles, log_options()) {}

wal::TransactionLog& LogWriter::of(std::uint32_t slot) {
  while (slots_.size() <= slot) {
    slots_.push_back(std::make_unique<wal::TransactionLog>(log_.log(), log_.clock(), log_.claim()));
    check(slots_.back()->slot() == SlotId{static_cast<std::uint32_t>(slots_.size() - 1)},
          "slots are claimed in order");
  }
  return *slots_[slot];
}

void LogWriter::reserve(std::uint32_t slot, std::size_t bytes) {
  const bool done =
      of(slot).try_reserve({.change_bytes = bytes, .system_bytes = bytes}, [] { return false; });
  check(done, "there is space");
}

Gsn LogWriter::change(std::uint32_t slot, const Body& body, Gsn at_least) {
  reserve(slot, body.size());
  const Lsn lsn = log_.log().slot_log(SlotId{slot}).end();
  const bool first = !of(slot).has_changes();
  backs_[slot].push_back(first ? 0 : static_cast<std::uint32_t>(raw(lsn) - raw(last_[slot])));
  last_[slot] = lsn;
  return of(slot).append_change(at_least, wal::BodyKind::tree, body.size(), copier(body));
}

Gsn LogWriter::system(std::uint32_t slot, const Body& body, Gsn at_least, wal::BodyKind kind) {
  reserve(slot, body.size());
  return of(slot).append_system(at_least, kind, body.size(), copier(body));
}

Gsn LogWriter::commit(std::uint32_t slot) {
  return of(slot).append_commit();
}

Gsn LogWriter::compensate(std::uint32_t slot, const Body& body, std::uint32_t undone_back) {
  of(slot).reserve_compensation(body.size());
  return of(slot).append_compensation(Gsn{0}, {.back = undone_back, .body_bytes = body.size()},
                                      wal::BodyKind::tree, body.size(), copier(body));
}

void LogWriter::rolled_back(std::uint32_t slot) {
  of(slot).reserve_end();
  of(slot).append_rolled_back();
}

void LogWriter::compensate_as(std::uint32_t slot, const wal::CompensationPrefix& prefix,
                              const Body& body) {
  of(slot).reserve_compensation(body.size());
  of(slot).append_compensation_as(Gsn{0}, prefix, wal::BodyKind::tree, body.size(), copier(body));
}

void LogWriter::rolled_back_as(std::uint32_t slot, const wal::TransactionName& name) {
  of(slot).reserve_end();
  of(slot).append_rolled_back_as(name);
}

void LogWriter::harden() {
  Gsn newest = log_.clock().now();
  for (const auto& slot : slots_) {
    newest = std::max(newest, log_.slots()[slot->slot()].gsn());
  }
  log_.log().wait_durable(newest);
}

RecoveryAnalysis analysis_of(io::Device& device, ProgressCallback progress) {
  const wal::LogStore store = wal::LogStore::open(device, kFiles, true);
  wal::LogReader reader(store.segments(), store.control().state());
  reader.find_end();
  return analyse(
      reader,
      {.page_size_bytes = kPageSize, .freed_runs = freed_runs, .progress = std::move(progress)});
}

Body space_body(std::vector<buffer::PageRun> runs) {
  Body body(runs.size() * sizeof(buffer::PageRun));
  for (std::size_t at = 0; at < runs.size(); ++at) {
    std::memcpy(body.data() + at * sizeof runs[at], &runs[at], sizeof runs[at]);
  }
  return body;
}

RedoStatistics recover(io::Device& device, const RedoOptions& options) {
  const wal::LogStore store = wal::LogStore::open(device, kFiles, false);
  const auto file = buffer::PageFile::open(device, kPages, {.allow_unclean = true});
  wal::LogReader reader(store.segments(), store.control().state());
  reader.find_end();
  const RecoveryAnalysis analysis =
      analyse(reader, {.page_size_bytes = kPageSize, .freed_runs = freed_runs});
  buffer::PageWriter writer(*file);
  return redo(reader, analysis, *file, writer, options);
}

std::string differences(io::Device& device, const std::map<PageId, AlignedMemory>& expected) {
  const auto file = buffer::PageFile::open(device, kPages, {.allow_unclean = true});
  const AlignedMemory page(kPageSize, kPageSize);
  std::string text;
  for (const auto& [id, image] : expected) {
    try {
      file->read_page(id, page.bytes());
    } catch (const Error& error) {
      text += std::string(error.what()) + "\n";
      continue;
    }
    const std::size_t from = sizeof(buffer::PageHeader);
    const auto found = buffer::header_of(page.bytes());
    const auto wanted = buffer::header_of(image.bytes());
    if (found.gsn != wanted.gsn || found.tree_id != wanted.tree_id ||
        found.ghost_count != wanted.ghost_count || found.type != wanted.type ||
        std::memcmp(page.data() + from, image.data() + from, kPageSize - from) != 0) {
      text += "page " + std::to_string(raw(id)) + " of GSN " + std::to_string(raw(wanted.gsn)) +
              " is found with GSN " + std::to_string(raw(found.gsn)) + "\n";
    }
  }
  return text;
}

}  // namespace palimpsest::engine::test
