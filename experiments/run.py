#!/usr/bin/env python3
"""Runs a named experiment repeatedly, keeps everything needed to verify it, and compares.

  run.py list                         which experiments there are
  run.py run tpcc-in-memory           all its variants, three times each, in turns
  run.py run tpcc-in-memory --as before --set engine=palimpsest,lmdb --repetitions 5
  run.py table before                 medians and their spread
  run.py plot before                  throughput and latency over time (needs matplotlib)
  run.py compare before after         two sets beside each other

Exits with 1 if a run failed.
"""
import argparse
import contextlib
import datetime
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from common import cgroup, comparisons  # noqa: E402
from common.comparisons import Failure  # noqa: E402
from common.databases import Databases, own_directory  # noqa: E402
from common.measures import NAMES  # noqa: E402
from common.processes import reason_of, run_process  # noqa: E402
from common.source import commit_of_source  # noqa: E402
from runner import catalogue, environment, plot, record, tables  # noqa: E402

TIMEOUT_BEYOND_SECONDS = 300  # a run that takes this much longer than planned hangs
LOAD_TIMEOUT_SECONDS = 7200


def say(line):
    print(f"run: {line}", flush=True)


class Runner:
    """An experiment under way."""

    def __init__(self, arguments):
        self.arguments = arguments
        found = catalogue.find(arguments.experiment)
        self.experiment = found.with_flags(catalogue.parse_changes(arguments.set))
        self.repetitions = arguments.repetitions or found.repetitions
        self.set = record.ResultSet(arguments.results,
                                    found.name if arguments.name is None else arguments.name)
        self.failed = []  # runs, and why
        self.databases = None

    def check(self):
        for flags in self.experiment.variants():
            binary = self.binary(flags)
            if not os.access(binary, os.X_OK):
                raise Failure(f"{binary} is not there; build it (peers: PALIMPSEST_BENCH_PEERS=ON)")
        if self.experiment.capped and cgroup.obstacle():
            raise Failure(f"{self.experiment.name} caps memory: {cgroup.obstacle()}")
        self.set.begin(self.identity())

    def identity(self):
        """The properties common to all runs of a set."""
        return {"experiment": self.experiment.name, "flags": self.experiment.flags,
                "capped": self.experiment.capped, "commit": commit_of_source(),
                "binaries": {os.path.basename(binary): environment.digest_of(binary)
                             for binary in map(self.binary, self.experiment.variants())},
                "machine": environment.describe(self.arguments.data)}

    def run(self):
        variants = list(self.experiment.variants())
        say(f"{len(variants)} variants, {self.repetitions} times each, into {self.set.path}")
        self.databases = Databases(own_directory(self.arguments.data, "run"))
        try:
            for repetition in range(1, self.repetitions + 1):
                for flags in variants:
                    self.run_variant(flags, repetition)
        finally:
            self.databases.remove_all()
        print("\n" + tables.table(self.set), flush=True)

    def run_variant(self, flags, repetition):
        begin = time.monotonic()
        variant = self.experiment.variant_name(flags)
        source = self.loaded(flags)
        config = {"experiment": self.experiment.name, "title": self.experiment.title,
                  "variant": variant, "repetition": repetition,
                  "started_utc": datetime.datetime.now(datetime.timezone.utc).isoformat(
                      timespec="seconds"),
                  "commit": commit_of_source(), "memory_cap_bytes": self.cap_bytes(flags),
                  **environment.describe(self.arguments.data)}
        with self.databases.copy_of(source) as path:
            command = self.command(flags, path)
            config.update(command=command, flags=environment.effective_flags(command))
            directory = self.set.new_run(variant.replace(" ", "_").replace("/", "-"), config)
            outcome = self.measure(flags, command, directory)
        say(f"{variant}, repetition {repetition}: {outcome} ({time.monotonic() - begin:.0f} s)")

    def measure(self, flags, command, directory):
        """Runs the driver; the result is in the directory, and a line in runs.csv."""
        command = [*command, f"--json={directory.file('summary.json')}",
                   f"--series={directory.file('timeseries.csv')}"]
        timeout = float(flags["seconds"]) + float(flags["warmup"]) + TIMEOUT_BEYOND_SECONDS
        with open(directory.file("stderr.log"), "w", encoding="utf-8") as errors, \
                contextlib.ExitStack() as stack:
            cap = None
            if self.experiment.capped:
                cgroup.drop_page_cache()
                cap = stack.enter_context(cgroup.MemoryCap(self.cap_bytes(flags)))
            try:
                run_process(command, timeout, cap, errors)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                directory.fail(reason_of(error))
                self.set.add(directory, f"failed: {reason_of(error)}")
                self.failed.append(f"{os.path.basename(directory.path)}: {reason_of(error)}")
                return f"failed: {reason_of(error)}"
        result = record.read_json(directory.file("summary.json"))
        directory.end(result)
        self.set.add(directory, record.DONE, result)
        return f"{result['tps']:,.0f} transactions/s"

    def loaded(self, flags):
        """The name of the database of which this variant uses copies; loaded if it is missing."""
        scale = flags[self.experiment.scale_flag]
        name = f"{flags['engine']}-{scale}-{flags['memory_mib']}-{flags.get('seed', 'default')}"
        if os.path.exists(self.databases.path(name)):
            return name
        begin = time.monotonic()
        command = [self.binary(flags), f"--path={self.databases.path(name)}", "--seconds=0",
                   *(f"--{flag}={flags[flag]}" for flag in
                     ("engine", self.experiment.scale_flag, "memory_mib", "seed") if flag in flags)]
        log_file = os.path.join(self.set.path, f"load-{name}.log")
        with open(log_file, "w", encoding="utf-8") as errors:
            try:
                run_process(command, LOAD_TIMEOUT_SECONDS, errors=errors)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                raise Failure(f"loading {name}: {reason_of(error)}: {log_file}") from error
        say(f"loaded {name} in {time.monotonic() - begin:.0f} s")
        return name

    def command(self, flags, path):
        return [self.binary(flags), f"--path={path}",
                *(f"--{name}={value}" for name, value in flags.items())]

    def cap_bytes(self, flags):
        return cgroup.cap_bytes(flags["engine"], int(flags["memory_mib"])) \
            if self.experiment.capped else None

    def binary(self, flags):
        ours = flags["engine"] == "palimpsest"
        return os.path.join(self.arguments.build,
                            self.experiment.workload + ("" if ours else "_peers"))


