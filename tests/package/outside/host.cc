// A program that is not linked with the installed library: it loads main.cc as a shared library,
// has it write and read, unloads it, and forks a process, in which nothing of the library may run
// any more.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace {

/// A child that exits normally: unloading has removed the library's handlers of fork().
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
