"""Checks bulk_bench, range_bench and their comparison as people meet them: refusals, a small run of
each part, interruptions. The arguments: bulk_bench, range_bench, tpch_load, palimpsest, and
range_bench_peers if the binaries with peers are built."""
import contextlib
import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest.mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "experiments", "bulk"))
import compare  # noqa: E402
from common.comparisons import Failure  # noqa: E402
from comparison import files, plan  # noqa: E402

BULK, RANGE, LOAD, TOOL = sys.argv[1:5]
PEERS = sys.argv[5] if len(sys.argv) > 5 else None
ERASERS = plan.PEERS if PEERS else ()
TINY = dataclasses.replace(plan.SCALES["quick"], scale_factor=0.01, records=2000, seconds=0.1,
                           warmup=0, range_records=40_000,
                           files=files.FilesScale(1, 0.01, 64, 0.01, 64, (files.PALIMPSEST,)))
WITHOUT_PEERS = [engine for engine in plan.ENGINES if engine not in plan.PEERS]
ALL_LOADS = plan.load_variants


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def expect(holds, what, done):
    if not holds:
        sys.exit(f"{what}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")


def refused(what, *command):
    done = run(*command)
    expect(done.returncode == 2 and what in done.stderr, f"{command}: expected {what!r}", done)


def check_refusals(folder):
    path, full = f"--path={os.path.join(folder, 'refused')}", f"--path={folder}"
    with open(os.path.join(folder, "something"), "w", encoding="ascii"):
        pass
    refused("--path: name the directory", BULK)
    refused("needs an empty directory", BULK, full)
    refused("--read=index: unknown; one of scan, get", BULK, path, "--read=index")
    refused("--update=rows: unknown; one of none, transactions, bulk", BULK, path, "--update=rows")
    refused("--once has no effect without an update", BULK, path, "--once")
    refused("--records=0: must be from 1", BULK, path, "--records=0")
    refused("--readers=-1: must be from 0", BULK, path, "--readers=-1")
    refused("--seconds=0: must be more than 0", BULK, path, "--seconds=0")
    refused("only flags", BULK, path, "bulk")
    refused("--path: name the directory", RANGE)
    refused("ingesting needs an empty directory", RANGE, full)
    refused("there are no rows to erase", RANGE, path, "--operation=erase")
    refused("--operation=drop: unknown; one of ingest, erase", RANGE, path, "--operation=drop")
    refused("--engine=rocksdb: this binary knows palimpsest_bulk", RANGE, path, "--engine=rocksdb")
    refused("--records=1: must be from 2", RANGE, path, "--records=1")
    refused("--memory_mib=1: must be from 8", RANGE, path, "--memory_mib=1")
    for binary in (BULK, RANGE, LOAD):
        refused("lies in the directory of the data", binary, path, f"--json={folder}/refused/result.json")


def check_erased_twice(folder):
    flags = (RANGE, f"--path={folder}/twice", "--records=3000", "--memory_mib=32")
    done = run(*flags, "--json=-")
    expect(done.returncode == 0 and json.loads(done.stdout)["rows"] == 3000, "JSON alone", done)
    for binary, path in ((RANGE, f"{folder}/twice"), *((PEERS, f"{folder}/{name}") for name in ERASERS)):
        engine = [] if binary == RANGE else [f"--engine={os.path.basename(path)}"]
        if engine:
            done = run(binary, f"--path={path}", *flags[2:], *engine)
            expect(done.returncode == 0, "rows come in", done)
        for records in (2000, 4000):
            refused("3000 have been ingested; nothing was erased", binary, f"--path={path}", *engine,
                    f"--records={records}", "--operation=erase")
    expect(run(*flags, "--operation=erase").returncode == 0, "rows are erased", done)
    done = run(*flags, "--operation=erase")
    expect(done.returncode == 1 and "the rows to erase are missing" in done.stderr, "but not twice", done)
    done = run(TOOL, "check", f"{folder}/twice")
    expect(done.returncode == 0, "the database is sound", done)


def arguments(folder, parts):
    return types.SimpleNamespace(scale="quick", scale_factor=None, csv_factor=None, parts=parts,
                                 minutes=None, engines=plan.ENGINES if PEERS else WITHOUT_PEERS,
                                 build=os.path.dirname(BULK), data=os.path.join(folder, "data"),
                                 results=os.path.join(folder, "results"))


def expect_beside(results):
    for (_, name), (got,) in results.items():
        phase, = got["phases"]
        if not (phase["reads_per_s"] > 0 and phase["read_latency_us"]["p50"] > 0 and
                (phase["updated_rows_per_s"] > 0) == (name != plan.NOTHING) and got["cpu"] and
                got["records"] == TINY.records and got["resident_bytes_max"] > 0):
            sys.exit(f"a result of bulk_bench: {got}")


