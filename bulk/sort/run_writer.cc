#include "bulk/sort/run_writer.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "bulk/sort/sort_buffer.h"

namespace palimpsest::bulk {

RunWriter::~RunWriter() {
  for (TransferQueue::Entry& entry : entries_) {
    queue_.wait_for(entry);
  }
}

void RunWriter::add(ByteView key, ByteView value) {
  const RecordLengths lengths{.key_bytes = static_cast<std::uint32_t>(key.size()),
                              .value_bytes = static_cast<std::uint32_t>(value.size())};
  put(&lengths, sizeof lengths);
  put(key.data(), key.size());
  put(value.data(), value.size());
}

void RunWriter::finish() {
  if (filled_ != 0) {
    write();
  }
  check(number_ == blocks_.count(run_.payload_bytes),
        "a run has as many bytes as were announced for it");
  for (TransferQueue::Entry& entry : entries_) {
    queue_.await(entry);
  }
}

void RunWriter::put(const void* bytes, std::size_t size) {
  const auto* from = static_cast<const std::byte*>(bytes);
  while (size != 0) {
    const std::size_t piece = std::min(size, blocks_.payload_max() - filled_);
    std::memcpy(block().data() + sizeof(BlockHeader) + filled_, from, piece);
    from += piece;
    size -= piece;
    filled_ += piece;
    if (filled_ == blocks_.payload_max()) {
      write();
    }
  }
}

void RunWriter::write() {
  const std::size_t bytes = blocks_.transfer_bytes(run_.payload_bytes, number_);
  const MutableBytes whole = block().first(bytes);
  seal_block(whole, run_.number, number_, filled_);
  queue_.begin(entries_[number_ % 2],
               {.kind = io::Transfer::Kind::write,
                .offset_bytes = run_.offset_bytes + number_ * blocks_.block_bytes(),
                .data = whole});
  ++number_;
  filled_ = 0;
  queue_.await(entries_[number_ % 2]);
}

}  // namespace palimpsest::bulk
