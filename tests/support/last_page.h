// A page with no readable memory after it: a read beyond its end stops the test's process.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>

namespace palimpsest::test {

class LastPage {
 public:
  /// A multiple of the system's page size.
  explicit LastPage(std::size_t size_bytes)
      : size_(size_bytes),
        bytes_(static_cast<std::byte*>(::mmap(nullptr, 2 * size_bytes, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_NE(static_cast<void*>(bytes_), MAP_FAILED);
    EXPECT_EQ(::mprotect(end(), size_, PROT_NONE), 0);
  }
  LastPage(const LastPage&) = delete;
  LastPage& operator=(const LastPage&) = delete;
  ~LastPage() { ::munmap(bytes_, 2 * size_); }

  [[nodiscard]] std::byte* begin() const noexcept { return bytes_; }
  [[nodiscard]] std::byte* end() const noexcept { return bytes_ + size_; }

 private:
  std::size_t size_;
  std::byte* bytes_;
};

}  // namespace palimpsest::test
