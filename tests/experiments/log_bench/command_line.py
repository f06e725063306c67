"""Checks the log_bench binary as people meet it: exit codes, messages, the JSON file."""
import json
import os
import subprocess
import sys
import tempfile

BINARY = sys.argv[1]


def run(*flags):
    return subprocess.run([BINARY, *flags], capture_output=True, text=True, timeout=60)


def expect(holds, what, done):
    if not holds:
        sys.exit(f"{what}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")


def refused(what, *flags):
    done = run(*flags)
    expect(done.returncode == 2, f"{flags}: exit code 2 expected", done)
    expect(what in done.stderr, f"{flags}: expected a message with {what!r}", done)


def main():
    refused("--threads=0", "--engine=memory", "--threads=0")
    refused("--engine=oracle", "--engine=oracle")
    refused("--durability means nothing", "--engine=memory", "--durability=async")
    refused("only flags", "--engine=memory", "sync")
    short = ("--engine=memory", "--records=1000", "--seconds=0.2", "--warmup=0", "--threads=2",
             "--sample_ms=50")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "result.json")
        done = run(*short, f"--json={file}")
        expect(done.returncode == 0, "a short run works", done)
        with open(file, encoding="utf-8") as opened:
            result = json.load(opened)
        expect(result["commits"] > 0 and len(result["series"]) == 4, "its result", done)
    done = run(*short, "--json=-")
    expect(json.loads(done.stdout)["records"] == 1000, "JSON alone on standard output", done)


if __name__ == "__main__":
    main()
