"""What the checks of the benchmarks' binaries as people meet them have in common. The binary under
test is the first argument."""
import json
import os
import subprocess
import sys
import tempfile


def run(*flags):
    return subprocess.run([sys.argv[1], *flags], capture_output=True, text=True, timeout=60)


def expect(holds, what, done):
    if not holds:
        sys.exit(f"{what}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")


def refused(what, *flags):
    done = run(*flags)
    expect(done.returncode == 2, f"{flags}: exit code 2 expected", done)
    expect(what in done.stderr, f"{flags}: expected a message with {what!r}", done)


def expect_result(holds, *flags):
    """A run with these flags works, and its JSON file is as holds(result) says."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "result.json")
        done = run(*flags, f"--json={file}")
        expect(done.returncode == 0, "a short run works", done)
        with open(file, encoding="utf-8") as opened:
            expect(holds(json.load(opened)), "its result", done)


def expect_json_alone(records, *flags):
    """With --json=- nothing else is on standard output."""
    done = run(*flags, "--json=-")
    expect(json.loads(done.stdout)["records"] == records, "JSON alone on standard output", done)
