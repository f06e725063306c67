"""Checks that only base/io asks the operating system for I/O.

By symbols: no object file of a layer outside base/io refers to a function that reaches files. That
sees through wrappers in headers, which a search of the sources does not. `syscall` is referred to by
std::atomic::wait, so calls of it are searched for in the sources instead.
"""
import os
import re
import subprocess

import tree

FORBIDDEN = re.compile(
    r"(__)?(open|openat|openat2|creat|read|pread|readv|preadv|preadv2|write|pwrite|writev|pwritev|"
    r"pwritev2|fsync|fdatasync|sync|syncfs|sync_file_range|msync|ftruncate|truncate|fallocate|"
    r"posix_fallocate|posix_fadvise|mmap|mremap|rename|renameat|renameat2|unlink|unlinkat|remove|"
    r"mkdir|mkdirat|rmdir|link|linkat|symlink|symlinkat|stat|lstat|fstat|fstatat|statx|opendir|"
    r"fdopendir|readdir|flock|fcntl|ioctl|lseek|sendfile|copy_file_range|splice|dup|dup2|mkstemp|"
    r"tmpfile|fopen|fdopen|freopen|fread|aio_\w+|io_uring_\w+)(64)?(_2|_chk)?"
    r"|_ZNK?St\d+basic_(ifstream|ofstream|fstream|filebuf).*|_ZNK?St10filesystem(?!7__cxx114path).*")  # paths are texts
SYSCALL = re.compile(r"(?<![\w.>:])(::)?syscall\s*\(|\b__?asm__?\b|\basm\s*(volatile\s*)?\(")


def layer_path(object_path):
    """The repository-relative source of a CMake object file, or None outside the layers."""
    object_path = os.path.normpath(object_path)
    match = re.search(r"(?:^|/)(\w+)/(?:(\w+)/)?CMakeFiles/[^/]+\.dir/(.+)\.o$", object_path)
    if not match:
        return None
    folder, below, rest = match.groups()
    for path in (os.path.join(folder, below or "", rest), os.path.join(below or folder, rest)):
        if path.split("/")[0] in {layer.split("/")[0] for layer in tree.LAYERS}:
            return path
    return None


def undefined_symbols(object_path):
    done = subprocess.run(["nm", "--undefined-only", "--format=posix", object_path],
                          capture_output=True, text=True, check=True)
    return sorted({line.split()[0] for line in done.stdout.split("\n") if line})


def main():
    parser = tree.arguments(__doc__.split("\n")[0])
    parser.add_argument("objects", nargs="*", help="object files of the layers")
    options = parser.parse_args()
    named = tree.exceptions(options.root, "io_seam_exceptions.txt")
    problems, examined = [], 0
    for object_path in options.objects:
        path = layer_path(object_path)
        if path is None:
            problems.append(f"{object_path}: not recognised as a layer's object file")
            continue
        examined += 1
        if tree.folder_of(path) == "base/io":
            continue
        problems += [f"{path} calls {symbol}" for symbol in undefined_symbols(object_path)
                     if FORBIDDEN.fullmatch(symbol) and symbol not in named.get(path, [])]
    for path in tree.sources(options.root, tops=sorted({layer.split("/")[0] for layer in tree.LAYERS})):
        examined += 1
        if tree.folder_of(path) != "base/io" and SYSCALL.search(tree.read(options.root, path)):
            if not {"syscall", "asm"} & set(named.get(path, [])):
                problems.append(f"{path} makes a system call or holds assembly")
    tree.finish(problems, examined)


if __name__ == "__main__":
    main()
