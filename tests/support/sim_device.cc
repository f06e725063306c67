#include "tests/support/sim_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "palimpsest/error.h"

#include "base/check.h"

namespace palimpsest::test {
namespace {

using Effect = SimFault::Effect;
using Change = std::shared_ptr<const PendingChange>;

std::size_t sectors_of(std::size_t size_bytes) noexcept {
  return (size_bytes + kSectorBytes - 1) / kSectorBytes;
}

void flip_bits(MutableBytes data, SimRandom& random) {
  for (std::uint64_t flips = 1 + random.below(8); flips != 0; --flips) {
    data[random.below(data.size())] ^= std::byte{1} << random.below(8);
  }
}

/// Another block of the file of the same size; `from` itself if there is none.
std::uint64_t other_place(std::uint64_t from, std::size_t size_bytes, std::uint64_t file_bytes,
                          SimRandom& random) {
  const std::uint64_t places = size_bytes == 0 ? 0 : file_bytes / size_bytes;
  if (places < 2) {
    return from;
  }
  const std::uint64_t place = random.below(places);
  const std::uint64_t other = place * size_bytes;
  return other == from ? (place + 1) % places * size_bytes : other;
}

class SimDirectoryLock final : public io::DirectoryLock {
 public:
  explicit SimDirectoryLock(std::shared_ptr<SimState> state) : state_(std::move(state)) {}
  SimDirectoryLock(const SimDirectoryLock&) = delete;
  SimDirectoryLock& operator=(const SimDirectoryLock&) = delete;
  ~SimDirectoryLock() override {
    const std::lock_guard guard(state_->mutex);
    state_->directory_locked = false;
  }

 private:
  std::shared_ptr<SimState> state_;
};

}  // namespace

/// One attempted transfer between its submission and its completion.
struct SimFile::Operation {
  SimState::Started started;
  io::Transfer::Kind kind = io::Transfer::Kind::read;
  std::uint64_t offset_bytes = 0;
  MutableBytes data;
  Change change;  ///< of a write, while it is in flight

