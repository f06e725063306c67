"""A memory cap for one process by a control group, v1 or v2, so that the page cache helps no engine."""
import os
import time

MIB = 1 << 20

# Memory of a process beyond the engine's, as a share of it and in MiB. Ours keeps to its number; the rest is
# code, stacks and kernel structures. RocksDB and WiredTiger count their caches only, and their allocators lose
# much (WiredTiger twice the number at 64 MiB); both bypass the page cache, so that the allowance gains them
# nothing. LMDB's cache *is* the page cache: it gets the number and its process.
ALLOWANCE = {"palimpsest": (0.05, 32), "tree": (0.05, 32), "lmdb": (0.0, 16),
             "rocksdb": (0.25, 64), "rocksdb_optimistic": (0.25, 64), "wiredtiger": (1.0, 128)}

ROOT_V1 = "/sys/fs/cgroup/memory"
ROOT_V2 = "/sys/fs/cgroup"


def cap_bytes(engine, memory_mib):
    """The memory limit of a process of that engine, page cache included."""
    share, process_mib = ALLOWANCE[engine]
    return int((memory_mib * (1 + share) + process_mib) * MIB)


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def version():
    """1, 2, or None where no memory controller can be used."""
    if os.path.exists(os.path.join(ROOT_V1, "memory.limit_in_bytes")):
        return 1
    try:
        with open(os.path.join(ROOT_V2, "cgroup.controllers"), encoding="ascii") as file:
            return 2 if "memory" in file.read().split() else None
    except OSError:
        return None


def obstacle():
    """Why processes cannot be capped here, or None."""
    if os.geteuid() != 0:
        return "capping memory needs root (control groups, dropping the page cache)"
    if version() is None:
        return "no memory controller in /sys/fs/cgroup (neither v1 nor v2)"
    return None


def drop_page_cache():
    """Cached pages of earlier runs would be free of charge for the next one."""
    os.sync()
    write("/proc/sys/vm/drop_caches", "1")


class MemoryCap:
    """A control group for as long as the `with` block runs; `enter` puts the calling process in."""

    def __init__(self, limit_bytes):
        self.limit_bytes = limit_bytes
        self.version = version()
        root = ROOT_V1 if self.version == 1 else ROOT_V2
        self.path = os.path.join(root, f"palimpsest-bench-{os.getpid()}")

    def __enter__(self):
        if self.version == 2:
            write(os.path.join(ROOT_V2, "cgroup.subtree_control"), "+memory")
        os.mkdir(self.path)
        try:
            limit = str(self.limit_bytes)
            if self.version == 1:
                write(self.file("memory.limit_in_bytes"), limit)
            else:
                write(self.file("memory.max"), limit)
                self.write_if_present("memory.swap.max", "0")
        except OSError:
            os.rmdir(self.path)
            raise
        return self

    def __exit__(self, *_):
        for _ in range(50):  # the kernel may still be taking the ended process apart
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.1)
        print(f"compare: could not remove {self.path}", flush=True)

    def file(self, name):
        return os.path.join(self.path, name)

    def write_if_present(self, name, text):
        if os.path.exists(self.file(name)):
            write(self.file(name), text)

    def enter(self):
        write(self.file("cgroup.procs"), "0")

    def peak_bytes(self):
        """Most memory the group has used, or None where the kernel does not say."""
        name = "memory.max_usage_in_bytes" if self.version == 1 else "memory.peak"
        try:
            with open(self.file(name), encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None
