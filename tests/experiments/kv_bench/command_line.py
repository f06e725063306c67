"""Checks the kv_bench binary as people meet it: exit codes, messages, the JSON file."""
import fcntl
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from bench_command import expect_json_alone, expect_result, refused  # noqa: E402


def check_path():
    with tempfile.TemporaryDirectory() as path:
        flags = ("--engine=palimpsest", f"--path={path}", "--memory_mib=16", "--records=1000",
                 "--seconds=0.1", "--warmup=0")
        refused("lies in the directory of the data", *flags, f"--json={path}/data/result.json")
        descriptor = os.open(path, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        refused("in use by another process", *flags)
        os.close(descriptor)
        expect_result(lambda result: result["ops"] > 0, *flags)


if __name__ == "__main__":
    refused("--threads=0", "--engine=memory", "--threads=0")
    refused("--threads=-3", "--engine=memory", "--threads=-3")
    refused("--mode=erase", "--engine=memory", "--mode=erase")
    refused("--engine=oracle", "--engine=oracle")
    refused("--theta has no effect", "--engine=memory", "--theta=0.5")
    refused("only flags", "--engine=memory", "lookup")
    refused("--seed has no effect", "--engine=memory", "--mode=load", "--seed=5")
    check_path()
    expect_result(lambda result: result["ops"] > 0 and result["threads"] == 2 and result["series"],
                  "--engine=memory", "--records=1000", "--seconds=0.2", "--warmup=0",
                  "--mode=mixed", "--threads=2", "--sample_ms=50")
    expect_json_alone(10, "--engine=memory", "--records=10", "--seconds=0.1", "--warmup=0")
