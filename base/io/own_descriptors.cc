#include "base/io/own_descriptors.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <new>

namespace palimpsest::io {

// Never destroyed: a database may be a static object.
OwnDescriptors& OwnDescriptors::of_this_process() noexcept {
  static OwnDescriptors& all = *new OwnDescriptors;
  return all;
}

OwnDescriptors::OwnDescriptors() {
  ::pthread_atfork([] { of_this_process().mutex_.lock(); },
                   [] { of_this_process().mutex_.unlock(); }, [] { of_this_process().give_up(); });
}

bool OwnDescriptors::make_room() noexcept {
  try {
    if (numbers_.size() == numbers_.capacity()) {
      numbers_.reserve(2 * numbers_.size() + 1);
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// Runs in a child, with the mutex that the parent locked. Calls only what a fork handler may call.
void OwnDescriptors::give_up() noexcept {
  const int nothing = numbers_.empty() ? -1 : ::open("/", O_PATH | O_CLOEXEC);
  for (const int number : numbers_) {
    if (nothing < 0 || ::dup3(nothing, number, O_CLOEXEC) < 0) {
      ::close(number);  // no free descriptor
    }
  }
  if (nothing >= 0) {
    ::close(nothing);
  }
  numbers_.clear();
  mutex_.unlock();
}

}  // namespace palimpsest::io
