"""Checks the tatp binary as people meet it: loads, runs, checks, uses what is there again."""
import csv
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from bench_command import expect, refused, run  # noqa: E402

TYPES = {"get_subscriber_data", "get_new_destination", "get_access_data", "update_subscriber_data",
         "update_location", "insert_call_forwarding", "delete_call_forwarding"}
MAY_ROLL_BACK = {"update_subscriber_data", "insert_call_forwarding", "delete_call_forwarding"}
SIZE = ("--subscribers=30000", "--memory_mib=64")


def check_refusals(path):
    refused("--subscribers=0", f"--path={path}", "--subscribers=0")
    refused("--keys=zipf: unknown; one of uniform, nonuniform", f"--path={path}", "--keys=zipf")
    refused("--keys has no effect with --seconds=0", f"--path={path}", "--seconds=0",
            "--keys=nonuniform")
    refused("--check: at isolation none", f"--path={path}", "--threads=2", "--check",
            "--isolation=none")
    done = run(f"--path={path}", "--warehouses=1")
    expect(done.returncode != 0 and "warehouses" in done.stderr, "that is TPC-C's flag", done)
    expect(not os.path.exists(path), "what is refused leaves nothing", done)


def check_first_run(path, folder):
    result_file, series_file = os.path.join(folder, "run.json"), os.path.join(folder, "run.csv")
    done = run(f"--path={path}", *SIZE, "--seconds=1.05", "--warmup=0.2", "--check",
               f"--json={result_file}", f"--series={series_file}")
    expect(done.returncode == 0, "a short run works", done)
    expect("the directory does not exist yet" in done.stderr and "loading [" in done.stderr, "it loads", done)
    expect("0 violations" in done.stdout and "TATP-like" in done.stdout, "it says what came of it",
           done)
    with open(result_file, encoding="utf-8") as file:
        result = json.load(file)
    rolled_back = {kind for kind, count in result["rollbacks_by_type"].items() if count}
    expect(result["check"]["violations"] == 0 and 310_000 < result["load"]["rows"] < 335_000
           and result["workload"] == "tatp" and result["label"] == "TATP-like, in process"
           and result["scale"] == 30_000 and result["scale_unit"] == "subscribers"
           and result["workload_options"] == {"keys": "uniform"} and "tpmc" not in result
           and sum(result["commits_by_type"].values()) == result["commits"] > 0
           and result["tps"] > 0 and set(result["latency_us"]) == TYPES
           and all(result["latency_us"][kind]["timed_operations"] > 0 for kind in TYPES)
           and rolled_back == MAY_ROLL_BACK
           and result["aborts_by_reason"]["by_input"] == sum(result["rollbacks_by_type"].values()),
           f"its result: {result}", done)
    with open(series_file, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    commits = sum(int(row["commits"]) for row in rows)
    expect(5 <= len(rows) <= 12 and commits == result["commits"]
           and "update_location_p99_us" in rows[0], f"its series: {rows[:1]}", done)


def check_reuse(path):
    done = run(f"--path={path}", *SIZE, "--seconds=0.5", "--warmup=0", "--threads=2", "--rate=2000",
               "--durability=sync", "--keys=nonuniform", "--json=-")
    expect(done.returncode == 0 and "loaded by an earlier run" in done.stderr, "it uses what is there",
           done)
    result = json.loads(done.stdout)
    expect(result["load"] is None and result["rate"] == 2000 and result["durability"] == "sync"
           and result["workload_options"] == {"keys": "nonuniform"}, "JSON alone on standard output",
           done)
    refused("not tatp with --subscribers=30001", f"--path={path}", "--subscribers=30001")
    refused("--seed=7", f"--path={path}", *SIZE, "--seed=7")
    done = run(f"--path={path}", *SIZE, "--seconds=0", "--check")
    expect(done.returncode == 0 and "0 violations" in done.stdout, "two threads left it consistent",
           done)
    done = run(f"--path={path}", *SIZE, "--seconds=0.3", "--check", "--keys=nonuniform")
    expect(done.returncode == 0 and "0 violations" in done.stdout, "as does a run after others", done)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        data = os.path.join(temporary, "data")
        check_refusals(data)
        check_first_run(data, temporary)
        check_reuse(data)
