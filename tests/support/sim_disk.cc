#include "tests/support/sim_disk.h"

#include <fmt/format.h>

#include <utility>

#include "palimpsest/error.h"

#include "tests/support/sim_device.h"
#include "tests/support/sim_state.h"

namespace palimpsest::test {

SimDisk::SimDisk(const SimOptions& options) : state_(std::make_shared<SimState>(options)) {}

std::unique_ptr<io::Device> SimDisk::device() const {
  return std::make_unique<SimDevice>(state_);
}

SimDisk SimDisk::snapshot() const {
  return SimDisk(state_->copy());
}

SimDisk SimDisk::crash(std::uint64_t seed, CrashKeeps keeps) const {
  std::shared_ptr<SimState> state = state_->copy();
  state->lose_power(seed, keeps);
  return SimDisk(std::move(state));
}

SimDisk SimDisk::kill(std::uint64_t seed) const {
  std::shared_ptr<SimState> state = state_->copy();
  state->lose_process(seed);
  return SimDisk(std::move(state));
}

void SimDisk::power_off() {
  const std::lock_guard guard(state_->mutex);
  state_->powered_off = true;
}

void SimDisk::set_hook(Hook hook) {
  const std::lock_guard guard(state_->mutex);
  state_->hook = hook ? std::make_shared<const Hook>(std::move(hook)) : nullptr;
}

void SimDisk::set_write_checker(WriteChecker checker) {
  const std::lock_guard guard(state_->mutex);
  state_->write_checker =
      checker ? std::make_shared<const WriteChecker>(std::move(checker)) : nullptr;
}

void SimDisk::inject(SimFault fault) {
  const std::lock_guard guard(state_->mutex);
  state_->faults.push_back(std::move(fault));
}

void SimDisk::clear_faults() {
  const std::lock_guard guard(state_->mutex);
  state_->faults.clear();
}

std::uint64_t SimDisk::operations() const {
  const std::lock_guard guard(state_->mutex);
  return state_->operations;
}

std::uint64_t SimDisk::pending_sectors() const {
  const std::lock_guard guard(state_->mutex);
  std::uint64_t bytes = 0;
  for (const auto& [id, inode] : state_->inodes) {
    for (const auto* changes : {&inode.in_flight, &inode.completed}) {
      for (const auto& change : *changes) {
        bytes += change->data.size();
      }
    }
  }
  return bytes / kSectorBytes;
}

std::vector<std::byte> SimDisk::contents(std::string_view file) const {
  const std::lock_guard guard(state_->mutex);
  const auto found = state_->names.find(file);
  if (found == state_->names.end()) {
    return {};
  }
  const Inode& inode = state_->inode(found->second);
  std::vector<std::byte> bytes(inode.cached_size_bytes);
  inode.cached.read(0, bytes);
  return bytes;
}

std::vector<std::byte> SimDisk::durable_contents(std::string_view file) const {
  const std::lock_guard guard(state_->mutex);
  const auto found = state_->durable_names.find(file);
  if (found == state_->durable_names.end()) {
    return {};
  }
  const Inode& inode = state_->inode(found->second);
  std::vector<std::byte> bytes(inode.durable_size_bytes);
  inode.durable.read(0, bytes);
  return bytes;
}

void SimDisk::overwrite(std::string_view file, std::uint64_t offset_bytes, ConstBytes bytes) {
  const std::lock_guard guard(state_->mutex);
  const auto found = state_->names.find(file);
  if (found == state_->names.end()) {
    io::throw_io_error(ENOENT, "overwriting", fmt::format("sim/{}", file));
  }
  Inode& inode = state_->inode(found->second);
  inode.cached.write(offset_bytes, bytes);
  inode.durable.write(offset_bytes, bytes);
}

}  // namespace palimpsest::test
