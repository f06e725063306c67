"""Which version of the sources this is."""
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


def commit_of_source():
    """As in the benchmarks' binaries (commit.cmake); "unknown" outside a repository."""
    try:
        done = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty", "--abbrev=12",
                               "--exclude=*"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
