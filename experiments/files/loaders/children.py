"""Child processes that load: they end with this process, and their memory is measured."""
import ctypes
import os
import pwd
import signal
import subprocess
import tempfile
import threading
import time

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
SAMPLE_SECONDS = 0.1


class Failed(Exception):
    """Why nothing was loaded."""


def unprivileged_user():
    """The user for servers that refuse to run as root: None if this process is not root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise Failed("root needs a user postgres or nobody to run a server as")


def entering(user=None, at_our_death=signal.SIGKILL):
    """For a child before it executes its program: changes to that user, and requests that signal for when this
    process dies. In this order: a change of users cancels the request. If this process is dead already, no
    signal will come."""
    parent = os.getpid()

    def enter():
        if user:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
        LIBC.prctl(PR_SET_PDEATHSIG, int(at_our_death), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
    return enter


def run_measured(command):
    """Runs a program to its end: its output, the seconds, and the most memory it had resident."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begin = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                 preexec_fn=entering())
        try:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        finally:
            if child.returncode is None:
                child.kill()
                child.wait()
        seconds = time.monotonic() - begin
        output.seek(0)
        errors.seek(0)
        said = output.read().decode()
        if child.returncode != 0:
            raise Failed(f"{os.path.basename(command[0])}: exit code {child.returncode}: "
                         f"{errors.read().decode().strip()}")
    return said, seconds, usage.ru_maxrss * 1024


def proportional_bytes(pid):
    """The resident memory of a process, with its part of shared memory. 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:")), 0)
    except (OSError, ValueError):
        return 0


def family(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [pid, *map(int, file.read().split())]
    except OSError:
        return [pid]


class MemorySampler:
    """The most memory that a server and its processes had resident while the `with` block ran."""

    def __init__(self, pid):
        self.pid = pid
        self.bytes_max = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.ended.wait(SAMPLE_SECONDS):
            self.look()

    def look(self):
        self.bytes_max = max(self.bytes_max, sum(map(proportional_bytes, family(self.pid))))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.look()
