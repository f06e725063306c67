"""Checks the tpcc binary as people meet it: loads a warehouse, runs, checks, uses it again."""
import csv
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from bench_command import expect, refused, run  # noqa: E402


def check_refusals(path):
    refused("--threads=0", f"--path={path}", "--threads=0")
    refused("--engine=oracle", f"--path={path}", "--engine=oracle")
    refused("--isolation=fuzzy: unknown; one of none, read_committed, snapshot, serializable",
            f"--path={path}", "--isolation=fuzzy")
    refused("--check: at isolation none", f"--path={path}", "--threads=2", "--check",
            "--isolation=none")
    refused("--rate has no effect", f"--path={path}", "--seconds=0", "--rate=5")
    refused("--path: name the directory")
    expect(not os.path.exists(path), "what is refused leaves nothing", run("--path="))


def check_first_run(path, folder):
    result_file, series_file = os.path.join(folder, "run.json"), os.path.join(folder, "run.csv")
    done = run(f"--path={path}", "--warehouses=1", "--memory_mib=64", "--seconds=1.05", "--warmup=0.2",
               "--check", f"--json={result_file}", f"--series={series_file}")
    expect(done.returncode == 0, "a short run works", done)
    expect("the directory does not exist yet" in done.stderr and "loading [" in done.stderr, "it loads", done)
    expect("0 violations" in done.stdout and "tpmC" in done.stdout, "it says what came of it", done)
    with open(result_file, encoding="utf-8") as file:
        result = json.load(file)
    expect(result["check"]["violations"] == 0 and result["load"]["rows"] > 600_000
           and result["scale"] == 1 and result["isolation"] == "snapshot"
           and result["tpmc"] > 0 and result["page_reads"] is not None
           and result["version_bytes_max"] > 0 and result["rss_bytes_max"] > 0
           and sum(result["commits_by_type"].values()) == result["commits"] > 0
           and set(result["latency_us"]) == {"new_order", "payment", "order_status", "delivery",
                                             "stock_level"},
           f"its result: {result}", done)
    with open(series_file, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    commits = sum(int(row["commits"]) for row in rows)
    expect(5 <= len(rows) <= 12 and commits == result["commits"]
           and all(int(row["version_bytes"]) >= 0 for row in rows), f"its series: {rows[:1]}", done)


def check_reuse(path):
    done = run(f"--path={path}", "--warehouses=1", "--memory_mib=64", "--seconds=0.5", "--warmup=0",
               "--threads=2", "--rate=200", "--durability=sync", "--json=-")
    expect(done.returncode == 0 and "loaded by an earlier run" in done.stderr, "it uses what is there",
           done)
    result = json.loads(done.stdout)
    expect(result["load"] is None and result["rate"] == 200 and result["durability"] == "sync"
           and result["asynchronous_interval_ms"] is None, "JSON alone on standard output", done)
    expect(result["long_reader"] is None, "no reader unless asked for", done)
    done = run(f"--path={path}", "--warehouses=1", "--memory_mib=64", "--seconds=1", "--warmup=0",
               "--long_reader", "--json=-")
    reader = json.loads(done.stdout)["long_reader"] if done.returncode == 0 else None
    expect(reader is not None and reader["looks"] > 10 and reader["restarts"] < reader["looks"],
           "a reader stays, as long as versions may take the memory, and sees what it saw", done)
    done = run(f"--path={path}", "--warehouses=1", "--memory_mib=64", "--seconds=1.2", "--warmup=0.1",
               "--long_reader", "--reader_turns=0.2", "--json=-")
    share = json.loads(done.stdout)["long_reader"]["share"] if done.returncode == 0 else None
    expect(share is not None and share["turns"] >= 1 and share["least"] <= share["median"] <= share["most"]
           and "beside a reader" in done.stderr, "a reader comes and goes, and what it leaves is told", done)
    refused("--long_reader: at isolation none", f"--path={path}", "--warehouses=1",
            "--long_reader", "--isolation=none")
    refused("not tpcc with --warehouses=2", f"--path={path}", "--warehouses=2")
    refused("--seed=7", f"--path={path}", "--warehouses=1", "--seed=7")
    done = run(f"--path={path}", "--warehouses=1", "--seconds=0", "--check")
    expect(done.returncode == 0 and "0 violations" in done.stdout, "two threads left it consistent",
           done)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        data = os.path.join(temporary, "data")
        check_refusals(data)
        check_first_run(data, temporary)
        check_reuse(data)