  [[nodiscard]] bool has(Effect effect) const {
    return started.fault && started.fault->effect == effect;
  }
};

SimFile::SimFile(std::shared_ptr<SimState> state, std::shared_ptr<io::IoCounters> counters,
                 std::string plain_name, InodeId inode, bool writable, bool locked)
    : File("sim/" + plain_name, std::move(counters)),
      state_(std::move(state)),
      plain_name_(std::move(plain_name)),
      inode_(inode),
      writable_(writable),
      locked_(locked) {}

SimFile::~SimFile() {
  const std::lock_guard guard(state_->mutex);
  if (locked_) {
    state_->inode(inode_).locks += writable_ ? 1 : -1;
  }
  state_->open_count[inode_] -= 1;
  state_->drop_if_unused(inode_);
}

std::size_t SimFile::alignment_bytes() const noexcept {
  return state_->options.alignment_bytes;
}

std::size_t SimFile::atomic_write_bytes_max() const noexcept {
  return state_->options.atomic_write_bytes_max;
}

void SimFile::do_back_off(unsigned /*stalls*/) noexcept {
  std::this_thread::yield();
}

void SimFile::do_transfer(std::span<Attempted> batch) noexcept {
  std::array<Operation, kBatchMax> operations;
  std::array<std::size_t, kBatchMax> order{};
  for (std::size_t i = 0; i < batch.size(); ++i) {
    submit(batch[i], operations[i]);
    order[i] = i;
  }
  if (state_->options.reorder_completions) {
    SimRandom random = operations.front().started.random;
    for (std::size_t i = batch.size(); i > 1; --i) {
      std::swap(order[i - 1], order[random.below(i)]);
    }
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    complete(batch[order[i]], operations[order[i]]);
  }
}

void SimFile::submit(Attempted& attempted, Operation& operation) {
  const io::Transfer& transfer = *attempted.transfer;
  operation.kind = transfer.kind;
  operation.offset_bytes = transfer.offset_bytes + attempted.already_bytes;
  operation.data = transfer.data.subspan(attempted.already_bytes);
  const bool is_write = transfer.kind == io::Transfer::Kind::write;
  std::shared_ptr<const SimDisk::WriteChecker> checker;
  {
    const std::lock_guard guard(state_->mutex);
    operation.started = state_->start(is_write ? SimKind::write : SimKind::read, plain_name_);
    if (is_write && !state_->powered_off && writable_) {
      checker = state_->write_checker;
      Inode& inode = state_->inode(inode_);
      const std::uint64_t end_bytes = operation.offset_bytes + operation.data.size();
      for (const Change& other : inode.in_flight) {
        check(end_bytes <= other->offset_bytes || operation.offset_bytes >= other->end_bytes(),
              "two overlapping writes are in flight");
      }
      operation.change = std::make_shared<const PendingChange>(
          PendingChange{.kind = PendingChange::Kind::write,
                        .atomic = transfer.atomic,
                        .offset_bytes = operation.offset_bytes,
                        .data = {operation.data.begin(), operation.data.end()}});
      inode.in_flight.push_back(operation.change);
    }
  }
  if (checker != nullptr) {
    (*checker)(plain_name_, operation.offset_bytes, operation.data);
  }
}

void SimFile::complete(Attempted& attempted, Operation& operation) {
  if (operation.kind == io::Transfer::Kind::write) {
    state_->call_hook({.number = operation.started.number,
                       .kind = SimKind::write,
                       .file = plain_name_,
                       .offset_bytes = operation.offset_bytes,
                       .size_bytes = operation.data.size()});
  }
  const std::lock_guard guard(state_->mutex);
  if (operation.change != nullptr) {
    std::erase(state_->inode(inode_).in_flight, operation.change);
  }
  if (state_->powered_off) {
    attempted.result = -EIO;
    return;
  }
  attempted.result = operation.kind == io::Transfer::Kind::write ? complete_write(operation)
                                                                 : complete_read(operation);
}

std::int64_t SimFile::complete_write(Operation& operation) {
  if (!writable_) {
    return -EBADF;
  }
  Inode& inode = state_->inode(inode_);
  SimRandom& random = operation.started.random;
  const std::size_t size_bytes = operation.data.size();
  const std::uint64_t end_bytes = operation.offset_bytes + size_bytes;
  const int error = operation.started.error();
  if (error != 0 && error != EIO) {
    return -error;
  }
  if (end_bytes > inode.cached_size_bytes &&
      state_->used_bytes() + (end_bytes - inode.cached_size_bytes) >
          state_->options.capacity_bytes) {
    return -ENOSPC;
  }
  PendingChange stored = *operation.change;
  std::size_t done_bytes = size_bytes;
  const std::size_t sectors = sectors_of(size_bytes);
  std::vector<bool> kept(sectors, true);
  if (operation.has(Effect::lose)) {
    kept.assign(sectors, false);
  } else if (error == EIO || (operation.has(Effect::tear) && !stored.atomic)) {
    const bool whole = random.chance(50);
    std::generate(kept.begin(), kept.end(),
                  [&] { return stored.atomic ? whole : random.chance(50); });
  } else if (operation.has(Effect::short_transfer) && !stored.atomic) {
    done_bytes = sectors < 2 ? 0 : (1 + random.below(sectors - 1)) * kSectorBytes;
    std::fill(kept.begin() + static_cast<std::ptrdiff_t>(done_bytes / kSectorBytes), kept.end(),
              false);
  } else if (operation.has(Effect::flip_bits)) {
    flip_bits(stored.data, random);
  } else if (operation.has(Effect::zero)) {
    std::fill(stored.data.begin(), stored.data.end(), std::byte{0});
  } else if (operation.has(Effect::misdirect)) {
    stored.offset_bytes =
        other_place(stored.offset_bytes, size_bytes, inode.cached_size_bytes, random);
  }
  const std::uint64_t sequence = ++state_->last_sequence;
  if (error == 0 && done_bytes != 0) {
    inode.complete({.kind = PendingChange::Kind::grow,
                    .sequence = sequence,
                    .offset_bytes = operation.offset_bytes + done_bytes});
  }
  inode.complete_sectors(std::move(stored), kept, sequence);
  return error != 0 ? -error : static_cast<std::int64_t>(done_bytes);
}

std::int64_t SimFile::complete_read(Operation& operation) {
  Inode& inode = state_->inode(inode_);
  SimRandom& random = operation.started.random;
  if (const int error = operation.started.error(); error != 0) {
    return -error;
  }
  if (operation.offset_bytes >= inode.cached_size_bytes) {
    return 0;
  }
  const std::uint64_t there_bytes = inode.cached_size_bytes - operation.offset_bytes;
  MutableBytes into =
      operation.data.first(std::min<std::uint64_t>(operation.data.size(), there_bytes));
  if (operation.has(Effect::short_transfer) && into.size() > kSectorBytes) {
    into = into.first((1 + random.below(sectors_of(into.size()) - 1)) * kSectorBytes);
  }
  std::uint64_t from_bytes = operation.offset_bytes;
  if (operation.has(Effect::misdirect)) {
    from_bytes = other_place(from_bytes, into.size(), inode.cached_size_bytes, random);
  }
  (operation.has(Effect::stale_read) ? inode.previous : inode.cached).read(from_bytes, into);
  if (operation.has(Effect::flip_bits)) {
    flip_bits(into, random);
  } else if (operation.has(Effect::zero)) {
    std::fill(into.begin(), into.end(), std::byte{0});
  }
  return static_cast<std::int64_t>(into.size());
}

int SimFile::do_sync() noexcept {
  SimState::Started started;
  std::uint64_t barrier = 0;
  {
    const std::lock_guard guard(state_->mutex);
    started = state_->start(SimKind::sync, plain_name_);
    barrier = state_->last_sequence;
  }
  state_->call_hook({.number = started.number, .kind = SimKind::sync, .file = plain_name_});
  const std::lock_guard guard(state_->mutex);
  const int error = state_->powered_off ? EIO : started.error();
  if (state_->powered_off || error == EINTR || error == EAGAIN) {
    return error;
  }
  Inode& inode = state_->inode(inode_);
  // After an error a part of the data may have arrived; the rest is lost, though reads still show
  // it.
  const auto first_later =
      std::find_if(inode.completed.begin(), inode.completed.end(),
                   [barrier](const Change& change) { return change->sequence > barrier; });
  for (auto change = inode.completed.begin(); change != first_later; ++change) {
    if (error == 0 || started.random.chance(50)) {
      inode.apply_to_durable(**change);
    }
  }
  inode.completed.erase(inode.completed.begin(), first_later);
  return error;
}

int SimFile::resize(SimKind kind, std::uint64_t size_bytes, std::uint64_t hook_offset_bytes) {
  SimState::Started started;
  {
    const std::lock_guard guard(state_->mutex);
    started = state_->start(kind, plain_name_);
  }
  state_->call_hook({.number = started.number,
                     .kind = kind,
                     .file = plain_name_,
                     .offset_bytes = hook_offset_bytes,
                     .size_bytes = size_bytes - hook_offset_bytes});
  const std::lock_guard guard(state_->mutex);
  if (state_->powered_off) {
    return EIO;
  }
  if (const int error = started.error(); error != 0 || !writable_) {
    return error != 0 ? error : EBADF;
  }
  Inode& inode = state_->inode(inode_);
  if (size_bytes > inode.cached_size_bytes &&
      state_->used_bytes() + (size_bytes - inode.cached_size_bytes) >
          state_->options.capacity_bytes) {
    return ENOSPC;
  }
  inode.complete({.kind = kind == SimKind::truncate ? PendingChange::Kind::truncate
                                                    : PendingChange::Kind::grow,
                  .sequence = ++state_->last_sequence,
                  .offset_bytes = size_bytes});
  return 0;
}

int SimFile::do_allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) noexcept {
  return resize(SimKind::allocate, offset_bytes + length_bytes, offset_bytes);
}

