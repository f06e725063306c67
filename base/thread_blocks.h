// Memory of a call that is too large for the stacks of small threads: blocks that hold any page,
// key or value, which their thread keeps from one call to the next.
//
// Why not the stack: threads are made with stacks of 64 KiB (musl gives 128), and a key of the
// largest pages takes 8 KiB, a value 32, a page 64; several are at work at once. What pages of
// 4 KiB need stays on the stack, so most databases need no block. Why not the heap: many are needed
// where nothing may fail, with pages latched or a change half made.
//
//   call begins   reserve_thread_blocks(): the thread keeps kReserved blocks, or the call throws
//   within it     ThreadBlock::take(): one of those; nothing is allocated, nothing fails
//   block ends    the thread that ends it keeps it, or unmaps it if it keeps enough
//   thread ends   what it keeps is unmapped
//
// Invariant: a call, with the calls that it makes, holds kReserved blocks at most at any time. A
// call that begins inside another one (a visitor may use another database) reserves again.
// Where the invariant is broken, or a thread ends a transaction that it has made no call of, take()
// maps a block; without memory for that the process ends (check()).
// Memory: a block takes address space, and memory for what was written to it; kReserved blocks a
//         thread at most while it is in no call.
// Thread-safety: a block is used by one thread at a time, and may end in another one than it began.
// Failure: reserving throws Error out_of_memory.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

namespace palimpsest {

class ThreadBlock {
 public:
  /// Of the largest page (buffer/page_header.h).
  static constexpr std::size_t kBytes = std::size_t{64} << 10;
  /// Blocks that a call finds.
  static constexpr std::size_t kReserved = 16;

  /// Has no memory.
  ThreadBlock() = default;
  /// Has this memory of kBytes, or none if it is null.
  explicit ThreadBlock(std::byte* memory) noexcept : memory_(memory) {}
  ThreadBlock(ThreadBlock&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  ThreadBlock& operator=(ThreadBlock&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ThreadBlock(const ThreadBlock&) = delete;
  ThreadBlock& operator=(const ThreadBlock&) = delete;
  ~ThreadBlock() {
    if (memory_ != nullptr) [[unlikely]] {
      give_back();
    }
  }

  [[nodiscard]] bool has_memory() const noexcept { return memory_ != nullptr; }
  /// It has kBytes of memory from now on, of any content, and had none.
  void take() noexcept;
  /// Aligned to pages of memory.
  [[nodiscard]] std::byte* data() const noexcept { return memory_; }
  [[nodiscard]] char* chars() const noexcept { return reinterpret_cast<char*>(memory_); }

 private:
  void give_back() noexcept;

  std::byte* memory_ = nullptr;
};

/// Makes sure that this thread finds kReserved blocks. Throws Error out_of_memory.
void reserve_thread_blocks();

/// As many, for a thread that is to be made: it keeps those that end in it.
using ThreadBlocks = std::array<ThreadBlock, ThreadBlock::kReserved>;
/// Throws Error out_of_memory.
[[nodiscard]] ThreadBlocks make_thread_blocks();

}  // namespace palimpsest
