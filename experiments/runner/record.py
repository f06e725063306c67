"""The stored results of a set.

A set is a directory: set.json, the properties common to its runs; runs.csv, a line for each run that ended; and
a directory for each run with
  config.json      all settings: flags in effect, commit, compiler, machine, limits
  timeseries.csv   a line for each interval, as the driver writes it
  latency.csv      a line for each type of transactions
  summary.json     the driver's result, or why there is none
  stderr.log       the driver's messages
Names of columns and fields end in their unit. All files share one schema version; nothing is appended to a file
with another header, or to a set of another experiment.
"""
import csv
import json
import os
import re

from common.comparisons import Failure
from common.measures import NAMES, measures_of

SCHEMA_VERSION = 1
RUN_COLUMNS = ("schema_version", "run", "experiment", "variant", "repetition", "started_utc",
               "outcome", "commit", "engine", "scale", "threads", "memory_mib", "isolation",
               "durability", *NAMES)
LATENCY_COLUMNS = ("type", "commits", "p50_us", "p90_us", "p99_us", "p999_us", "max_us")
DONE = "done"


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2)
        file.write("\n")


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def append_line(path, columns, values):
    """Appends a line to a CSV file, which is begun with its header if there is none. Failure if the
    header is another."""
    header = ",".join(columns)
    there = os.path.exists(path) and os.path.getsize(path) > 0
    if there:
        with open(path, encoding="utf-8", newline="") as file:
            found = file.readline().rstrip("\r\n")
        if found != header:
            raise Failure(f"{path} was begun with other columns; name another set\n"
                          f"it has    {found}\nnot       {header}")
    with open(path, "a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not there:
            writer.writerow(columns)
        writer.writerow(["" if value is None else value for value in values])


def read_lines(path):
    """The lines of a CSV file, a dictionary for each."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def latency_lines(result):
    for kind, latency in result["latency_us"].items():
        yield [kind, result["commits_by_type"][kind],
               *(latency[name] for name in ("p50", "p90", "p99", "p999", "max"))]


class RunDirectory:
    """The files of one run."""

    def __init__(self, path, config):
        self.path = path
        self.config = {"schema_version": SCHEMA_VERSION, **config}
        os.makedirs(path)
        write_json(self.file("config.json"), self.config)

    def file(self, name):
        return os.path.join(self.path, name)

    def end(self, result):
        """Stores the driver's result, its part of the configuration included."""
        told = ("workload_options", "isolation", "durability", "asynchronous_interval_ms",
                "write_conflicts", "rate", "memory_bytes", "warmup_seconds", "seed", "description", "engine_options", "commit",
                "compiler", "cpu", "kernel", "device")
        self.config["in_effect"] = {name: result.get(name) for name in told}
        self.config["commit"] = result["commit"]
        write_json(self.file("config.json"), self.config)
        write_json(self.file("summary.json"), result)
        for line in latency_lines(result):
            append_line(self.file("latency.csv"), LATENCY_COLUMNS, line)

    def fail(self, reason):
        write_json(self.file("summary.json"), {"schema_version": SCHEMA_VERSION, "failed": reason})


def text_of(value):
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def differences(before, now):
    """The differences of two JSON objects: "threads: 2, now 1" each."""
    for name in [*before, *(name for name in now if name not in before)]:
        old, new = before.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from differences(old, new)
        elif old != new:
            yield f"{name}: {text_of(old)}, now {text_of(new)}"


class ResultSet:
    """The runs under one name."""

    def __init__(self, root, name):
        if not re.fullmatch(r"[\w+-][\w.+-]*", name):
            raise Failure(f"{name}: a set is named by letters, digits, '_', '-', '+' and '.'")
        self.name = name
        self.path = os.path.join(root, name)

    @property
    def runs_file(self):
        return os.path.join(self.path, "runs.csv")

    def begin(self, identity):
        """Fails if runs cannot be added: before an hour of them. `identity`: what the runs of the set
        have in common, an object of JSON."""
        identity = json.loads(json.dumps({"schema_version": SCHEMA_VERSION, **identity}))
        os.makedirs(self.path, exist_ok=True)
        file_name = os.path.join(self.path, "set.json")
        if os.path.exists(self.runs_file):
            with open(self.runs_file, encoding="utf-8") as file:
                if file.readline().rstrip("\r\n") != ",".join(RUN_COLUMNS):
                    raise Failure(f"{self.runs_file} was begun with other columns; name another set")
            if not os.path.exists(file_name):
                raise Failure(f"{self.path} does not say what its runs have in common (set.json); "
                              "name another set (--as)")
            if found := list(differences(read_json(file_name), identity)):
                raise Failure("\n  ".join([f"{self.path} was begun otherwise; name another set (--as)",
                                           *found]))
        write_json(file_name, identity)

    def new_run(self, stem, config):
        """A directory named after the variant, with the next free number."""
        number = 1
        while os.path.exists(os.path.join(self.path, f"{stem}-{number:03}")):
            number += 1
        return RunDirectory(os.path.join(self.path, f"{stem}-{number:03}"), config)

    def add(self, directory, outcome, result=None):
        config, told = directory.config, result or {}
        measures = measures_of(result) if result else {}
        line = {"schema_version": SCHEMA_VERSION, "run": os.path.basename(directory.path),
                "experiment": config["experiment"], "variant": config["variant"],
                "repetition": config["repetition"], "started_utc": config["started_utc"],
                "outcome": outcome, "commit": config["commit"], "engine": config["flags"]["engine"],
                "scale": told.get("scale"), "threads": told.get("threads"),
                "memory_mib": config["flags"]["memory_mib"], "isolation": told.get("isolation"),
                "durability": told.get("durability"), **measures}
        append_line(self.runs_file, RUN_COLUMNS, [line.get(column) for column in RUN_COLUMNS])

    def lines(self):
        """The lines of runs.csv of runs that did not fail."""
        if not os.path.exists(self.runs_file):
            raise Failure(f"there are no runs of {self.name} in {os.path.dirname(self.path)}")
        lines = read_lines(self.runs_file)
        if any(line.get("schema_version") != str(SCHEMA_VERSION) for line in lines):
            raise Failure(f"{self.runs_file} is of another schema version than {SCHEMA_VERSION}")
        return [line for line in lines if line["outcome"] == DONE]

    def samples(self, measure):
        """variant -> values of a measure, in the order of the runs."""
        found = {}
        for line in self.lines():
            value = line.get(measure)  # runs of earlier versions have fewer columns
            found.setdefault(line["variant"], []).append(float(value) if value else None)
        return found
