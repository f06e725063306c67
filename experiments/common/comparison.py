"""What the comparisons have in common: where their files are, how a process is run and its result is kept."""
import contextlib
import datetime
import json
import os
import subprocess

from common import cgroup
from common.comparisons import Failure, say
from common.databases import own_directory
from common.processes import reason_of, run_process

PROCESS_ERRORS = (subprocess.CalledProcessError, subprocess.TimeoutExpired)


class Comparison:
    """The base of each. Results stay in a directory of its own, a JSON file a run; data is removed."""

    def __init__(self, arguments, name, purpose):
        """`name` ends the name of the results' directory, `purpose` begins that of the data's."""
        self.arguments = arguments
        stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
        self.results_directory = os.path.join(arguments.results, f"{stamp}-{name}")
        self.data = own_directory(arguments.data, purpose)
        self.failed = []  # runs, and why

    def require_binaries(self, names):
        """Fails if one is missing."""
        os.makedirs(self.arguments.data, exist_ok=True)
        for name in sorted(set(names)):
            if not os.access(self.binary(name), os.X_OK):
                raise Failure(f"{self.binary(name)} is not there; build it with "
                              "PALIMPSEST_BENCH_PEERS=ON")

    @staticmethod
    def possible(scenarios):
        """Those that can run here: without root, memory cannot be limited from outside."""
        obstacle = cgroup.obstacle()
        if obstacle:
            skipped = [scenario.name for scenario in scenarios if scenario.capped]
            scenarios = [scenario for scenario in scenarios if not scenario.capped]
            say(f"{obstacle}; left out: {', '.join(skipped) or 'nothing'}")
        return scenarios

    def result_of_process(self, command, timeout, stem, json_file, capped=None):
        """The JSON object that a process has written; "failed": why there is none. `capped`: the engine and MiB, if
        the memory of the process is limited from outside; page caches are dropped then."""
        with self.log(stem) as errors, contextlib.ExitStack() as stack:
            cap = None
            if capped:
                cgroup.drop_page_cache()
                cap = stack.enter_context(cgroup.MemoryCap(cgroup.cap_bytes(*capped)))
            try:
                run_process(command, timeout, cap, errors)
            except PROCESS_ERRORS as error:
                return {"failed": reason_of(error), "command": command}
            with open(json_file, encoding="utf-8") as file:
                result = json.load(file)
            os.remove(json_file)
            if cap:
                result["cap_bytes"] = cap.limit_bytes
                result["cap_peak_bytes"] = cap.peak_bytes()
            return result

    def keep_result(self, run, result, rate):
        """Writes a run's result to its file and says it; `rate`: of a result, as text."""
        self.write_json(run.file_stem + ".json", result)
        if "failed" in result:
            self.failed.append(f"{run.label}: {result['failed']}")
        return result.get("failed") or rate(result)

    # Names and files

    def binary(self, name):
        return os.path.join(self.arguments.build, name)

    @staticmethod
    def bench_of(bench, engine):
        """The name of the binary that measures an engine."""
        return bench if engine in ("palimpsest", "tree") else f"{bench}_peers"

    def result_file(self, name):
        return os.path.join(self.results_directory, name)

    def log(self, stem):
        """A file for the standard error of a process."""
        return open(self.result_file(stem + ".log"), "a", encoding="utf-8")

    def write_json(self, name, contents):
        with open(self.result_file(name), "w", encoding="utf-8") as file:
            json.dump(contents, file, indent=2)

    def publish(self, text):
        """Keeps and prints the report."""
        with open(self.result_file("report.md"), "w", encoding="utf-8") as file:
            file.write(text)
        print("\n" + text, flush=True)
        say(f"report and results: {self.results_directory}")
