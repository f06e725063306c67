#include "base/io/uring_device.h"

#include <array>
#include <utility>

namespace palimpsest::io {
namespace {

class UringFile final : public PosixFile {
 public:
  UringFile(OpenedFile opened, std::shared_ptr<RingPool> rings)
      : PosixFile(std::move(opened)),
        rings_(std::move(rings)),
        ring_file_(is_locked() ? RingFile{.descriptor = descriptor()}
                               : rings_->add_file(descriptor())) {}

  ~UringFile() override { rings_->forget_file(ring_file_); }

 protected:
  void do_transfer(std::span<Attempted> batch) noexcept override {
    static_assert(kBatchMax <= Ring::kDepth);
    if (batch.size() == 1) {
      transfer_one(batch.front());
      return;
    }
    const RingPool::Lease ring = rings_->lend();
    if (!ring) {
      PosixFile::do_transfer(batch);
      return;
    }
    std::array<RingRequest, kBatchMax> requests;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Transfer& transfer = *batch[i].transfer;
      requests[i] = {.is_write = transfer.kind == Transfer::Kind::write,
                     .is_atomic = transfer.atomic,
                     .offset_bytes = transfer.offset_bytes + batch[i].already_bytes,
                     .data = transfer.data.subspan(batch[i].already_bytes)};
    }
    ring->run(ring_file_, {requests.data(), batch.size()});
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch[i].result = requests[i].result;
    }
  }

 private:
  std::shared_ptr<RingPool> rings_;
  RingFile ring_file_;
};

class UringRegistration final : public BufferRegistration {
 public:
  UringRegistration(std::shared_ptr<RingPool> rings, MutableBytes memory)
      : rings_(std::move(rings)), region_(rings_->add_region(memory)) {}
  ~UringRegistration() override { rings_->forget_region(region_); }

 private:
  std::shared_ptr<RingPool> rings_;
  std::uint64_t region_;
};

}  // namespace

int UringDevice::probe() noexcept {
  int error = 0;
  static_cast<void>(Ring::create(error));
  return error;
}

UringDevice::UringDevice(std::string path, bool create, LogSink log)
    : DirectoryDevice(std::move(path), create, std::move(log)),
      rings_(std::make_shared<RingPool>(this->log())) {}

std::unique_ptr<BufferRegistration> UringDevice::register_buffer(MutableBytes memory) {
  return std::make_unique<UringRegistration>(rings_, memory);
}

std::string UringDevice::description() const {
  return "io_uring, " + caching();
}

std::unique_ptr<File> UringDevice::make_file(OpenedFile opened) {
  return std::make_unique<UringFile>(std::move(opened), rings_);
}

}  // namespace palimpsest::io
