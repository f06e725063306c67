"""Checks the log_bench binary as people meet it: exit codes, messages, the JSON file."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from bench_command import expect_json_alone, expect_result, refused  # noqa: E402

SHORT = ("--engine=memory", "--records=1000", "--seconds=0.2", "--warmup=0", "--threads=2",
         "--sample_ms=50")

if __name__ == "__main__":
    refused("--threads=0", "--engine=memory", "--threads=0")
    refused("--engine=oracle", "--engine=oracle")
    refused("--durability has no effect", "--engine=memory", "--durability=async")
    refused("only flags", "--engine=memory", "sync")
    refused("--checkpoint_ms has no effect", "--engine=palimpsest", "--path=commits",
            "--checkpoint_ms=100")
    refused("lies in the directory of the data", "--engine=palimpsest", "--path=commits",
            "--json=commits/result.json")
    expect_result(lambda result: result["commits"] > 0 and len(result["series"]) == 4, *SHORT)
    expect_json_alone(1000, *SHORT)
