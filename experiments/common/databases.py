"""Databases that are loaded once and copied for each run, so that every run begins with the same bytes."""
import contextlib
import os
import re
import shutil

from common.comparisons import Failure
from common.processes import run_process

COPY_TIMEOUT_SECONDS = 1800
GROWTH_BYTES = 4 << 30  # of a copy while a run changes it, its log included


def occupied_bytes(directory):
    """The disk space of the files below a directory."""
    found = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            found += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return found


def check_free(directory, needed_bytes, what):
    """A failure that names the figures if the disk has less left."""
    free = shutil.disk_usage(directory).free
    if free < needed_bytes:
        raise Failure(f"{what} needs {needed_bytes / 2**30:.1f} GiB of disk in {directory}, "
                      f"{free / 2**30:.1f} GiB are free")


def own_directory(parent, purpose):
    """A name below `parent` that only this process uses. Removes files that killed processes have left under
    such names."""
    for name in os.listdir(parent) if os.path.isdir(parent) else ():
        match = re.fullmatch(re.escape(purpose) + r"-(\d+)", name)
        if match and not os.path.exists(f"/proc/{match.group(1)}"):
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)
    return os.path.join(parent, f"{purpose}-{os.getpid()}")


class Databases:
    """The databases below one directory, which belongs to them alone."""

    def __init__(self, root):
        self.root = root
        os.makedirs(root, exist_ok=True)

    def path(self, name):
        return os.path.join(self.root, name)

    @contextlib.contextmanager
    def copy_of(self, name):
        """A copy for as long as the `with` block runs, all of it on disk."""
        source, target = self.path(name), self.path("copy")
        check_free(self.root, occupied_bytes(source) + GROWTH_BYTES, f"a copy of {name}")
        try:
            run_process(["cp", "-a", "--reflink=auto", source, target], COPY_TIMEOUT_SECONDS)
            os.sync()
            yield target
        finally:
            shutil.rmtree(target, ignore_errors=True)

    def remove(self, name):
        shutil.rmtree(self.path(name), ignore_errors=True)

    def remove_all(self):
        shutil.rmtree(self.root, ignore_errors=True)
