"""The environment of a run: machine, file system, memory limit; and the flags in effect."""
import hashlib
import os
import platform
import subprocess
import xml.etree.ElementTree as ElementTree

from common.comparisons import Failure

CGROUPS = "/sys/fs/cgroup"
NO_LIMIT_BYTES = 1 << 60


def read_text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def cpu():
    models = [line.split(":", 1)[1].strip() for line in read_text("/proc/cpuinfo").split("\n")
              if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} logical processors"


def file_system_of(path, mounts=None):
    """Kind and device of the file system that holds a path: "ext4 on /dev/sda1"."""
    path = os.path.realpath(path)
    best, found = "", "unknown"
    for line in (mounts if mounts is not None else read_text("/proc/self/mounts")).split("\n"):
        words = line.split(" ")
        if len(words) < 3:
            continue
        point = words[1].rstrip("/")
        if (path == point or path.startswith(point + "/")) and len(point) >= len(best):
            best, found = point, f"{words[2]} on {words[0]}"
    return found


def memory_total_bytes():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def memory_limit_files(groups):
    """The files with the limits of a process with /proc/self/cgroup `groups`: of its control group and those
    above it, v1 or v2."""
    for line in groups.split("\n"):
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number == "0" and not controllers:
            root, name = CGROUPS, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = os.path.join(CGROUPS, "memory"), "memory.limit_in_bytes"
        else:
            continue
        while group:
            yield os.path.join(root, group.strip("/"), name)
            group = group.rpartition("/")[0]


def memory_limit_bytes():
    """The least limit of the control groups this process is in, or None."""
    limits = []
    for path in memory_limit_files(read_text("/proc/self/cgroup")):
        text = read_text(path).strip()
        if text.isdigit() and int(text) < NO_LIMIT_BYTES:
            limits.append(int(text))
    return min(limits, default=None)


def describe(data_directory):
    return {"cpu": cpu(), "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
            "file_system": file_system_of(data_directory),
            "memory_total_bytes": memory_total_bytes(), "memory_limit_bytes": memory_limit_bytes()}


def digest_of(path):
    """The identity of a binary."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def effective_flags(command):
    """Every flag of a driver with the value it has on this command line, defaults included."""
    done = subprocess.run([*command, "--helpxml"], capture_output=True, text=True, timeout=60)
    try:
        root = ElementTree.fromstring(done.stdout)
    except ElementTree.ParseError as error:
        raise Failure(f"{command[0]} does not say which flags it has: {error}\n{done.stderr}") \
            from error
    # Libraries bring flags of their own.
    return {flag.findtext("name"): flag.findtext("current") for flag in root.iter("flag")
            if "experiments/" in (flag.findtext("file") or "")}
