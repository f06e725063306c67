#include "base/io/overlay_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <utility>

namespace palimpsest::io {
namespace {

/// Also the alignment of transfers.
constexpr std::size_t kBlockBytes = 4096;
using Block = std::array<std::byte, kBlockBytes>;
constexpr Block kZeros{};

}  // namespace

bool OverlayMemory::take(std::uint64_t bytes) noexcept {
  if (bytes_.fetch_add(bytes) + bytes <= bytes_max_) {
    return true;
  }
  bytes_.fetch_sub(bytes);
  refuse();
  return false;
}

/// The content of a file, independent of its current name.
class OverlayContent {
 public:
  struct Sizes {
    std::uint64_t bytes = 0;
    std::uint64_t bytes_behind = 0;  ///< prefix of the file that is read from behind
  };

  /// The file behind has that name and size; a file that the overlay created has none.
  OverlayContent(std::shared_ptr<OverlayMemory> memory, std::optional<std::string> name_behind,
                 std::uint64_t bytes_behind)
      : memory_(std::move(memory)),
        name_behind_(std::move(name_behind)),
        sizes_{.bytes = bytes_behind, .bytes_behind = bytes_behind} {}
  OverlayContent(const OverlayContent&) = delete;
  OverlayContent& operator=(const OverlayContent&) = delete;
  ~OverlayContent() { truncate(0); }

  [[nodiscard]] const std::optional<std::string>& name_behind() const noexcept {
    return name_behind_;
  }
  [[nodiscard]] Sizes sizes() const noexcept {
    const std::shared_lock turn(latch_);
    return sizes_;
  }

  /// Turns bytes read from behind, or arbitrary bytes beyond its end, into the file's content.
  void lay_over(std::uint64_t offset_bytes, MutableBytes data) const noexcept;
  /// 0 or errno; after an error any part may have been written, and the rest is unchanged.
  int write(std::uint64_t offset_bytes, ConstBytes data) noexcept;
  /// Makes the file longer if it is shorter.
  void extend(std::uint64_t bytes) noexcept;
  void truncate(std::uint64_t bytes) noexcept;

 private:
  void write_block(std::uint64_t number, ConstBytes data);
  void drop(std::unique_ptr<Block> block) noexcept;

  const std::shared_ptr<OverlayMemory> memory_;
  const std::optional<std::string> name_behind_;
  mutable std::shared_mutex latch_;
  Sizes sizes_;  ///< protected by latch_, as are the blocks
  /// By number; null: zeros.
  std::unordered_map<std::uint64_t, std::unique_ptr<Block>> blocks_;
};

void OverlayContent::lay_over(std::uint64_t offset_bytes, MutableBytes data) const noexcept {
  const std::shared_lock turn(latch_);
  const std::uint64_t end = offset_bytes + data.size();
  if (sizes_.bytes_behind < end) {
    const std::uint64_t from = std::max(offset_bytes, sizes_.bytes_behind) - offset_bytes;
    std::ranges::fill(data.subspan(from), std::byte{0});
  }
  if (blocks_.empty()) {
    return;
  }
  for (std::uint64_t at = offset_bytes; at < end; at += kBlockBytes) {
    const auto found = blocks_.find(at / kBlockBytes);
    if (found != blocks_.end()) {
      const Block& block = found->second != nullptr ? *found->second : kZeros;
      const std::size_t bytes = std::min<std::uint64_t>(kBlockBytes, end - at);
      std::memcpy(data.data() + (at - offset_bytes), block.data(), bytes);
    }
  }
}

int OverlayContent::write(std::uint64_t offset_bytes, ConstBytes data) noexcept {
  try {
    const std::unique_lock turn(latch_);
    for (std::size_t at = 0; at < data.size(); at += kBlockBytes) {
      write_block((offset_bytes + at) / kBlockBytes, data.subspan(at, kBlockBytes));
    }
    sizes_.bytes = std::max(sizes_.bytes, offset_bytes + data.size());
    return 0;
  } catch (const std::bad_alloc&) {
    memory_->refuse();
    return ENOSPC;
  }
}

// Throws bad_alloc if there is no memory, with nothing changed.
void OverlayContent::write_block(std::uint64_t number, ConstBytes data) {
  const auto found = blocks_.find(number);
  if (std::memcmp(data.data(), kZeros.data(), kBlockBytes) == 0) {
    found == blocks_.end() ? static_cast<void>(blocks_.emplace(number, nullptr))
                           : drop(std::move(found->second));
    return;
  }
  if (found != blocks_.end() && found->second != nullptr) {
    std::memcpy(found->second->data(), data.data(), kBlockBytes);
    return;
  }
  auto block = std::make_unique_for_overwrite<Block>();
  std::memcpy(block->data(), data.data(), kBlockBytes);
  if (!memory_->take(kBlockBytes)) {
    throw std::bad_alloc();
  }
  try {
    blocks_.insert_or_assign(number, std::move(block));
  } catch (...) {
    memory_->give_back(kBlockBytes);
    throw;
  }
}

void OverlayContent::drop(std::unique_ptr<Block> block) noexcept {
  if (block != nullptr) {
    memory_->give_back(kBlockBytes);
  }
}

void OverlayContent::extend(std::uint64_t bytes) noexcept {
  const std::unique_lock turn(latch_);
  sizes_.bytes = std::max(sizes_.bytes, bytes);
}

void OverlayContent::truncate(std::uint64_t bytes) noexcept {
  const std::unique_lock turn(latch_);
  const std::uint64_t whole = bytes / kBlockBytes;
  const std::size_t rest = bytes % kBlockBytes;
  for (auto at = blocks_.begin(); at != blocks_.end();) {
    if (at->first == whole && rest != 0 && at->second != nullptr) {
      std::ranges::fill(std::span(*at->second).subspan(rest), std::byte{0});
    }
    if (at->first > whole || (at->first == whole && rest == 0)) {
      drop(std::move(at->second));
      at = blocks_.erase(at);
    } else {
      ++at;
    }
  }
  sizes_ = {.bytes = bytes, .bytes_behind = std::min(sizes_.bytes_behind, bytes)};
}

namespace {

/// The part of a transfer that is still to be done.
MutableBytes rest_of(const Transfer& transfer, std::size_t already_bytes) noexcept {
  return transfer.data.subspan(already_bytes);
}

class OverlayFile final : public File {
 public:
  OverlayFile(std::string name, std::shared_ptr<IoCounters> counters,
              std::shared_ptr<OverlayContent> content, std::unique_ptr<File> behind,
              bool is_writable)
      : File(std::move(name), std::move(counters)),
        content_(std::move(content)),
        behind_(std::move(behind)),
        is_writable_(is_writable) {}

