#!/usr/bin/env python3
"""The cost of snapshot isolation, compared with RocksDB, WiredTiger and LMDB and with no isolation:
`make bench-oltp`.

Loads each engine once for each size, runs all of them in turns on copies of that, prints tables and which goals
were reached, and removes the data. Results stay in one directory per comparison, a JSON file and a series a
run; --resume continues an interrupted one. Exits with 1 if a run failed; a missed goal is only reported.
docs/benchmarks/method.md explains.
"""
import argparse
import contextlib
import dataclasses
import json
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from comparison import goals, plan, plot, table  # noqa: E402
from comparison.scenarios import SCALES  # noqa: E402
from common import cgroup, comparison as base, comparisons  # noqa: E402
from common.comparisons import Failure, say  # noqa: E402
from common.databases import Databases, check_free  # noqa: E402
from common.processes import reason_of, run_process  # noqa: E402
from common.source import commit_of_source  # noqa: E402
from common.tables import number  # noqa: E402

CONFIG_SCHEMA_VERSION = 2
TIMEOUT_BEYOND_SECONDS = 180  # a run that takes this much longer than planned hangs
LOAD_TIMEOUT_SECONDS = 3600


def config_of(directory):
    """The options of the comparison to be resumed."""
    try:
        with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
            begun = json.load(file)
    except (OSError, ValueError) as error:
        raise Failure(f"{directory} holds no comparison: {error}") from error
    if begun.get("schema_version") != CONFIG_SCHEMA_VERSION:
        raise Failure(f"{directory} holds a comparison of another version of this script")
    return begun


