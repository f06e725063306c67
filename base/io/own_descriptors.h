// The descriptors that this process has open for its devices: a child of fork() gives them up.
//
// A child that kept them would keep the locks of a parent that has ended, since a lock of flock()
// belongs to the open file, and would keep io_uring's rings alive. It must not close them by number
// later either, when the number may be another file's. So a handler of fork() puts a descriptor
// that allows nothing (O_PATH) in the place of each: the number stays taken, and what is asked of
// it fails (EBADF). The parent's files, locks and rings stay as they are. (A child that is made
// without handlers, by _Fork() or clone(), keeps them until it ends.)
//
// Invariant: no fork comes between the opening of a descriptor and its entry here, nor between its
//            closing and its leaving: fork() waits for the mutex that both are done under.
// Latching: that mutex is a leaf, held while files are opened and closed.
#pragma once

#include <cerrno>
#include <mutex>
#include <vector>

namespace palimpsest::io {

class OwnDescriptors {
 public:
  /// Calls open(), which returns a descriptor or -1 and says why in errno, and enters what it has
  /// opened. The same result; ENOMEM: there was no memory for the entry.
  template <class Open>
  [[nodiscard]] static int open(const Open& open) noexcept {
    OwnDescriptors& all = of_this_process();
    const std::lock_guard guard(all.mutex_);
    if (!all.make_room()) {
      errno = ENOMEM;
      return -1;
    }
    const int number = open();
    if (number >= 0) {
      all.numbers_.push_back(number);
    }
    return number;
  }
  /// Calls close(), which closes what open() has returned.
  template <class Close>
  static void close(int number, const Close& close) noexcept {
    OwnDescriptors& all = of_this_process();
    const std::lock_guard guard(all.mutex_);
    close();
    std::erase(all.numbers_, number);
  }

 private:
  OwnDescriptors();
  [[nodiscard]] static OwnDescriptors& of_this_process() noexcept;
  [[nodiscard]] bool make_room() noexcept;
  void give_up() noexcept;

  std::mutex mutex_;
  std::vector<int> numbers_;  ///< guarded by mutex_
};

}  // namespace palimpsest::io
