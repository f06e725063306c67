// The descriptors that this process has open for its devices: a child of fork() loses them.
//
// A child that kept them would keep the locks of a parent that has ended, since a lock of flock()
// belongs to the open file, and would keep io_uring's rings alive. Nor may the child close them by
// number later, when the number may be another file's. So a handler of fork() replaces each with a
// descriptor that allows nothing (O_PATH): the number stays taken, and operations on it fail
// (EBADF). The parent's files, locks and rings are unaffected. (A child made without handlers, by
// _Fork() or clone(), keeps the descriptors until it ends.)
//
// Invariant: no fork comes between opening a descriptor and entering it here, nor between closing
//            it and removing the entry: both are done under a mutex for which fork() waits.
// Latching: that mutex is a leaf, held while files are opened and closed.
#pragma once

#include <cerrno>
#include <mutex>
#include <vector>

namespace palimpsest::io {

class OwnDescriptors {
 public:
  /// Calls open(), which returns a descriptor, or -1 with errno set, and registers the descriptor.
  /// Returns the same; -1 with ENOMEM if there is no memory for the entry.
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
  /// Calls close(), which closes the descriptor, and removes the entry.
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
