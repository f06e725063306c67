#!/usr/bin/env python3
"""Compares commits of Palimpsest, RocksDB, WiredTiger, LMDB, SQLite: `make bench-log`.

Runs everything interleaved and in rounds, prints the tables, and removes the data. Results stay in one
directory per comparison, one JSON file a run. docs/benchmarks/method.md explains.
"""
import argparse
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from comparison import plan, plot, table  # noqa: E402
from common import comparison as base, comparisons  # noqa: E402
from common.comparisons import say  # noqa: E402
from common.databases import check_free  # noqa: E402

TIMEOUT_BEYOND_SECONDS = 60  # a run that takes this much longer than planned hangs


class Comparison(base.Comparison):
    def __init__(self, arguments):
        super().__init__(arguments, f"log-{arguments.scale}", "log-bench")
        self.scale = plan.SCALES[arguments.scale]
        self.engines = [engine for engine in plan.ENGINES if engine in arguments.engines]
        self.results = table.Results()

    def check(self):
        """Prints the plan; leaves out the runs that are impossible here."""
        self.require_binaries(self.bench_of("log_bench", engine) for engine in self.engines)
        check_free(self.arguments.data, plan.DISK_BYTES, "the comparison")
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
        self.results.add(run, result)
        outcome = self.keep_result(
            run, result, lambda found: f"{table.number(found['commits_per_s'])} commits/s")
        say(f"{run.label}: {outcome} ({time.monotonic() - begin:.1f} s)")

    def result_of(self, run):
        shutil.rmtree(self.data, ignore_errors=True)
        json_file = self.result_file("last-run.json")
        command = [self.binary(self.bench_of("log_bench", run.config.engine)),
                   f"--engine={run.config.engine}", f"--path={self.data}", *run.flags(self.scale),
                   f"--json={json_file}"]
        timeout = run.seconds + run.warmup + TIMEOUT_BEYOND_SECONDS
        return self.result_of_process(command, timeout, run.file_stem, json_file)

    def finish(self):
        """The tables, of what there is."""
        if not self.results.rows and not self.results.series:
            return
        self.publish(table.report(self.results))
        if self.results.series and plot.available():
            plot.series(self.results.series, self.result_file("series.png"))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--quick", dest="scale", action="store_const", const="quick",
                        default="normal", help="about 3 minutes: shows that everything works")
    parser.add_argument("--engines", nargs="+", choices=plan.ENGINES, default=plan.ENGINES)
    comparisons.add_places(parser, "data")
    return parser.parse_args()


if __name__ == "__main__":
    comparisons.run(Comparison(parse_arguments()))
