#!/usr/bin/env python3
"""Loads a CSV file of TPC-H's lineitem with a program as its users run it: Palimpsest's loader, SQLite's
shell, PostgreSQL's COPY. Also how fast the parser is alone, and the device. One run per call, one JSON
object; README.md explains."""
import argparse
import json
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from loaders import ENGINES, missing  # noqa: E402
from loaders.children import Failed  # noqa: E402

MIB = 1 << 20
MEMORY_MIB_MIN = 64  # of Palimpsest's loader
SCHEMA_VERSION = 1


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", required=True, choices=ENGINES)
    parser.add_argument("--input", required=True, help="the file to load, made by lineitem_csv")
    parser.add_argument("--path", required=True, help="directory of the data; absent or empty")
    parser.add_argument("--memory_mib", type=int, default=256, help="memory the engine may use")
    parser.add_argument("--build", required=True, help="directory of the binaries of experiments/")
    parser.add_argument("--json", default="-", help="file for the result; -: standard output")
    arguments = parser.parse_args()
    if not MEMORY_MIB_MIN <= arguments.memory_mib <= 1 << 30:
        parser.error(f"--memory_mib: at least {MEMORY_MIB_MIN}")
    if not os.path.isfile(arguments.input):
        parser.error(f"--input={arguments.input}: the file does not exist")
    if os.path.isdir(arguments.path) and os.listdir(arguments.path):
        parser.error(f"--path={arguments.path}: a load needs an empty directory")
    return arguments


def result_of(arguments):
    os.makedirs(arguments.path, exist_ok=True)
    if reason := missing(arguments.engine, arguments.path):
        raise Failed(reason)
    input_file, path = (os.path.abspath(each) for each in (arguments.input, arguments.path))
    loaded = ENGINES[arguments.engine](input_file, path, arguments.memory_mib * MIB, arguments.build)
    input_bytes = os.path.getsize(input_file)
    return {"benchmark": "csv_load", "schema_version": SCHEMA_VERSION, "engine": arguments.engine,
            "memory_bytes": arguments.memory_mib * MIB, "input_bytes": input_bytes,
            "mb_per_s": input_bytes / 1e6 / loaded["seconds"], **loaded}


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    arguments = parse_arguments()
    try:
        text = json.dumps(result_of(arguments), indent=2) + "\n"
    except KeyboardInterrupt:
        sys.exit(130)
    except Failed as failed:
        print(f"load: {arguments.engine}: {failed}", file=sys.stderr)
        sys.exit(1)
    if arguments.json == "-":
        sys.stdout.write(text)
        return
    with open(arguments.json, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
