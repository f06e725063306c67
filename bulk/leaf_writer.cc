#include "bulk/leaf_writer.h"

namespace palimpsest::bulk {

LeafWriter::LeafWriter(buffer::BufferPool& pool) : pool_(pool) {}

// Pieces of work are done in order: if fewer are under way than there are transfers, the oldest one
// has been written.
void LeafWriter::next() {
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

void LeafWriter::write() {
  if (!writer_) {
    writer_.emplace(pool_.writer());
  }
  writer_->begin(filling().images);
}

void LeafWriter::harden() {
  if (writer_) {
    writer_->begin_harden();
  }
}

void LeafWriter::await() {
  if (writer_) {
    writer_->await(0);
  }
}

void LeafWriter::drop() noexcept {
  if (writer_) {
    writer_->drop();
  }
}

}  // namespace palimpsest::bulk
