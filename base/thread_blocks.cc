#include "base/thread_blocks.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <system_error>

#include "palimpsest/error.h"

#include "base/check.h"

namespace palimpsest {
namespace {

/// What a thread keeps. Of a type without a destructor: objects of the thread that end after it may
/// still end blocks, and take some.
struct Kept {
  std::array<std::byte*, ThreadBlock::kReserved> blocks;
  std::size_t count;
  bool has_reserved;
  bool is_ending;
};

/// Null, and errno says why, if there is no memory. As for a stack: huge pages would be resident as
/// a whole.
std::byte* map_block() noexcept {
  void* const memory = ::mmap(nullptr, ThreadBlock::kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

void unmap(std::byte* block) noexcept {
  ::munmap(block, ThreadBlock::kBytes);
}

Kept& kept() noexcept {
  constinit thread_local Kept of_thread{};
  return of_thread;
}

/// Unmaps what a thread keeps when it ends.
struct AtEnd {
  AtEnd() = default;
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() {
    Kept& mine = kept();
    mine.is_ending = true;
    while (mine.count != 0) {
      unmap(mine.blocks[--mine.count]);
    }
  }
};

/// Whether the block is kept.
bool keep(std::byte* block) noexcept {
  Kept& mine = kept();
  if (mine.is_ending || mine.count == mine.blocks.size()) {
    return false;
  }
  thread_local const AtEnd at_end;
  static_cast<void>(&at_end);
  mine.blocks[mine.count++] = block;
  return true;
}

[[noreturn]] void refuse_without_memory() {
  throw Error(
      ErrorCode::out_of_memory,
      fmt::format(
          "no memory for the blocks that a call needs beside its stack, {} blocks of {} KiB: {}",
          ThreadBlock::kReserved, ThreadBlock::kBytes >> 10,
          std::generic_category().message(errno)));
}

}  // namespace

void ThreadBlock::take() noexcept {
  Kept& mine = kept();
  if (mine.count != 0) [[likely]] {
    memory_ = mine.blocks[--mine.count];
    return;
  }
  PALIMPSEST_DEBUG_CHECK(!mine.has_reserved || mine.is_ending,
                         "a call uses no more blocks than were reserved for it");
  memory_ = map_block();
  check(memory_ != nullptr, "the system has memory for a block that was not reserved");
}

void ThreadBlock::give_back() noexcept {
  std::byte* const block = std::exchange(memory_, nullptr);
  if (!keep(block)) {
    unmap(block);
  }
}

void reserve_thread_blocks() {
  Kept& mine = kept();
  while (mine.count < mine.blocks.size()) [[unlikely]] {
    std::byte* const block = map_block();
    if (block == nullptr) {
      refuse_without_memory();
    }
    if (!keep(block)) {
      unmap(block);  // the thread is ending: take() maps what is needed
      return;
    }
    mine.has_reserved = true;
  }
}

ThreadBlocks make_thread_blocks() {
  ThreadBlocks blocks;
  for (ThreadBlock& block : blocks) {
    block = ThreadBlock(map_block());
    if (!block.has_memory()) {
      refuse_without_memory();
    }
  }
  return blocks;
}

}  // namespace palimpsest
