// What the caller asks for cannot be meant: options that exclude each other, a schema that is none.
//
// Thread-safety: a plain exception. The command exits with 2 for it, and nothing has been changed.
#pragma once

#include <stdexcept>

namespace palimpsest::load {

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace palimpsest::load
