#!/usr/bin/env python3
"""Measures bulk transactions, compared with ordinary ones and other engines' methods: `make bench-bulk`.

Runs everything interleaved and in rounds, prints the tables, and removes the data. Results stay in one
directory per comparison, one JSON file a process. docs/benchmarks/method.md explains.
"""
import argparse
import dataclasses
import json
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from comparison import files, plan, table  # noqa: E402
from common import comparison as base, comparisons  # noqa: E402
from common.comparisons import Failure, say  # noqa: E402
from common.databases import check_free, own_directory  # noqa: E402
from common.processes import reason_of, run_process  # noqa: E402

TIMEOUT_SECONDS = 300  # a process that takes this long, and long beyond its estimate, hangs
TIMEOUT_FACTOR = 5
GRACE_SECONDS = 20  # for an interrupted process to stop a server, and remove its files


def free_bytes(text):
    """The bytes of free pages, from the output of `palimpsest check --json`."""
    lines = [json.loads(line) for line in text.splitlines()]
    page_bytes = next(line["page_bytes"] for line in lines if line["kind"] == "file")
    return page_bytes * next(line["free"] for line in lines if line["kind"] == "pages")


class Comparison(base.Comparison):
    def __init__(self, arguments):
        super().__init__(arguments, f"bulk-{arguments.scale}", "bulk-bench")
        self.scale = plan.SCALES[arguments.scale]
        if arguments.scale_factor:
            self.scale = dataclasses.replace(self.scale, scale_factor=arguments.scale_factor)
        if arguments.csv_factor:
            self.scale = dataclasses.replace(
                self.scale, files=files.of_factor(self.scale.files, arguments.csv_factor))
        self.parts = [part for part in plan.PARTS if part in arguments.parts]
        self.engines = arguments.engines
        self.inputs = own_directory(arguments.data, "bulk-inputs")
        self.contents = {}  # of files that are loaded, by their names
        self.results = table.Results()

    # Before anything is run

    def check(self):
        """Prints the plan, and checks that it can run."""
        self.leave_out_missing()
        if not any(map(self.variants, self.parts)):
            raise Failure("none of these engines is in these parts")
        needed = {step.binary for part in self.parts for variant in self.variants(part)
                  for step in variant.steps}
        if "files" in self.parts:
            needed |= {"lineitem_csv", "tpch_gen", "palimpsest"}
        self.require_binaries(needed)
        self.check_memory()
        check_free(self.arguments.data, plan.disk_bytes(self.parts, self.scale), "the comparison")
        say(f"about {sum(map(self.estimate, self.parts)) / 60:.0f} minutes; no run starts that would "
            f"end after {self.minutes:.0f}")

    def leave_out_missing(self):
        """Leaves out programs that are not installed, and measures the rest."""
        for engine in self.engines if "files" in self.parts else ():
            if reason := files.missing(engine, self.arguments.data):
                say(f"files, {engine}: left out: {reason}")
                self.engines = [each for each in self.engines if each != engine]

    def check_memory(self):
        """Loads have memory for versions of a whole table."""
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if "load" in self.parts and there < plan.memory_bytes(self.scale):
            raise Failure(f"loads of scale factor {self.scale.scale_factor:g} need "
                          f"{plan.memory_bytes(self.scale) / 2**30:.1f} GiB of memory, "
                          f"{there / 2**30:.1f} GiB are there; --scale_factor makes them smaller")

    @property
    def minutes(self):
        return self.arguments.minutes or self.scale.minutes

    def variants(self, part):
        return plan.variants_of(part, self.scale, self.engines)

    def estimate(self, part):
        return plan.seconds_of(part, self.scale, self.engines)

    # Running

    def run(self):
        os.makedirs(self.results_directory)
        say(f"results in {self.results_directory}")
        begin = time.monotonic()
        done, whole = 0, sum(map(self.estimate, self.parts))
        for part in self.parts:  # each gets its share of the time, and what the earlier parts left
            done += self.estimate(part)
            if part == "files":
                self.make_inputs()
            self.run_part(part, begin + self.minutes * 60 * done / whole)

    def run_part(self, part, end):
        for run in plan.runs_of(part, self.scale, self.engines):
            if time.monotonic() + run.variant.seconds > end:
                say(f"{part}: its time is up; the tables show what was measured")
                return
            self.measure(run)

    def make_inputs(self):
        """Makes the files that some variant loads."""
        os.makedirs(self.inputs, exist_ok=True)
        for name in dict.fromkeys(variant.row for variant in self.variants("files")):
            json_file = self.result_file("last-run.json")
            try:
                run_process([self.binary("lineitem_csv"), f"--path={self.input_file(name)}",
                             f"--json={json_file}", *files.input_flags(self.scale.files, name)],
                            TIMEOUT_SECONDS)
            except base.PROCESS_ERRORS as error:
                raise Failure(f"lineitem_csv: {reason_of(error)}") from error
            made = self.taken(json_file)
            self.contents[name] = made["content"]
            say(f"files: {made['bytes'] / 1e6:.0f} MB, {name}")

    def measure(self, run):
        begin = time.monotonic()
        outcome = "done"
        try:
            shutil.rmtree(self.data, ignore_errors=True)
            results = {}
            for step in run.variant.steps:
                results[step.name] = self.result_of(run, step)
                if "failed" in results[step.name]:
                    outcome = f"{step.name}: {results[step.name]['failed']}"
                    self.failed.append(f"{run.label}: {outcome}")
                    break
            if "check_erase" in results and "failed" not in results["check_erase"]:
                results["erase"]["reusable_bytes_reclaimed"] = results["check_erase"]["free_bytes"]
            for step in run.variant.steps:
                if step.name in results:
                    self.keep(run, step, results[step.name])
        finally:
            shutil.rmtree(self.data, ignore_errors=True)
        say(f"{run.label}: {outcome} ({time.monotonic() - begin:.1f} s)")

    def keep(self, run, step, result):
        self.write_json(run.file_stem(step) + ".json", result)
        self.results.add(run, step, result)

    def result_of(self, run, step):
        """The result of a process; "failed": why it failed."""
        checks = step.binary == "palimpsest"
        json_file = self.result_file("last-run.json")
        command = [self.binary(step.binary), *step.flags]
        command += [self.data] if checks else [f"--path={self.data}", f"--json={json_file}"]
        if step.input:
            command.append(f"--input={self.input_file(step.input)}")
        if step.binary == "load.py":
            command.append(f"--build={self.arguments.build}")
        timeout = max(TIMEOUT_SECONDS, TIMEOUT_FACTOR * run.variant.seconds)
        failed = None
        output = ""
        with self.log(run.file_stem(step)) as errors:
            try:
                output = run_process(command, timeout, errors=errors, grace_seconds=GRACE_SECONDS)
            except base.PROCESS_ERRORS as error:
                failed = reason_of(error)
        if checks:
            result = {} if failed else {"free_bytes": free_bytes(output)}
        else:
            result = self.taken(json_file)
        if failed:  # a load that was too large says so in its result, too
            result["failed"] = result.get("error") or failed
        elif step.input and (differs := self.difference(step.input, result)):
            result["failed"] = differs
        result["command"] = command
        return result

    def difference(self, name, result):
        """The difference between a file's content and the database's; None if they are equal."""
        for field, found in result["content"].items():
            if found != self.contents[name][field]:
                return f"{field}: {found} in the database, {self.contents[name][field]} in the file"
        return None

    @staticmethod
    def taken(json_file):
        """The contents of a file, which is removed; nothing if there is none."""
        if not os.path.exists(json_file):
            return {}
        with open(json_file, encoding="utf-8") as file:
            result = json.load(file)
        os.remove(json_file)
        return result

    # Names and files

    def binary(self, name):
        if name == "palimpsest":
            return os.path.join(self.arguments.build, os.pardir, "tools", "palimpsest", name)
        if name == "load.py":
            return os.path.join(files.FILES, name)
        return super().binary(name)

    def input_file(self, name):
        return os.path.join(self.inputs, files.file_name(name))

    def finish(self):
        """The tables, of what there is."""
        for directory in (self.data, self.inputs):
            shutil.rmtree(directory, ignore_errors=True)
        if not self.results.found:
            return
        self.publish(table.report(self.results))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--quick", dest="scale", action="store_const", const="quick",
                        default="normal", help="at most 5 minutes: shows that everything works")
    parser.add_argument("--parts", nargs="+", choices=plan.PARTS, default=plan.PARTS,
                        help="files: CSV files into an empty database; range: rows into an empty "
                             "store, and half of them out again")
    parser.add_argument("--engines", nargs="+", choices=plan.ENGINES, default=plan.ENGINES,
                        help="of the parts files and range")
    parser.add_argument("--scale_factor", type=float, help="of TPC-H; 1, and 0.05 with --quick")
    parser.add_argument("--csv_factor", type=float,
                        help="of TPC-H, of the part files: 1.35 makes a gigabyte, which is loaded with "
                             "256 MiB")
    parser.add_argument("--minutes", type=float, help="start no run that would end later")
    comparisons.add_places(parser, "bench-data")
    arguments = parser.parse_args()
    for name in ("scale_factor", "csv_factor", "minutes"):
        value = getattr(arguments, name)
        if value is not None and not 0 < value < 1e6:
            parser.error(f"--{name} must be above 0")
    return arguments


if __name__ == "__main__":
    comparisons.run(Comparison(parse_arguments()))
