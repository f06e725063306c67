#include "bulk/leaf_run_writer.h"

namespace palimpsest::btree {

LeafRunWriter::LeafRunWriter(buffer::BufferPool& pool) : pool_(pool) {}

// What is begun is done in order: if fewer are under way than there are transfers, the oldest one
// is written.
void LeafRunWriter::next() {
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

void LeafRunWriter::write() {
  if (!writer_) {
    writer_.emplace(pool_.writer());
  }
  writer_->begin(filling().images);
}

void LeafRunWriter::harden() {
  if (writer_) {
    writer_->begin_harden();
  }
}

void LeafRunWriter::await() {
  if (writer_) {
    writer_->await(0);
  }
}

void LeafRunWriter::drop() noexcept {
  if (writer_) {
    writer_->drop();
  }
}

}  // namespace palimpsest::btree
