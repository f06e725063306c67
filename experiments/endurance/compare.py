#!/usr/bin/env python3
"""Runs the endurance workloads on all engines and prints one table: `make bench-endurance`.

Each run has a directory of its own, which is removed afterwards. Results stay as JSON files.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from common import comparison as base, comparisons, tables  # noqa: E402
from common.comparisons import say  # noqa: E402
from common.databases import check_free  # noqa: E402
from common.processes import reason_of, run_process  # noqa: E402

ENGINES = ("palimpsest", "lmdb", "rocksdb", "sqlite")
# workload: records, operations of a whole run, operations of a quick one
WORKLOADS = {
    "queue": (1_000, 1_000_000, 50_000),
    "reader": (10_000, 3_000_000, 200_000),
    "refresh": (100, 100_000, 3_000),
}
DISK_BYTES = 8 << 30
TIMEOUT_SECONDS = 600  # a longer run is reported as such


class Comparison(base.Comparison):
    def __init__(self, arguments):
        super().__init__(arguments, "endurance", "endurance")
        self.results = []

    def check(self):
        self.require_binaries(self.bench_of("endurance", engine)
                              for engine in self.arguments.engines)
        check_free(self.arguments.data, DISK_BYTES, "the comparison")

    def run(self):
        os.makedirs(self.results_directory)
        say(f"results in {self.results_directory}")
        for workload in self.arguments.workloads:
            for engine in self.arguments.engines:
                self.measure(workload, engine)

    def measure(self, workload, engine):
        records, whole, quick = WORKLOADS[workload]
        operations = quick if self.arguments.quick else whole
        json_file = os.path.join(self.results_directory, f"{workload}-{engine}.json")
        shutil.rmtree(self.data, ignore_errors=True)
        try:
            run_process([self.binary(self.bench_of("endurance", engine)), f"--engine={engine}", f"--path={self.data}",
                         f"--workload={workload}", f"--records={records}",
                         f"--operations={operations}",
                         f"--memory_mib={self.arguments.memory_mib}", f"--json={json_file}"],
                        TIMEOUT_SECONDS)
            with open(json_file, encoding="utf-8") as file:
                self.results.append(json.load(file))
            say(f"{workload}, {engine}: {self.results[-1]['failure'] or 'done'}")
        except subprocess.TimeoutExpired as error:
            self.results.append({"workload": workload, "engine": engine, "parts": [],
                                 "failure": reason_of(error)})
            say(f"{workload}, {engine}: {reason_of(error)}")
        except subprocess.CalledProcessError as error:
            self.failed.append(f"{workload}, {engine}: {reason_of(error)}")
            say(self.failed[-1])
        finally:
            shutil.rmtree(self.data, ignore_errors=True)

    def finish(self):
        shutil.rmtree(self.data, ignore_errors=True)
        if self.results:
            print(table_of(self.results))


def table_of(results):
    header = ["workload", "engine", "first tenth/s", "last tenth/s", "last/first", "resident MB",
              "disk MB", "closed MB", "ended"]
    return tables.markdown(header, [line_of(result) for result in results])


def line_of(result):
    begin = [result["workload"], result["engine"]]
    ended = result["failure"] or "as it should"
    if not result["parts"]:
        return begin + ["–"] * 6 + [ended]
    first, last = result["parts"][0], result["parts"][-1]
    return begin + [tables.number(first["operations_per_s"]),
                    tables.number(last["operations_per_s"]),
                    tables.ratio(last["operations_per_s"], first["operations_per_s"]),
                    tables.number(last["resident_bytes"] / 1e6),
                    tables.number(last["disk_bytes"] / 1e6),
                    tables.number(result["disk_bytes_closed"] / 1e6), ended]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    comparisons.add_places(parser, "endurance-data")
    parser.add_argument("--quick", action="store_true", help="a minute or two in all")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--workloads", nargs="+", choices=tuple(WORKLOADS),
                        default=tuple(WORKLOADS))
    parser.add_argument("--memory_mib", type=int, default=64)
    comparisons.run(Comparison(parser.parse_args()))


if __name__ == "__main__":
    main()