class Comparison(base.Comparison):
    def __init__(self, arguments):
        super().__init__(arguments, f"oltp-{arguments.scale}", "oltp-bench")
        self.scale = SCALES[arguments.scale]
        self.engines = [engine for engine in plan.ENGINES if engine in arguments.engines]
        self.scenarios = [self.as_long_as_asked(scenario)
                          for scenario in self.scale.chosen(arguments.scenario)
                          if scenario.engines(self.engines)]
        self.results_directory = arguments.resume or self.results_directory
        self.results = table.Results()
        self.databases = None

    def as_long_as_asked(self, scenario):
        minutes = self.arguments.run_minutes
        if not scenario.flat or not minutes:
            return scenario
        return dataclasses.replace(scenario, seconds=60 * minutes)

    # Before anything is run

    def check(self):
        """Prints the plan; leaves out the runs that are impossible here."""
        self.require_binaries(self.bench(scenario, engine) for scenario in self.scenarios
                              for engine in scenario.engines(self.engines))
        self.scenarios = self.possible(self.scenarios)
        if not self.scenarios:
            raise Failure("nothing left to run")
        self.check_resumed()
        check_free(self.arguments.data,
                   max(plan.disk_bytes(scenario, self.engines) for scenario in self.scenarios),
                   "the comparison")
        say(f"about {sum(self.estimates()) / 60:.0f} minutes" +
            (f"; no run starts that would end after {self.minutes:.0f}" if self.minutes else ""))

    @property
    def minutes(self):
        """Scenarios that were named have no time limit."""
        return self.arguments.minutes or (None if self.arguments.scenario else self.scale.minutes)

    def estimates(self):
        return plan.estimates_of(self.scenarios, self.scale.repetitions, self.engines)

    def config(self):
        """The identity of a comparison: two parts with the same belong together."""
        return json.loads(json.dumps({
            "schema_version": CONFIG_SCHEMA_VERSION, "scale": self.arguments.scale,
            "commit": commit_of_source(), "engines": self.engines,
            "scenario": self.arguments.scenario, "run_minutes": self.arguments.run_minutes,
            "repetitions": self.scale.repetitions,
            "scenarios": [dataclasses.asdict(scenario) for scenario in self.scenarios],
            "cap_allowance": cgroup.ALLOWANCE}))

    def check_resumed(self):
        """Loads the results that were measured already."""
        if not self.arguments.resume:
            return
        before = config_of(self.results_directory)
        differing = [name for name, value in self.config().items() if before.get(name) != value]
        if differing:
            raise Failure(f"{self.results_directory} was begun otherwise ({', '.join(differing)}); "
                          "a comparison goes on as it was begun")

    def earlier_result(self, run):
        """A result of a resumed comparison; None if the run is missing, failed, or left damaged files."""
        try:
            with open(self.result_file(run.file_stem + ".json"), encoding="utf-8") as file:
                result = json.load(file)
        except (OSError, ValueError):
            return None
        if not isinstance(result, dict) or "failed" in result:
            return None
        if run.scenario.flat and not goals.is_whole(self.series_file(run), result):
            say(f"{run.label}: its series is damaged; the run is made again")
            return None
        return result

    # Running

    def run(self):
        os.makedirs(self.results_directory, exist_ok=True)
        say(f"results in {self.results_directory}")
        self.write_json("config.json", self.config())
        begin = time.monotonic()
        estimates, done, there = self.estimates(), 0, None
        self.databases = Databases(self.data)
        try:
            for scenario, estimate in zip(self.scenarios, estimates):
                done += estimate  # each gets its share of the time, and what the earlier ones left
                end = begin + self.minutes * 60 * done / sum(estimates) if self.minutes else None
                os.makedirs(self.result_file(scenario.name), exist_ok=True)
                if there not in (None, scenario.database):
                    self.databases.remove_all()
                    self.databases = Databases(self.data)
                there = scenario.database
                self.run_scenario(scenario, end)
        finally:
            self.databases.remove_all()

    def run_scenario(self, scenario, end):
        say(scenario.title)
        left = []
        for run in plan.runs_of(scenario, self.scale.repetitions, self.engines):
            earlier = self.earlier_result(run) if self.arguments.resume else None
            if earlier:
                self.keep(run, earlier)
            else:
                left.append(run)
        for engine in self.engines if scenario.workload.is_loaded else ():
            needed = any(run.config.engine == engine for run in left)
            if needed and not os.path.exists(self.databases.path(engine)):
                self.load(scenario, engine)
        for run in left:
            if end and time.monotonic() + plan.run_seconds(run) > end:
                say("the time is up; the table shows what was measured")
                return
            self.measure(run)

    def load(self, scenario, engine):
        begin = time.monotonic()
        command = [self.binary(self.bench(scenario, engine)), f"--engine={engine}",
                   f"--path={self.databases.path(engine)}",
                   f"--{scenario.workload.scale_flag}={scenario.scale}",
                   f"--memory_mib={scenario.load_memory_mib or scenario.memory_mib}", "--threads=2",
                   "--seconds=0"]
        with self.log(f"{scenario.name}/load-{engine}") as errors:
            try:
                run_process(command, LOAD_TIMEOUT_SECONDS, errors=errors)
            except base.PROCESS_ERRORS as error:
                raise Failure(f"loading {engine}: {reason_of(error)} in "
                              f"{self.results_directory}") from error
        say(f"loaded {engine} in {time.monotonic() - begin:.0f} s")

    def measure(self, run):
        begin = time.monotonic()
        with self.database_of(run) as path:
            result = self.result_of(run, path)
        self.keep(run, result)
        outcome = self.keep_result(run, result, lambda found: (
            f"{number(found['tps'])} transactions/s" if "tps" in found else "done"))
        say(f"{run.label}: {outcome} ({time.monotonic() - begin:.1f} s)")

    def keep(self, run, result):
        """Adds a result to the tables; with its series, and a plot, if the scenario is judged by it."""
        if run.scenario.flat and "failed" not in result:
            series = goals.read_series(self.series_file(run))
            result = {**result, "series": series}
            if plot.available() and series:
                plot.draw(series, run.scenario.title, self.result_file(run.file_stem + ".png"))
        self.results.add(run, result)

    @contextlib.contextmanager
    def database_of(self, run):
        """The path of a copy, or of nothing, for a driver that makes its own data."""
        if run.scenario.workload.is_loaded:
            with self.databases.copy_of(run.config.engine) as path:
                yield path
        else:
            try:
                yield self.databases.path("made")
            finally:
                self.databases.remove("made")

    def result_of(self, run, path):
        scenario, json_file = run.scenario, os.path.join(self.data, "result.json")
        command = [self.binary(self.bench(scenario, run.config.engine)), f"--path={path}", *run.flags,
                   f"--json={json_file}"]
        if scenario.workload.is_loaded:
            command.append(f"--series={self.series_file(run)}")
        timeout = scenario.seconds + scenario.warmup + TIMEOUT_BEYOND_SECONDS
        capped = (run.config.engine, scenario.memory_mib) if scenario.capped else None
        result = self.result_of_process(command, timeout, run.file_stem, json_file, capped)
        return {"cap_bytes": None, "cap_peak_bytes": None, **result, "command": command}

    # Names and files

    def bench(self, scenario, engine):
        return self.bench_of(scenario.workload.name, engine)

    def series_file(self, run):
        return self.result_file(run.file_stem + ".csv")

    def finish(self):
        """The tables, of what there is."""
        shutil.rmtree(self.data, ignore_errors=True)
        if not self.results.rows:
            return
        self.write_json("report.json", table.to_json(self.results, self.scenarios))
        self.publish(table.report(self.results, self.scenarios))
        say(f"if something is missing: --resume {self.results_directory}")


