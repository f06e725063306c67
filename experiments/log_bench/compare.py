#!/usr/bin/env python3
"""Compares commits of Palimpsest, RocksDB, WiredTiger, LMDB, SQLite: `make bench-log`.

Runs everything interleaved and in rounds, prints the tables, and removes the data. Results stay in one
directory per comparison, one JSON file a run. docs/benchmarks/method.md explains.
"""
import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from comparison import plan, plot, table  # noqa: E402
from common import comparisons  # noqa: E402
from common.comparisons import Failure, say  # noqa: E402
from common.processes import reason_of, run_process  # noqa: E402

TIMEOUT_BEYOND_SECONDS = 60  # a run that takes this much longer than planned hangs


class Comparison:
    def __init__(self, arguments):
        self.arguments = arguments
        self.scale = plan.SCALES[arguments.scale]
        self.engines = [engine for engine in plan.ENGINES if engine in arguments.engines]
        stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
        self.results_directory = os.path.join(arguments.results, f"{stamp}-log-{arguments.scale}")
        self.data = os.path.join(arguments.data, f"log-bench-{os.getpid()}")
        self.results = table.Results()
        self.failed = []  # runs, and why

    def check(self):
        """Prints the plan; leaves out the runs that are impossible here."""
        for engine in list(self.engines):
            if not os.access(self.binary(engine), os.X_OK):
                raise Failure(f"{self.binary(engine)} is not there; build it with "
                              "PALIMPSEST_BENCH_PEERS=ON")
        os.makedirs(self.arguments.data, exist_ok=True)
        free = shutil.disk_usage(self.arguments.data).free
        if free < plan.DISK_BYTES:
            raise Failure(f"{self.arguments.data} has {free / 2**30:.1f} GiB free, "
                          f"{plan.DISK_BYTES / 2**30:.0f} are needed")
        say(f"about {plan.seconds_of(self.scale, self.engines) / 60:.0f} minutes")

    def run(self):
        os.makedirs(self.results_directory)
        say(f"results in {self.results_directory}")
        try:
            for run in plan.runs_of(self.scale, self.engines):
                self.measure(run)
        finally:
            shutil.rmtree(self.data, ignore_errors=True)

    def measure(self, run):
        begin = time.monotonic()
        result = self.result_of(run)
        with open(self.result_file(run.file_stem + ".json"), "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2)
        self.results.add(run, result)
        if "failed" in result:
            self.failed.append(f"{run.label}: {result['failed']}")
        outcome = result.get("failed") or f"{table.number(result['commits_per_s'])} commits/s"
        say(f"{run.label}: {outcome} ({time.monotonic() - begin:.1f} s)")

    def result_of(self, run):
        shutil.rmtree(self.data, ignore_errors=True)
        json_file = self.result_file("last-run.json")
        command = [self.binary(run.config.engine), f"--engine={run.config.engine}",
                   f"--path={self.data}", *run.flags(self.scale), f"--json={json_file}"]
        timeout = run.seconds + run.warmup + TIMEOUT_BEYOND_SECONDS
        with open(self.result_file(run.file_stem + ".log"), "a", encoding="utf-8") as errors:
            try:
                run_process(command, timeout, errors=errors)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                return {"failed": reason_of(error), "command": command}
        with open(json_file, encoding="utf-8") as file:
            result = json.load(file)
        os.remove(json_file)
        return result

    def binary(self, engine):
        name = "log_bench" if engine == "palimpsest" else "log_bench_peers"
        return os.path.join(self.arguments.build, name)

    def result_file(self, name):
        return os.path.join(self.results_directory, name)

    def finish(self):
        """The tables, of what there is."""
        if not self.results.rows and not self.results.series:
            return
        text = table.report(self.results)
        with open(self.result_file("report.md"), "w", encoding="utf-8") as file:
            file.write(text)
        print("\n" + text, flush=True)
        if self.results.series and plot.available():
            plot.series(self.results.series, self.result_file("series.png"))
        say(f"report and results: {self.results_directory}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--quick", dest="scale", action="store_const", const="quick",
                        default="normal", help="about 3 minutes: shows that everything works")
    parser.add_argument("--engines", nargs="+", choices=plan.ENGINES, default=plan.ENGINES)
    comparisons.add_places(parser, "data")
    return parser.parse_args()


if __name__ == "__main__":
    comparisons.run(Comparison(parse_arguments()))
