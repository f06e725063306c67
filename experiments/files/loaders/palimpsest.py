"""Palimpsest: `palimpsest load` into a new database, as its users run it.

Measured until the process has ended: rows are durable then, all pages written in place, the database closed. It
reports the rows that it has added; its tests and `palimpsest check` verify that they are right."""
import json
import os
import subprocess

from loaders.children import Failed, run_measured


def binary(build):
    return os.path.join(build, os.pardir, "tools", "palimpsest", "palimpsest")


def schema(build):
    done = subprocess.run([os.path.join(build, "tpch_gen"), "--print_schema=lineitem"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"tpch_gen: {done.stderr.strip()}")
    return done.stdout.strip()


def command(input_file, database, memory_bytes, build):
    return [binary(build), "load", database, "lineitem", input_file, "--schema", schema(build),
            "--memory", str(memory_bytes), "--quiet", "--summary", "json"]


def load(input_file, path, memory_bytes, build):
    database = os.path.join(path, "database")
    said, seconds, resident_bytes = run_measured(command(input_file, database, memory_bytes, build))
    loaded = json.loads(said)
    return {"description": "palimpsest load: one bulk, sorted by the loader if it must be",
            "content": {"rows": loaded["rows_added"]}, "rows": loaded["rows_added"],
            "stages": loaded["stages"], "seconds": seconds, "settled_seconds": seconds,
            "resident_bytes_max": resident_bytes,
            "data_bytes": os.path.getsize(os.path.join(database, "pages"))}


def dump(input_file, path, memory_bytes, build):
    """The other way: what was loaded becomes a file again, which is synced."""
    database, output = os.path.join(path, "database"), os.path.join(path, "again.csv")
    said, _, _ = run_measured(command(input_file, database, memory_bytes, build))
    _, seconds, resident_bytes = run_measured(
        [binary(build), "dump", database, "lineitem", "--header=off", "--output", output,
         "--memory", str(memory_bytes)])
    rows = json.loads(said)["rows_added"]
    return {"description": "palimpsest dump --output", "content": {"rows": rows}, "rows": rows,
            "seconds": seconds, "settled_seconds": seconds, "resident_bytes_max": resident_bytes,
            "data_bytes": os.path.getsize(output)}
