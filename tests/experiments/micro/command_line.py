"""Checks redo_bench and index_bench as people meet them: refusals that make nothing, a short run. The
arguments: redo_bench, index_bench."""
import os
import subprocess
import sys
import tempfile

REDO, INDEX = sys.argv[1:3]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def expect(holds, what, done):
    if not holds:
        sys.exit(f"{what}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")


def refused(folder, what, *command):
    done = run(*command)
    expect(done.returncode == 1 and what in done.stderr and "usage: " in done.stderr,
           f"{command}: expected {what!r}", done)
    expect(not os.listdir(folder), f"{command}: what is refused makes nothing", done)


def check_refusals(folder):
    path = os.path.join(folder, "made")
    for binary in (REDO, INDEX):
        refused(folder, "the first argument is an empty directory", binary)
        refused(folder, "the first argument is an empty directory", binary, "--help")
        refused(folder, "abc: ", binary, path, "abc")
        refused(folder, "5x: ", binary, path, "5x")
        refused(folder, "0: ", binary, path, "0")
    refused(folder, "0: records is a number from 1", REDO, path, "1", "1", "0")
    refused(folder, "101: percent of whole changes is", REDO, path, "1", "1", "100", "1", "101")
    refused(folder, "8: one argument too many", REDO, path, "1", "1", "100", "1", "0", "8")
    refused(folder, "7: memory MiB is a number from 8", INDEX, path, "100", "7")
    refused(folder, "letters: the column is", INDEX, path, "100", "8", "letters")
    refused(folder, "yes: unique is a number from 0 to 1", INDEX, path, "100", "8", "text", "yes")


def check_runs(folder):
    os.mkdir(os.path.join(folder, "log"))
    done = run(REDO, os.path.join(folder, "log"), "2", "1", "1000")
    expect(done.returncode == 0 and "0 of " in done.stdout, "a short log is replayed", done)
    done = run(INDEX, os.path.join(folder, "rows"), "2000", "16", "text", "1")
    expect(done.returncode == 0 and "text 2000 rows" in done.stdout, "an index is made", done)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        os.chdir(temporary)  # where a directory named as a flag would be made
        check_refusals(temporary)
        check_runs(temporary)
