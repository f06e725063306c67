"""A private PostgreSQL server, for as long as a `with` block runs.

It belongs to an unprivileged user (for root, postgres or nobody; else the current one), listens only on a
socket in a private directory, and uses no other cluster of the machine. When the block is left, in whatever
way, it is stopped and its files are removed; if this process is killed, the server gets SIGQUIT, and the caller
that made the directory removes it."""
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

from loaders.children import Failed, entering, unprivileged_user

VERSION = 15
PROGRAMS = f"/usr/lib/postgresql/{VERSION}/bin"  # as Debian installs them
SUPERUSER = "bench"
START_SECONDS = 60
STOP_SECONDS = 60


def missing(directory):
    """Why there can be no cluster below an existing directory, or None."""
    if not os.access(os.path.join(PROGRAMS, "initdb"), os.X_OK):
        return f"PostgreSQL {VERSION} is not installed (tools/setup bench)"
    user = unprivileged_user()
    reached = subprocess.run(["test", "-x", directory], check=False, preexec_fn=entering(user))
    if reached.returncode != 0:
        return f"the server's user {user.pw_name} cannot reach {directory}"
    return None


class Cluster:
    """`settings`: of the server, by name."""

    def __init__(self, path, settings):
        self.data = os.path.join(path, "cluster")
        self.settings = settings
        self.user = unprivileged_user()
        self.sockets = None
        self.server = None
        self.log = os.path.join(path, "server.log")

    @property
    def pid(self):
        return self.server.pid

    def __enter__(self):
        self.sockets = tempfile.mkdtemp(prefix="palimpsest-pg-")
        try:
            os.mkdir(self.data, mode=0o700)
            if self.user:
                for directory in (self.data, self.sockets):
                    os.chown(directory, self.user.pw_uid, self.user.pw_gid)
            self.program("initdb", "--pgdata", self.data, "--username", SUPERUSER, "--auth=trust",
                         "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.stop()
        finally:
            shutil.rmtree(self.data, ignore_errors=True)
            shutil.rmtree(self.sockets, ignore_errors=True)

    def start(self):
        command = [os.path.join(PROGRAMS, "postgres"), "-D", self.data, "-k", self.sockets,
                   "-c", "listen_addresses="]
        for name, value in self.settings.items():
            command += ["-c", f"{name}={value}"]
        with open(self.log, "wb") as log:
            self.server = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                env=self.environment(), start_new_session=True,
                preexec_fn=entering(self.user, at_our_death=signal.SIGQUIT))
        end = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if self.server.poll() is not None or time.monotonic() > end:
                raise Failed(f"the server does not start: {self.log_text()}")
            time.sleep(0.05)

    def is_ready(self):
        return subprocess.run([os.path.join(PROGRAMS, "pg_isready"), "-q", "-h", self.sockets],
                              env=self.environment(), check=False).returncode == 0

    def stop(self):
        """Fast, or at once if that takes too long."""
        if self.server is None:
            return
        for how in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            if self.server.poll() is None:
                self.server.send_signal(how)
            try:
                self.server.wait(STOP_SECONDS)
                return
            except subprocess.TimeoutExpired:
                continue

    def query(self, *statements):
        """Runs statements, each a transaction of its own; their answers, bars between columns."""
        command = [os.path.join(PROGRAMS, "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
                   "-h", self.sockets, "-U", SUPERUSER, "-d", "postgres"]
        for statement in statements:
            command += ["-c", statement]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              cwd="/", env=self.environment(), check=False,
                              preexec_fn=entering(self.user))
        if done.returncode != 0:
            raise Failed(f"{done.stderr.strip()}")
        return done.stdout

    def program(self, name, *arguments):
        done = subprocess.run([os.path.join(PROGRAMS, name), *arguments], capture_output=True,
                              text=True, cwd="/", env=self.environment(), check=False,
                              preexec_fn=entering(self.user))
        if done.returncode != 0:
            user = (self.user or pwd.getpwuid(os.geteuid())).pw_name
            raise Failed(f"{name}, as user {user}: {done.stderr.strip()}")

    def environment(self):
        """Without our environment: variables of PostgreSQL could name another server."""
        return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": self.sockets}

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read().strip()[-2000:]