def expect_window(results):
    for got, in results.values():
        before, during, after = got["phases"]
        if not ([phase["updates"] for phase in got["phases"]] == [0, 1, 0] and
                during["updated_rows_per_s"] > 0 and before["other_writes_per_s"] > 0 and
                after["reads_per_s"] > 0):
            sys.exit(f"a result of bulk_bench --once: {got}")


def expect_ranges(ingested, erased):
    for (_, name), (got,) in ingested.items():
        half, = erased["range", name]
        if not (got["engine"] == name and got["rows"] == TINY.range_records and got["data_bytes"] > 0 and
                got["rows_per_s"] > 0 and got["resident_bytes_max"] > 0 and got["disk_bytes"] > 0 and
                half["rows"] == TINY.range_records / 2 and half["data_bytes_before"] > 0 and
                half["reclaim_seconds"] >= 0):
            sys.exit(f"results of range_bench: {got} {half}")
        # Rows' own bytes: more than was free before. Of transactions it takes a MiB that is erased.
        erased_bytes = half["rows"] * half["row_bytes"]
        if name in plan.OURS and not half["reusable_bytes_reclaimed"] > erased_bytes:
            sys.exit(f"pages of erased rows are free: {half}")


def expect_files(results, contents):
    if set(contents) != set(files.INPUTS) or len({each["rows"] for each in contents.values()}) != 1:
        sys.exit(f"the same lines in three orders: {contents}")
    for (row, name), (got,) in results.items():
        if not (got["engine"] == name and got["seconds"] > 0 and
                got["settled_seconds"] >= got["seconds"] and got["mb_per_s"] > 0 and
                (name == files.DEVICE or got["rows"] == contents[row]["rows"]) and
                (name == files.DEVICE or got["resident_bytes_max"] > 1 << 20) and
                (name == files.PARSER or got["data_bytes"] > 1 << 20)):
            sys.exit(f"a result of the part files: {row}, {name}: {got}")
    if results.keys() < {(row, files.PALIMPSEST) for row in files.INPUTS}:
        sys.exit(f"every file is loaded: {results.keys()}")


def check_comparison(folder):
    """Every part once, of few rows."""
    comparison = compare.Comparison(arguments(folder, plan.PARTS))
    comparison.scale = TINY
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), \
            unittest.mock.patch.object(plan, "load_variants", few_loads):
        comparison.check()
        comparison.run()
        comparison.finish()
    text = printed.getvalue()
    if any(f"## {title}" not in text for title in plan.TITLES.values()) or "failed" in text:
        sys.exit(f"every part is in the report:\n{text}")
    found = comparison.results.found
    expect_beside(found["beside"])
    expect_window(found["window"])
    expect_ranges(found["ingest"], found["erase"])
    expect_files(found["files"], comparison.contents)
    if os.listdir(os.path.join(folder, "data")):
        sys.exit("a comparison leaves no data")
    for built in (LOAD, TOOL):
        if os.path.realpath(comparison.binary(os.path.basename(built))) != os.path.realpath(built):
            sys.exit(f"{built} is not where the comparison looks for it")


def few_loads(scale):
    """tpch_load has checks of its own."""
    return [variant for variant in ALL_LOADS(scale)
            if variant.row == "1 thread" and variant.name in (plan.OFF, plan.BULK)]


def check_space(folder):
    for part, scale, said in (
            ("range", dataclasses.replace(TINY, range_records=10**13), "GiB of disk"),
            ("files", dataclasses.replace(TINY, files=dataclasses.replace(TINY.files, factor=1e6)),
             "GiB of disk"),
            ("load", dataclasses.replace(TINY, scale_factor=1e6), "GiB of memory")):
        comparison = compare.Comparison(arguments(folder, [part]))
        comparison.scale = scale
        try:
            comparison.check()
        except Failure as failure:
            if said in str(failure):
                continue
        sys.exit(f"{said}: too little of it is noticed before anything is run")


def check_interruption(folder):
    data = os.path.join(folder, "interrupted")
    command = [sys.executable, "-B", compare.__file__, "--quick", "--parts", "beside",
               f"--build={os.path.dirname(BULK)}", f"--data={data}", f"--results={folder}/results"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (os.path.isdir(data) and os.listdir(data)):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[0]
    if process.returncode != 143 or os.listdir(data):
        sys.exit(f"an interruption leaves no data: {process.returncode} {said}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        os.chmod(temporary, 0o755)  # a server of another user gets there
        check_refusals(temporary)
        check_erased_twice(temporary)
        check_comparison(temporary)
        check_space(temporary)
        check_interruption(temporary)
