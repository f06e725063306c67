#include "experiments/micro/untorn_device.h"

#include <utility>

#include "base/io/forwarding_device.h"
#include "buffer/page_header.h"

namespace palimpsest::experiments {
namespace {

class UntornFile final : public io::ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;

  std::size_t atomic_write_bytes_max() const noexcept override { return buffer::kPageSizeMax; }
};

class UntornDevice final : public io::ForwardingDevice {
 public:
  explicit UntornDevice(std::unique_ptr<io::Device> device)
      : ForwardingDevice(*device), owned_(std::move(device)) {}

  std::unique_ptr<io::File> open(std::string_view name, io::OpenMode mode,
                                 bool exclusive) override {
    return std::make_unique<UntornFile>(device().open(name, mode, exclusive), counters());
  }

 private:
  std::unique_ptr<io::Device> owned_;
};

}  // namespace

std::unique_ptr<io::Device> claim_untorn(std::unique_ptr<io::Device> device) {
  return std::make_unique<UntornDevice>(std::move(device));
}

}  // namespace palimpsest::experiments
