// A reference to something callable, for passing a callback down without allocating.
//
// Like std::function_ref of C++26. Refers to its callable: use it as a parameter, do not keep it.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace palimpsest {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  // Implicit on purpose: a lambda is passed where a FunctionRef is asked for.
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
             std::is_invocable_r_v<Result, Callable&, Arguments...>)
  FunctionRef(Callable&& callable) noexcept  // NOLINT(google-explicit-constructor)
      : callable_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* target, Arguments... arguments) -> Result {
          return (*static_cast<std::add_pointer_t<std::remove_reference_t<Callable>>>(target))(
              std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const {
    return call_(callable_, std::forward<Arguments>(arguments)...);
  }

 private:
  void* callable_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace palimpsest