int SimFile::do_truncate(std::uint64_t size_bytes) noexcept {
  return resize(SimKind::truncate, size_bytes, 0);
}

int SimFile::do_size(std::uint64_t& size_bytes) noexcept {
  const std::lock_guard guard(state_->mutex);
  const SimState::Started started = state_->start(SimKind::size, plain_name_);
  size_bytes = state_->inode(inode_).cached_size_bytes;
  return started.error();
}

// The directory.

void SimDevice::begin(SimKind kind, std::string_view name, std::string_view what) {
  SimState::Started started;
  {
    const std::lock_guard guard(state_->mutex);
    started = state_->start(kind, name);
  }
  if (kind != SimKind::open) {
    state_->call_hook({.number = started.number, .kind = kind, .file = name});
  }
  const std::lock_guard guard(state_->mutex);
  const int error = state_->powered_off ? EIO : started.error();
  if (error != 0) {
    io::throw_io_error(error, what, fmt::format("sim/{}", name));
  }
}

std::unique_ptr<io::File> SimDevice::open(std::string_view name, io::OpenMode mode,
                                          bool exclusive) {
  const bool is_new = mode == io::OpenMode::create_new;
  const std::string_view what = is_new ? "creation" : "opening";
  begin(is_new ? SimKind::create : SimKind::open, name, what);
  const std::lock_guard guard(state_->mutex);
  auto found = state_->names.find(name);
  if (is_new == (found != state_->names.end())) {
    io::throw_io_error(is_new ? EEXIST : ENOENT, what, fmt::format("sim/{}", name));
  }
  if (is_new) {
    const InodeId id = ++state_->last_inode;
    state_->inodes.emplace(id, Inode{});
    state_->complete(
        {.kind = SimKind::create, .name = std::string(name), .new_name = {}, .inode = id});
    found = state_->names.find(name);
  }
  Inode& inode = state_->inode(found->second);
  const bool is_writable = mode != io::OpenMode::read_only;
  if (exclusive && (is_writable ? inode.locks != 0 : inode.locks < 0)) {
    throw Error(ErrorCode::locked, fmt::format("\"sim/{}\" is in use", name));
  }
  if (exclusive) {
    inode.locks += is_writable ? -1 : 1;
  }
  state_->open_count[found->second] += 1;
  return std::make_unique<SimFile>(state_, counters(), std::string(name), found->second,
                                   is_writable, exclusive);
}

