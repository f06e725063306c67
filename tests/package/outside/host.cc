// A program that is not linked with the installed library: it loads main.cc as a shared library,
// has it write and read, lets it go, and starts a process, for which nothing of it is called any
// more.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace {

/// A child that ends as it should: the library's handlers of fork() have gone with it.
bool can_fork() {
  constexpr int kStatus = 7;
  const pid_t child = fork();
  if (child == 0) {
    _exit(kStatus);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == kStatus;
}

}  // namespace

int main(int argc, char** argv) {
  void* const library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) {
    std::puts(argc == 3 ? dlerror() : "host LIBRARY DIRECTORY");
    return 1;
  }
  using WriteAndRead = int (*)(const char* directory);
  const auto write_and_read =
      reinterpret_cast<WriteAndRead>(dlsym(library, "write_and_read_notes"));
  const bool right = write_and_read != nullptr && write_and_read(argv[2]) == 0;
  dlclose(library);
  return right && can_fork() ? 0 : 1;
}