def parse_arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    scale = parser.add_mutually_exclusive_group()
    for name, text in (("quick", "2 warehouses, about 5 minutes: shows that everything works"),
                       ("normal", "10 warehouses, at most 40 minutes, without the runs of minutes; "
                                  "the default"),
                       ("full", "30 warehouses, more threads, synchronous commits too, everything: "
                                "hours")):
        scale.add_argument(f"--{name}", dest="scale", action="store_const", const=name, help=text)
    names = dict.fromkeys(scenario.name for scale in SCALES.values() for scenario in scale.scenarios)
    parser.add_argument("--scenario", nargs="+", choices=list(names), help="only these, in full length")
    parser.add_argument("--run_minutes", type=float,
                        help="length of version-memory and queue, which watch one long run; else 10")
    parser.add_argument("--engines", nargs="+", choices=plan.ENGINES)
    parser.add_argument("--minutes", type=float, help="start no run that would end later")
    parser.add_argument("--resume", metavar="DIRECTORY",
                        help="of an earlier comparison: make the runs that it lacks, as it was begun")
    comparisons.add_places(parser, "bench-data")
    arguments = parser.parse_args(words)
    for name in ("minutes", "run_minutes"):
        if getattr(arguments, name) is not None and getattr(arguments, name) <= 0:
            parser.error(f"--{name} must be above 0")
    try:
        take_plan(arguments)
        check_plan(arguments)
    except Failure as failure:
        parser.error(str(failure))
    return arguments


def take_plan(arguments):
    """Sets options that were not given, from the resumed comparison, or to their defaults."""
    plan_flags = {"scale": "normal", "engines": list(plan.ENGINES), "scenario": None,
                  "run_minutes": None}
    if arguments.resume:
        plan_flags = {name: config_of(arguments.resume)[name] for name in plan_flags}
    for name, begun in plan_flags.items():
        given = getattr(arguments, name)
        same = (set(given) == set(begun or ()) if isinstance(given, list) else given == begun)
        if arguments.resume and given is not None and not same:
            said = f"--{given}" if name == "scale" else f"--{name}"
            raise Failure(f"{said}: {arguments.resume} was begun otherwise ({name}: {begun}); a "
                          "comparison goes on as it was begun")
        setattr(arguments, name, begun if given is None or arguments.resume else given)


def check_plan(arguments):
    scale = SCALES[arguments.scale]
    there = [scenario.name for scenario in scale.scenarios]
    for name in arguments.scenario or ():
        if name not in there:
            raise Failure(f"--scenario={name}: not of --{arguments.scale}, which has "
                          f"{', '.join(there)}")
    if arguments.run_minutes and not any(scenario.flat for scenario in scale.chosen(arguments.scenario)):
        raise Failure("--run_minutes has no effect: neither version-memory nor queue is run")


if __name__ == "__main__":
    comparisons.run(Comparison(parse_arguments()))