bool SimDevice::exists(std::string_view name) {
  const std::lock_guard guard(state_->mutex);
  return state_->names.contains(name);
}

void SimDevice::remove(std::string_view name) {
  begin(SimKind::remove, name, "removal");
  const std::lock_guard guard(state_->mutex);
  const auto found = state_->names.find(name);
  if (found == state_->names.end()) {
    io::throw_io_error(ENOENT, "removal", fmt::format("sim/{}", name));
  }
  state_->name_changes.push_back(
      {.kind = SimKind::remove, .name = std::string(name), .new_name = {}, .inode = found->second});
  state_->names.erase(found);
}

void SimDevice::rename(std::string_view from, std::string_view to) {
  begin(SimKind::rename, from, "renaming");
  const std::lock_guard guard(state_->mutex);
  const auto found = state_->names.find(from);
  if (found == state_->names.end()) {
    io::throw_io_error(ENOENT, "renaming", fmt::format("sim/{}", from));
  }
  if (from == to) {
    return;
  }
  state_->complete({.kind = SimKind::rename,
                    .name = std::string(from),
                    .new_name = std::string(to),
                    .inode = found->second});
}

std::unique_ptr<io::DirectoryLock> SimDevice::lock_directory() {
  const std::lock_guard guard(state_->mutex);
  if (state_->directory_locked) {
    throw Error(ErrorCode::locked, "\"sim\" is in use");
  }
  state_->directory_locked = true;
  return std::make_unique<SimDirectoryLock>(state_);
}

void SimDevice::sync_directory() {
  SimState::Started started;
  std::uint64_t barrier = 0;
  {
    const std::lock_guard guard(state_->mutex);
    started = state_->start(SimKind::sync_directory, "");
    barrier = state_->last_sequence;
  }
  state_->call_hook({.number = started.number, .kind = SimKind::sync_directory, .file = {}});
  const std::lock_guard guard(state_->mutex);
  const int error = state_->powered_off ? EIO : started.error();
  if (!state_->powered_off) {
    // As for files: after an error a part may have arrived, the rest is lost.
    std::erase_if(state_->name_changes, [&](const NameChange& change) {
      const bool covered = change.sequence <= barrier;
      if (covered && (error == 0 || started.random.chance(50))) {
        apply_name_change(change, state_->durable_names);
      }
      return covered;
    });
    for (auto entry = state_->inodes.begin(); entry != state_->inodes.end();) {
      state_->drop_if_unused((entry++)->first);
    }
  }
  if (error != 0) {
    io::throw_io_error(error, "sync of the directory", path_);
  }
}

std::vector<std::string> SimDevice::list() {
  const std::lock_guard guard(state_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, id] : state_->names) {
    names.push_back(name);
  }
  return names;
}

std::unique_ptr<io::BufferRegistration> SimDevice::register_buffer(MutableBytes /*memory*/) {
  return std::make_unique<io::BufferRegistration>();
}

}  // namespace palimpsest::test
