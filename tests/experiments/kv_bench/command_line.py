"""Checks the kv_bench binary as people meet it: exit codes, messages, the JSON file."""
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
    refused("--threads=-3", "--engine=memory", "--threads=-3")
    refused("--mode=erase", "--engine=memory", "--mode=erase")
    refused("--engine=oracle", "--engine=oracle")
    refused("--theta means nothing", "--engine=memory", "--theta=0.5")
    refused("only flags", "--engine=memory", "lookup")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "result.json")
        done = run("--engine=memory", "--records=1000", "--seconds=0.2", "--warmup=0",
                   "--mode=mixed", "--threads=2", f"--json={file}", "--sample_ms=50")
        expect(done.returncode == 0, "a short run works", done)
        with open(file, encoding="utf-8") as opened:
            result = json.load(opened)
        expect(result["ops"] > 0 and result["threads"] == 2 and result["series"], "its result", done)
    done = run("--engine=memory", "--records=10", "--seconds=0.1", "--warmup=0", "--json=-")
    expect(json.loads(done.stdout)["records"] == 10, "JSON alone on standard output", done)


if __name__ == "__main__":
    main()
