#!/usr/bin/env python3
"""Compares Palimpsest with LMDB, RocksDB and WiredTiger: `make bench-kv`; docs/benchmarks/method.md explains.

Loads each engine once per scenario, runs the workloads interleaved and repeated, prints one table
per scenario, and removes the data. Results stay in one directory per comparison, one JSON file a run.
"""
import argparse
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from comparison import plan, table  # noqa: E402
from common import comparison as base, comparisons  # noqa: E402
from common.comparisons import Failure, say  # noqa: E402
from common.processes import reason_of, run_process  # noqa: E402
from comparison.fio import Fio  # noqa: E402

TIMEOUT_BEYOND_SECONDS = 120  # a run that takes this much longer than planned hangs
LOAD_TIMEOUT_SECONDS = 3600
SPACE_MARGIN_BYTES = 2 << 30
FIO_ERRORS = (subprocess.CalledProcessError, subprocess.TimeoutExpired, ValueError, RuntimeError)


class Comparison(base.Comparison):
    def __init__(self, arguments):
        super().__init__(arguments, arguments.scale, "compare")
        self.repetitions, self.scenarios = plan.SCALES[arguments.scale]
        if arguments.scenario:
            self.scenarios = [scenario for scenario in self.scenarios
                              if scenario.name == arguments.scenario]
        self.engines = arguments.engines
        self.with_fio = Fio.available()
        self.results = table.Results()
        self.deadline = None
        self.fio = None

    # Before anything is run

    def check(self):
        """Prints the plan; leaves out the runs that are impossible here."""
        self.require_binaries(map(self.bench, self.engines))
        self.scenarios = self.possible(self.scenarios)
        if not self.with_fio:
            say("fio is not installed: no comparison with the device")
        if not self.scenarios:
            raise Failure("nothing left to run")
        estimate = sum(plan.seconds_of(scenario, self.repetitions, self.engines, self.with_fio)
                       for scenario in self.scenarios)
        bound = self.arguments.minutes * 60 if self.arguments.minutes else 2 * estimate
        self.deadline = time.monotonic() + bound
        say(f"about {estimate / 60:.0f} minutes; no run starts after {bound / 60:.0f}")
        self.check_space()

    def check_space(self):
        needed = max(plan.disk_bytes(scenario, self.engines, self.with_fio)
                     for scenario in self.scenarios) + SPACE_MARGIN_BYTES
        free = shutil.disk_usage(self.arguments.data).free
        say(f"needs {needed / 2**30:.1f} GiB of disk in {self.arguments.data}; "
            f"{free / 2**30:.1f} GiB are free")
        if free < needed:
            raise Failure("not enough disk; name another --data, or --quick")

    # Running

    def run(self):
        os.makedirs(self.results_directory)
        say(f"results in {self.results_directory}")
        for scenario in self.scenarios:
            os.makedirs(os.path.join(self.results_directory, scenario.name))
            os.makedirs(self.data)
            try:
                self.run_scenario(scenario)
            finally:
                shutil.rmtree(self.data, ignore_errors=True)

    def run_scenario(self, scenario):
        say(scenario.title)
        with self.log(f"{scenario.name}/load") as errors:
            for engine in self.engines:
                self.load(scenario, engine, errors)
        if self.with_fio and scenario.capped:
            say("writing a file for fio")
            self.fio = Fio(os.path.join(self.data, "fio"), scenario.payload_bytes, run_process)
            try:
                self.fio.prepare()
            except FIO_ERRORS as error:
                raise Failure(f"fio: {error}") from error
        for run in plan.runs_of(scenario, self.repetitions, self.engines, self.with_fio):
            if time.monotonic() > self.deadline:
                say("the time is up; the table shows what was measured")
                return
            self.measure(run)

    def load(self, scenario, engine, errors):
        begin = time.monotonic()
        command = self.command(scenario, engine) + ["--mode=load", "--threads=2"]
        try:
            run_process(command, LOAD_TIMEOUT_SECONDS, errors=errors)
        except base.PROCESS_ERRORS as error:
            raise Failure(f"loading {engine}: {reason_of(error)}: {errors.name}") from error
        say(f"loaded {scenario.records:,} records into {engine} in {time.monotonic() - begin:.0f} s")

    def measure(self, run):
        begin = time.monotonic()
        result = self.probe(run) if run.config is None else self.measure_engine(run)
        self.results.add(run.scenario.name, run.workload.mode, run.threads,
                         run.config.name if run.config else "fio", result)
        outcome = self.keep_result(run, result, lambda found: table.number(
            found.get("page_reads_per_s" if run.config is None else "ops_per_s")) + "/s")
        say(f"{run.label}: {outcome} ({time.monotonic() - begin:.1f} s)")

    def probe(self, run):
        try:
            return self.fio.random_reads(plan.PAGE_KIB, run.threads, run.scenario.seconds)
        except FIO_ERRORS as error:
            return {"failed": f"fio: {error}"}

    def measure_engine(self, run):
        scenario, json_file = run.scenario, os.path.join(self.data, "result.json")
        command = self.command(scenario, run.config.engine) + [
            *run.config.flags, f"--mode={run.workload.mode}", f"--threads={run.threads}",
            f"--seconds={scenario.seconds}", f"--warmup={scenario.warmup}",
            f"--warmup_threads={max(run.threads, scenario.warmup_threads)}",
            "--sample_ms=100", f"--json={json_file}"]
        if run.workload.mode != "scan":  # of all records
            command.append(f"--seed={run.repetition}")
        timeout = scenario.seconds + scenario.warmup + scenario.prefill_seconds + \
            TIMEOUT_BEYOND_SECONDS
        capped = (run.config.engine, scenario.memory_mib) if scenario.capped else None
        return self.result_of_process(command, timeout, run.file_stem, json_file, capped)

    # Names and files

    def bench(self, engine):
        return "tree_bench" if engine == "tree" else self.bench_of("kv_bench", engine)

    def command(self, scenario, engine):
        return [self.binary(self.bench(engine)), f"--engine={engine}",
                f"--path={os.path.join(self.data, engine)}", f"--records={scenario.records}",
                f"--value_bytes={plan.VALUE_BYTES}", f"--memory_mib={scenario.memory_mib}",
                f"--page_kib={plan.PAGE_KIB}"]

    def finish(self):
        """The tables, of what there is."""
        if not self.results.rows:
            return
        titles = [(scenario.name, scenario.title) for scenario in self.scenarios]
        self.publish(table.report(self.results, titles))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument("--quick", dest="scale", action="store_const", const="quick",
                       help="small data, about 2 minutes: shows that everything works")
    scale.add_argument("--full", dest="scale", action="store_const", const="full",
                       help="more threads, longer runs, more data")
    parser.set_defaults(scale="normal")
    parser.add_argument("--scenario", choices=["in-memory", "beyond-memory"],
                        help="only this one")
    parser.add_argument("--engines", nargs="+", choices=list(plan.LOAD_RATE),
                        default=list(plan.LOAD_RATE))
    parser.add_argument("--minutes", type=float, help="start no run later than this")
    comparisons.add_places(parser, "bench-data")
    arguments = parser.parse_args()
    if arguments.minutes is not None and arguments.minutes <= 0:
        parser.error("--minutes must be above 0")
    return arguments


if __name__ == "__main__":
    comparisons.run(Comparison(parse_arguments()))