  [[nodiscard]] std::size_t alignment_bytes() const noexcept override {
    return behind_ == nullptr ? kBlockBytes : std::max(kBlockBytes, behind_->alignment_bytes());
  }
  [[nodiscard]] std::size_t atomic_write_bytes_max() const noexcept override { return 0; }

 protected:
  void do_transfer(std::span<Attempted> batch) noexcept override;
  int do_sync() noexcept override { return 0; }
  int do_allocate(std::uint64_t offset_bytes, std::uint64_t length_bytes) noexcept override {
    if (is_writable_) {
      content_->extend(offset_bytes + length_bytes);
    }
    return is_writable_ ? 0 : EBADF;
  }
  int do_truncate(std::uint64_t size_bytes) noexcept override {
    if (is_writable_) {
      content_->truncate(size_bytes);
    }
    return is_writable_ ? 0 : EINVAL;
  }
  int do_size(std::uint64_t& size_bytes) noexcept override {
    size_bytes = content_->sizes().bytes;
    return 0;
  }

 private:
  [[nodiscard]] std::int64_t write(std::uint64_t offset_bytes, ConstBytes data) noexcept;

  const std::shared_ptr<OverlayContent> content_;
  const std::unique_ptr<File> behind_;  ///< null: the overlay created the file
  const bool is_writable_;
};

std::int64_t OverlayFile::write(std::uint64_t offset_bytes, ConstBytes data) noexcept {
  const int error = is_writable_ ? content_->write(offset_bytes, data) : EBADF;
  return error != 0 ? -error : static_cast<std::int64_t>(data.size());
}

// A read from behind may reach beyond the end there; lay_over() fills in what it left undone.
void OverlayFile::do_transfer(std::span<Attempted> batch) noexcept {
  std::array<Transfer, kBatchMax> behind;
  std::array<Attempted*, kBatchMax> readers{};
  std::size_t count = 0;
  const OverlayContent::Sizes sizes = content_->sizes();
  for (Attempted& attempted : batch) {
    const Transfer& transfer = *attempted.transfer;
    const MutableBytes rest = rest_of(transfer, attempted.already_bytes);
    const std::uint64_t at = transfer.offset_bytes + attempted.already_bytes;
    if (transfer.kind == Transfer::Kind::write) {
      attempted.result = write(at, rest);
      continue;
    }
    const std::uint64_t there = at < sizes.bytes ? sizes.bytes - at : 0;
    attempted.result = static_cast<std::int64_t>(std::min<std::uint64_t>(rest.size(), there));
    if (at < sizes.bytes_behind) {
      behind[count] = {.kind = Transfer::Kind::read, .offset_bytes = at, .data = rest};
      readers[count++] = &attempted;
    }
  }
  if (count != 0) {
    behind_->run(std::span(behind).first(count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (behind[i].error != 0 && behind[i].error != kEndOfFile) {
      readers[i]->result = -behind[i].error;
    }
  }
  for (const Attempted& attempted : batch) {
    const Transfer& transfer = *attempted.transfer;
    if (transfer.kind == Transfer::Kind::read && attempted.result > 0) {
      content_->lay_over(transfer.offset_bytes + attempted.already_bytes,
                         rest_of(transfer, attempted.already_bytes)
                             .first(static_cast<std::size_t>(attempted.result)));
    }
  }
}

class NoLock final : public DirectoryLock {};

}  // namespace

OverlayDevice::OverlayDevice(std::unique_ptr<Device> behind, std::shared_ptr<OverlayMemory> memory)
    : behind_(std::move(behind)), memory_(std::move(memory)) {}

OverlayDevice::~OverlayDevice() = default;

std::string OverlayDevice::shown(std::string_view name) const {
  return fmt::format("{}/{}", path(), name);
}

bool OverlayDevice::is_there(std::string_view name) {
  const auto known = names_.find(name);
  return known != names_.end() ? known->second != nullptr : behind_->exists(name);
}

OverlayDevice::ContentPtr OverlayDevice::make(std::string_view name) {
  if (is_there(name)) {
    throw_io_error(EEXIST, "creation", shown(name));
  }
  auto content = std::make_shared<OverlayContent>(memory_, std::nullopt, 0);
  names_.insert_or_assign(std::string(name), content);
  return content;
}

// The size of the file behind is taken after it is locked: until then another process may write to
// it.
OverlayDevice::Opened OverlayDevice::open_there(std::string_view name, bool exclusive) {
  const auto known = names_.find(name);
  if (known != names_.end()) {
    if (known->second == nullptr) {
      throw_io_error(ENOENT, "opening", shown(name));
    }
    const auto& name_behind = known->second->name_behind();
    return {.content = known->second,
            .behind = name_behind ? behind_->open(*name_behind, OpenMode::read_only, exclusive)
                                  : nullptr};
  }
  auto file = behind_->open(name, OpenMode::read_only, exclusive);
  auto content = std::make_shared<OverlayContent>(memory_, std::string(name), file->size_bytes());
  names_.emplace(std::string(name), content);
  return {.content = std::move(content), .behind = std::move(file)};
}

std::unique_ptr<File> OverlayDevice::open(std::string_view name, OpenMode mode, bool exclusive) {
  const std::lock_guard guard(mutex_);
  Opened opened = mode == OpenMode::create_new ? Opened{.content = make(name), .behind = nullptr}
                                               : open_there(name, exclusive);
  return std::make_unique<OverlayFile>(shown(name), counters(), std::move(opened.content),
                                       std::move(opened.behind), mode != OpenMode::read_only);
}

std::unique_ptr<DirectoryLock> OverlayDevice::lock_directory() {
  static_cast<void>(behind_->lock_directory());
  return std::make_unique<NoLock>();
}

bool OverlayDevice::exists(std::string_view name) {
  const std::lock_guard guard(mutex_);
  return is_there(name);
}

void OverlayDevice::remove(std::string_view name) {
  const std::lock_guard guard(mutex_);
  if (!is_there(name)) {
    throw_io_error(ENOENT, "removal", shown(name));
  }
  names_.insert_or_assign(std::string(name), nullptr);
}

void OverlayDevice::rename(std::string_view from, std::string_view to) {
  const std::lock_guard guard(mutex_);
  if (!is_there(from)) {
    throw_io_error(ENOENT, fmt::format("renaming to \"{}\"", to), shown(from));
  }
  if (from != to) {
    names_.insert_or_assign(std::string(to), open_there(from, false).content);
    names_.insert_or_assign(std::string(from), nullptr);
  }
}

std::vector<std::string> OverlayDevice::list() {
  const std::lock_guard guard(mutex_);
  std::vector<std::string> names = behind_->list();
  std::erase_if(names, [this](const std::string& name) { return names_.contains(name); });
  for (const auto& [name, content] : names_) {
    if (content != nullptr) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

std::string OverlayDevice::description() const {
  return behind_->description() + ", read-only";
}

}  // namespace palimpsest::io
