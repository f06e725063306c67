"""Checks tpch_gen and tpch_load as people meet them: files that `palimpsest load` takes, refusals,
interruptions. The arguments: tpch_gen, tpch_load, palimpsest."""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

GEN, LOAD, TOOL = sys.argv[1:4]
ROWS = {"region": 5, "nation": 25, "supplier": 100, "customer": 1500, "part": 2000, "partsupp": 8000,
        "orders": 15000, "lineitem": 59915}
SMALL = "--scale_factor=0.01"


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)


def expect(holds, what, done):
    if not holds:
        sys.exit(f"{what}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")


def refused(what, *command):
    done = run(*command)
    expect(done.returncode == 2 and what in done.stderr, f"{command}: expected {what!r}", done)


def check_files_are_loaded(folder):
    files, database = os.path.join(folder, "tbl"), os.path.join(folder, "db")
    done = run(GEN, f"--path={files}", SMALL, "--threads=2")
    expect(done.returncode == 0 and "generating [" in done.stderr, "files are made", done)
    expect(sorted(os.listdir(files)) == sorted(f"{table}.tbl" for table in ROWS), "eight files", done)
    for table, rows in ROWS.items():
        schema = run(GEN, f"--print_schema={table}").stdout
        file = os.path.join(files, f"{table}.tbl")
        done = run(TOOL, "load", database, table, file, "--schema", schema, "--progress", "none",
                   "--summary", "json")
        expect(done.returncode == 0, f"{table} is loaded", done)
        expect(json.loads(done.stdout)["rows_added"] == rows, f"{rows} rows of {table}", done)
    with open(os.path.join(files, "orders.tbl"), encoding="ascii") as file:
        first = file.readline().split("|")
    done = run(TOOL, "dump", database, "orders", "--header=off")
    expect(done.stdout.split("\n")[0].split(",")[:5] == first[:5], f"its first row: {first}", done)
    done = run(TOOL, "check", database)
    expect(done.returncode == 0, "the database is sound", done)


def check_refusals(folder):
    path = f"--path={os.path.join(folder, 'refused')}"
    refused("--path: name the directory", GEN)
    refused("--scale_factor=0: must be from", GEN, path, "--scale_factor=0")
    refused("the same one twice", GEN, path, "--scale_factor=0.0102")
    refused("--threads=-1: must be from 0", GEN, path, SMALL, "--threads=-1")
    refused("--tables=item: unknown; one of region", GEN, path, SMALL, "--tables=orders,item")
    refused("--tables=: unknown; one of region", GEN, path, SMALL, "--tables=")
    refused("--tables=: unknown; one of region", GEN, path, SMALL, "--tables=orders,")
    refused("orders is named twice", GEN, path, SMALL, "--tables=orders,orders")
    refused("--print_schema=item: unknown", GEN, "--print_schema=item")
    refused("--seed has no effect with --print_schema", GEN, "--print_schema=part", "--seed=2")
    if shutil.disk_usage(folder).free < 10**13:
        refused("MB are needed", GEN, path, "--scale_factor=10000")
    refused("--path: name the directory", LOAD)
    refused("--mode=serial: unknown; one of none, snapshot, bulk", LOAD, path, "--mode=serial")
    refused("--single_transaction has no effect with --mode=bulk", LOAD, path, "--single_transaction")
    refused("--memory_mib=1: must be from 8", LOAD, path, "--memory_mib=1")
    done = run(GEN, path, SMALL, "--tables=orders", "--seed=3")
    expect(done.returncode == 0 and os.listdir(path[7:]) == ["orders.tbl"], "one table", done)
    refused("orders.tbl exists already", GEN, path, SMALL)
    refused("needs an empty directory", LOAD, path)


def check_nothing_is_left(folder):
    path = os.path.join(folder, "left")
    with subprocess.Popen([GEN, f"--path={path}", "--threads=1"], stderr=subprocess.PIPE,
                          text=True) as process:
        while process.poll() is None and not os.path.exists(os.path.join(path, "lineitem.tbl.partial")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    if process.returncode != 130 or "tpch_gen: interrupted" not in said or os.path.exists(path):
        sys.exit(f"an interruption leaves nothing: {process.returncode} {said}")

    def few_bytes():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))

    done = run(GEN, f"--path={path}", SMALL, "--threads=2", preexec_fn=few_bytes)
    expect(done.returncode == 1 and "cannot write" in done.stderr and "lineitem.tbl" in done.stderr
           and not os.path.exists(path), "a full disk leaves nothing", done)


def check_loads(folder):
    for number, flags in enumerate((["--mode=none"], ["--mode=snapshot", "--threads=1"], ["--mode=bulk"],
                                    ["--mode=none", "--single_transaction"])):
        path, result = os.path.join(folder, f"load{number}"), os.path.join(folder, f"{number}.json")
        done = run(LOAD, f"--path={path}", SMALL, "--memory_mib=64", *flags, f"--json={result}")
        expect(done.returncode == 0 and "loading [" in done.stderr, f"{flags}: it loads", done)
        with open(result, encoding="utf-8") as file:
            got = json.load(file)
        expect(got["rows"] == sum(ROWS.values()) and got["error"] is None and got["data_bytes"] > 0
               and got["mode"] == flags[0][7:] and got["rows_per_s"] > 0 and got["cpu"]
               and got["single_transaction"] == (len(flags) + number > 2 and number != 1),
               f"its result: {got}", done)
        for table, rows in ROWS.items():
            done = run(TOOL, "dump", path, table, "--header=off")
            expect(done.stdout.count("\n") == rows, f"{flags}: {rows} rows of {table}", done)
    path = os.path.join(folder, "failed")
    done = run(LOAD, f"--path={path}", "--scale_factor=0.05", "--memory_mib=32", "--mode=snapshot",
               "--single_transaction", "--json=-")
    expect(done.returncode == 1 and "tpch_load: version_budget_exceeded" in done.stderr
           and "version_budget_exceeded" in json.loads(done.stdout)["error"], "a failure is told", done)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        check_refusals(temporary)
        check_files_are_loaded(temporary)
        check_nothing_is_left(temporary)
        check_loads(temporary)
