#include "btree/run_writer.h"

namespace palimpsest::btree {

RunWriter::RunWriter(buffer::BufferPool& pool) : pool_(pool) {}

// What is begun is done in order: if fewer are under way than there are transfers, the oldest one
// is written.
void RunWriter::next() {
  if (writer_) {
    writer_->await(kTransfers - 1);
  }
  filling_ = (filling_ + 1) % kTransfers;
  auto& [memory, images] = filling();
  images.clear();
  if (memory.data() == nullptr) {
    memory = AlignedMemory::for_overwrite(kTransferBytes, pool_.page_size_bytes());
  }
}

void RunWriter::write() {
  if (!writer_) {
    writer_.emplace(pool_.writer());
  }
  writer_->begin(filling().images);
}

void RunWriter::harden() {
  if (writer_) {
    writer_->begin_harden();
  }
}

void RunWriter::await() {
  if (writer_) {
    writer_->await(0);
  }
}

void RunWriter::drop() noexcept {
  if (writer_) {
    writer_->drop();
  }
}

}  // namespace palimpsest::btree
