#include "experiments/kv_bench/untorn_device.h"

#include <array>
#include <cerrno>
#include <utility>

#include "palimpsest/error.h"

#include "buffer/page_header.h"

namespace palimpsest::experiments {
namespace {

/// The errno of what `call` throws, 0 if it returns.
template <class Call>
int errno_of(Call call) noexcept {
  try {
    call();
    return 0;
  } catch (const Error& error) {
    return error.code() == ErrorCode::no_space ? ENOSPC : EIO;
  }
}

class UntornFile final : public io::File {
 public:
  UntornFile(std::unique_ptr<io::File> file, std::shared_ptr<io::IoCounters> counters)
      : File(file->name(), std::move(counters)), file_(std::move(file)) {}

  std::size_t alignment_bytes() const noexcept override { return file_->alignment_bytes(); }
  std::size_t atomic_write_bytes_max() const noexcept override { return buffer::kPageSizeMax; }

 private:
  void do_transfer(std::span<Attempted> batch) noexcept override {
    std::array<io::Transfer, kBatchMax> transfers;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const io::Transfer& whole = *batch[i].transfer;
      const std::size_t done = batch[i].already_bytes;
      transfers[i] = {.kind = whole.kind,
                      .atomic = false,
                      .offset_bytes = whole.offset_bytes + done,
                      .data = whole.data.subspan(done),
                      .error = 0};
    }
    file_->run(std::span(transfers).first(batch.size()));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch[i].result = result_of(transfers[i]);
    }
  }

  static std::int64_t result_of(const io::Transfer& transfer) noexcept {
    switch (transfer.error) {
      case 0: return static_cast<std::int64_t>(transfer.data.size());
      case io::kEndOfFile: return 0;
      case io::kFileFailed: return -EIO;
      default: return -transfer.error;
    }
  }

  int do_sync() noexcept override {
    return errno_of([&] { file_->sync(); });
  }
  int do_allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) noexcept override {
    return errno_of([&] { file_->allocate(offset_bytes, length_bytes); });
  }
  int do_truncate(std::uint64_t size_bytes) noexcept override {
    return errno_of([&] { file_->truncate(size_bytes); });
  }
  int do_size(std::uint64_t& size_bytes) noexcept override {
    return errno_of([&] { size_bytes = file_->size_bytes(); });
  }

  std::unique_ptr<io::File> file_;
};

class UntornDevice final : public io::Device {
 public:
  explicit UntornDevice(std::unique_ptr<io::Device> device) : device_(std::move(device)) {}

  std::unique_ptr<io::File> open(std::string_view name, io::OpenMode mode,
                                 bool exclusive) override {
    return std::make_unique<UntornFile>(device_->open(name, mode, exclusive), counters());
  }
  bool exists(std::string_view name) override { return device_->exists(name); }
  void remove(std::string_view name) override { device_->remove(name); }
  void rename(std::string_view from, std::string_view to) override { device_->rename(from, to); }
  void sync_directory() override { device_->sync_directory(); }
  std::vector<std::string> list() override { return device_->list(); }
  std::unique_ptr<io::BufferRegistration> register_buffer(MutableBytes memory) override {
    return device_->register_buffer(memory);
  }
  std::string description() const override { return device_->description(); }
  const std::string& path() const noexcept override { return device_->path(); }

 private:
  std::unique_ptr<io::Device> device_;
};

}  // namespace

std::unique_ptr<io::Device> claim_untorn(std::unique_ptr<io::Device> device) {
  return std::make_unique<UntornDevice>(std::move(device));
}

}  // namespace palimpsest::experiments
