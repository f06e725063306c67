// An owned file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

#include "base/io/own_descriptors.h"

namespace palimpsest::io {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  /// Owns the descriptor that open() returns; open() returns -1 on failure and sets errno.
  template <class Open>
  [[nodiscard]] static FileDescriptor opened_by(const Open& open) noexcept {
    FileDescriptor opened;
    opened.number_ = OwnDescriptors::open(open);
    return opened;
  }
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (number_ >= 0) {
      // Every write that matters was synced; no caller could act on an error of close.
      OwnDescriptors::close(number_, [this] { ::close(number_); });
    }
  }

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

}  // namespace palimpsest::io