def list_experiments(_):
    for experiment in catalogue.EXPERIMENTS.values():
        flags = " ".join(f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
                         for name, value in experiment.flags.items())
        print(f"{experiment.name:20} {experiment.title}\n{'':20} {flags}, "
              f"{experiment.repetitions} times{', memory capped' if experiment.capped else ''}")


def run_experiment(arguments):
    runner = Runner(arguments)
    runner.check()
    runner.run()
    if plot.available() and runner.set.lines():
        say(f"plot: {plot.draw(runner.set)}")
    comparisons.raise_if_any(runner.failed)


def print_table(arguments):
    print(tables.table(record.ResultSet(arguments.results, arguments.name)))


def draw_plot(arguments):
    if not plot.available():
        raise Failure("plots need matplotlib (tools/setup bench installs it)")
    print(plot.draw(record.ResultSet(arguments.results, arguments.name)))


def compare_sets(arguments):
    before, after = (record.ResultSet(arguments.results, name)
                     for name in (arguments.first, arguments.second))
    print(tables.comparison(before, after, arguments.measure))


def parse_arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    build = comparisons.build_directory()

    def command(name, action, text):
        added = commands.add_parser(name, help=text)
        added.set_defaults(action=action)
        added.add_argument("--results", default=os.path.join(build, "experiments"),
                           help="directory of all sets")
        return added

    command("list", list_experiments, "which experiments there are")
    run = command("run", run_experiment, "run one")
    run.add_argument("experiment")
    run.add_argument("--as", dest="name", help="name of the set; by default the experiment's")
    run.add_argument("--set", action="append", default=[], metavar="FLAG=VALUES",
                     help="of the driver: another value, or several to be compared")
    run.add_argument("--repetitions", type=int)
    run.add_argument("--build", default=os.path.join(build, "release", "experiments"),
                     help="directory of the binaries")
    run.add_argument("--data", default=os.path.join(build, "bench-data"),
                     help="directory for data, on the disk to be measured; emptied afterwards")
    for name, action, text in (("table", print_table, "print what a set comes to"),
                               ("plot", draw_plot, "plot a set")):
        command(name, action, text).add_argument("name")
    compare = command("compare", compare_sets, "two sets beside each other")
    compare.add_argument("first")
    compare.add_argument("second")
    compare.add_argument("--measure", nargs="+", choices=NAMES,
                         default=["tps", "new_order_p99_us"])
    arguments = parser.parse_args(words)
    if getattr(arguments, "repetitions", None) is not None and arguments.repetitions < 1:
        parser.error("--repetitions must be at least 1")
    return arguments


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        arguments.action(arguments)
    except KeyboardInterrupt:
        say("interrupted; data removed, what was measured is kept")
        sys.exit(130)
    except Failure as failure:
        say(str(failure))
        sys.exit(1)


if __name__ == "__main__":
    main()
