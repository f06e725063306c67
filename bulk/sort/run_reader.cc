#include "bulk/sort/run_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "palimpsest/error.h"

#include "bulk/sort/sort_buffer.h"

namespace palimpsest::bulk {

RunReader::RunReader(TransferQueue& queue, const RunBlocks& blocks, const Run& run,
                     const Memory& memory) noexcept
    : queue_(queue), blocks_(blocks), run_(run), memory_(memory) {
  request(0);
  request(1);
}

RunReader::~RunReader() {
  for (TransferQueue::Entry& entry : entries_) {
    queue_.wait_for(entry);
  }
}

bool RunReader::next() {
  if (records_ == run_.records) {
    return false;
  }
  ++records_;
  RecordLengths lengths;
  copy(reinterpret_cast<std::byte*>(&lengths), sizeof lengths);
  const std::size_t bytes = std::size_t{lengths.key_bytes} + lengths.value_bytes;
  if (bytes > memory_.record.size()) {
    refuse("a record is longer than any that was written");
  }
  if (rest() == 0 && bytes != 0) {
    open_next();
  }
  const std::byte* record = position();
  if (bytes <= rest()) {
    used_ += bytes;
  } else {
    copy(memory_.record.data(), bytes);
    record = memory_.record.data();
  }
  show(as_view(record, lengths.key_bytes),
       as_view(record + lengths.key_bytes, lengths.value_bytes));
  return true;
}

std::size_t RunReader::payload_of(std::uint64_t number) const noexcept {
  return std::min<std::uint64_t>(blocks_.payload_max(),
                                 run_.payload_bytes - number * blocks_.payload_max());
}

void RunReader::request(std::uint64_t number) noexcept {
  if (number < blocks_.count(run_.payload_bytes)) {
    queue_.begin(entries_[number % 2],
                 {.kind = io::Transfer::Kind::read,
                  .offset_bytes = run_.offset_bytes + number * blocks_.block_bytes(),
                  .data = block(number).first(blocks_.transfer_bytes(run_.payload_bytes, number))});
  }
}

/// Moves to the next block; the memory of the used one is for prefetching the one after it.
void RunReader::open_next() {
  if (opened_ == blocks_.count(run_.payload_bytes)) {
    refuse("records continue beyond its end");
  }
  if (opened_ != 0) {
    request(number_ + 2);
  }
  number_ = opened_++;
  payload_ = payload_of(number_);
  used_ = 0;
  queue_.await(entries_[number_ % 2]);
  if (const auto fault = fault_of_block(block(number_), run_.number, number_, payload_)) {
    refuse(*fault);
  }
}

void RunReader::copy(std::byte* into, std::size_t bytes) {
  while (bytes != 0) {
    if (rest() == 0) {
      open_next();
    }
    const std::size_t piece = std::min(bytes, rest());
    std::memcpy(into, position(), piece);
    into += piece;
    bytes -= piece;
    used_ += piece;
  }
}

void RunReader::refuse(std::string_view why) const {
  throw Error(
      ErrorCode::corruption,
      fmt::format("\"{}\", block of {} bytes at offset {}: {}", queue_.file().name(),
                  blocks_.block_bytes(), run_.offset_bytes + number_ * blocks_.block_bytes(), why));
}

}  // namespace palimpsest::bulk
