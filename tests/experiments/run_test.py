"""Tests of run.py with a driver that is made up here and needs no time."""
import io
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from contextlib import redirect_stdout

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "experiments"))
import run  # noqa: E402
from common.comparisons import Failure  # noqa: E402
from runner import catalogue, environment, plot, record, tables  # noqa: E402

# A driver: says which flags it has, loads a file, and reports the transactions it is told to.
DRIVER = '''#!/usr/bin/env python3
import json, os, sys
flags = dict(word[2:].partition("=")[::2] for word in sys.argv[1:])
if "helpxml" in flags:
    print("<AllFlags>")
    for name, default in (("engine", "palimpsest"), ("threads", "1"), ("memory_mib", "1024"),
                          ("isolation", ""), ("seconds", "10")):
        print(f"<flag><file>a/experiments/main.cc</file><name>{name}</name>"
              f"<default>{default}</default><current>{flags.get(name, default)}</current></flag>")
    print("<flag><file>library.cc</file><name>others</name><current>1</current></flag></AllFlags>")
    sys.exit(1)
print("driver at work", file=sys.stderr)
if flags["seconds"] == "0":
    os.makedirs(flags["path"])
    sys.exit(0)
assert os.path.isdir(flags["path"])
if flags["threads"] == "13":
    sys.exit(3)
tps = 100.0 * int(flags["threads"])
kind = "update_location" if sys.argv[0].endswith("tatp") else "new_order"
json.dump({"schema_version": 1, "scale": 1, "threads": int(flags["threads"]), "tps": tps,
           "tpmc": 27 * tps, "commits": 200, "seconds": 2.0, "isolation": "none",
           "durability": "async", "memory_bytes": 1, "commit": "driver", "compiler": "gcc",
           "cpu": "some", "kernel": "Linux", "device": "ext4", "description": "made up",
           "aborts_by_reason": {"by_input": 1, "deadlock": 2}, "commits_by_type": {kind: 90},
           "latency_us": {kind: {"p50": 1.5, "p90": 2, "p99": 3, "p999": 4, "max": 5}},
           "log_bytes": None, "data_bytes_start": 0, "data_bytes_end": 200, "read_bytes": 0,
           "write_bytes": 4000000, "rss_bytes_max": 1 << 20}, open(flags["json"], "w"))
with open(flags["series"], "w") as file:
    file.write(f"end_s,length_s,tps,{kind}_p99_us\\n0.1,0.1,90,3\\n0.2,0.1,110,\\n")
'''


class Sandbox(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("tpcc", "tpcc_peers", "tatp"):
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(DRIVER)
            os.chmod(path, stat.S_IRWXU)

    def run_py(self, *words):
        """Runs a command of run.py; returns what it printed."""
        places = [f"--results={self.folder}/sets"]
        if words[0] == "run":
            places += [f"--build={self.folder}", f"--data={self.folder}/data"]
        arguments = run.parse_arguments([*words, *places])
        with redirect_stdout(io.StringIO()) as self.printed:
            arguments.action(arguments)
        return self.printed.getvalue()

    def of_set(self, *names):
        return os.path.join(self.folder, "sets", *names)


class Runs(Sandbox):
    def test_every_run_leaves_what_is_needed_to_repeat_it(self):
        self.run_py("run", "tpcc-short", "--repetitions=2", "--set", "threads=1,2")
        runs = record.read_lines(self.of_set("tpcc-short", "runs.csv"))
        self.assertEqual([(line["run"], line["variant"], line["repetition"], line["tps"])
                          for line in runs],
                         [("threads=1-001", "threads=1", "1", "100.0"),
                          ("threads=2-001", "threads=2", "1", "200.0"),
                          ("threads=1-002", "threads=1", "2", "100.0"),
                          ("threads=2-002", "threads=2", "2", "200.0")])
        self.assertEqual(runs[0]["log_bytes_per_commit"], "")
        self.assertEqual(runs[0]["data_bytes_per_commit"], "1.0")
        directory = self.of_set("tpcc-short", "threads=2-001")
        self.assertEqual(sorted(os.listdir(directory)),
                         ["config.json", "latency.csv", "stderr.log", "summary.json",
                          "timeseries.csv"])
        config = record.read_json(os.path.join(directory, "config.json"))
        self.assertEqual(config["schema_version"], record.SCHEMA_VERSION)
        self.assertEqual(config["flags"], {"engine": "palimpsest", "threads": "2",
                                           "memory_mib": "256", "isolation": "", "seconds": "1"})
        self.assertEqual(config["in_effect"]["isolation"], "none")
        self.assertEqual((config["commit"], config["memory_cap_bytes"]), ("driver", None))
        for name in ("cpu", "kernel", "file_system", "memory_limit_bytes", "started_utc", "command"):
            self.assertIn(name, config)
        with open(os.path.join(directory, "latency.csv"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "type,commits,p50_us,p90_us,p99_us,p999_us,max_us\n"
                                          "new_order,90,1.5,2,3,4,5\n")
        with open(os.path.join(directory, "stderr.log"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "driver at work\n")
        self.assertEqual(os.listdir(os.path.join(self.folder, "data")), [])

    def test_tables_have_the_measures_of_their_workload(self):
        self.run_py("run", "tatp-short", "--repetitions=1")
        printed = self.run_py("table", "tatp-short")
        self.assertIn("UPDATE_LOCATION p50", printed)
        self.assertNotIn("New-Order", printed)
        line, = record.read_lines(self.of_set("tatp-short", "runs.csv"))
        self.assertEqual((line["update_location_p99_us"], line["new_order_p99_us"]), ("3", ""))
        drawn = plot.drawn_of(record.ResultSet(self.of_set(), "tatp-short"), line["run"])
        self.assertEqual(drawn[0], "update_location_p99_us")
        self.run_py("run", "tpcc-short", "--repetitions=1")
        printed = self.run_py("table", "tpcc-short")
        self.assertIn("New-Order p50", printed)
        self.assertNotIn("UPDATE_LOCATION", printed)

    def test_a_failed_run_is_told_and_not_counted(self):
        with self.assertRaisesRegex(Failure, "a run failed:\n  threads=13-001: exit code 3"):
            self.run_py("run", "tpcc-short", "--repetitions=1", "--set", "threads=13,1")
        printed = self.printed.getvalue()
        self.assertIn("threads=13, repetition 1: failed: exit code 3", printed)
        self.assertIn("| threads=1  |    1 |", printed, "the table of the others")
        lines = record.read_lines(self.of_set("tpcc-short", "runs.csv"))
        self.assertEqual([line["outcome"][:6] for line in lines], ["failed", "done"])
        summary = record.read_json(self.of_set("tpcc-short", "threads=13-001", "summary.json"))
        self.assertIn("exit code 3", summary["failed"])
        self.assertNotIn("threads=13", self.run_py("table", "tpcc-short"))

    def test_runs_are_added_to_a_set(self):
        for _ in range(2):
            self.run_py("run", "tpcc-short", "--repetitions=1", "--as", "mine")
        self.assertEqual([line["run"] for line in record.read_lines(self.of_set("mine", "runs.csv"))],
                         ["all-001", "all-002"])
        self.assertIn("| all  |    2 |", self.run_py("table", "mine"))

    def test_what_differs_from_a_set_is_not_added_to_it(self):
        self.run_py("run", "tpcc-short", "--repetitions=1", "--as", "mix")
        for words, what in ((["tatp-short"], "experiment: tpcc-short, now tatp-short"),
                            (["tpcc-short", "--set", "threads=1"], "threads: 2, now 1"),
                            (["tpcc-short", "--set", "threads=1,2"], "threads: 2, now 1,2"),
                            (["tpcc-short", "--set", "keys=uniform"], "keys: None, now uniform")):
            with self.assertRaisesRegex(Failure, f"was begun otherwise[^$]*{what}"):
                self.run_py("run", *words, "--as", "mix", "--repetitions=1")
        for place, what in (("commit_of_source", "commit: [^ ]+, now other"),
                            ("environment.describe", "cpu: [^$]*, now other")):
            owner, _, name = f"run.{place}".rpartition(".")
            other = "other" if place == "commit_of_source" else {"cpu": "other"}
            with unittest.mock.patch(f"{owner}.{name}", lambda *_, other=other: other), \
                    self.assertRaisesRegex(Failure, what):
                self.run_py("run", "tpcc-short", "--repetitions=1", "--as", "mix")
        with open(os.path.join(self.folder, "tpcc"), "a", encoding="utf-8") as file:
            file.write("# built again\n")
        with self.assertRaisesRegex(Failure, "tpcc: [0-9a-f]+, now [0-9a-f]+"):
            self.run_py("run", "tpcc-short", "--repetitions=1", "--as", "mix")
        self.assertEqual(len(record.read_lines(self.of_set("mix", "runs.csv"))), 1)
        os.remove(self.of_set("mix", "set.json"))
        with self.assertRaisesRegex(Failure, "set.json"):
            self.run_py("run", "tpcc-short", "--repetitions=1", "--as", "mix")

    def test_a_set_without_runs_may_be_begun_otherwise(self):
        self.run_py("run", "tpcc-short", "--repetitions=1", "--as", "mix")
        os.remove(self.of_set("mix", "runs.csv"))
        self.run_py("run", "tatp-short", "--repetitions=1", "--as", "mix")
        self.assertEqual(record.read_json(self.of_set("mix", "set.json"))["experiment"], "tatp-short")

    def test_nothing_is_drawn_where_no_run_has_ended_well(self):
        with self.assertRaisesRegex(Failure, "2 runs failed"):
            self.run_py("run", "tpcc-short", "--repetitions=2", "--set", "threads=13")
        self.assertIn("tpcc-short", self.run_py("table", "tpcc-short"))
        with self.assertRaisesRegex(Failure, "no run of tpcc-short has ended well"):
            plot.draw(record.ResultSet(self.of_set(), "tpcc-short"))

    def test_a_failed_run_is_the_exit_code(self):
        words = [sys.executable, "-B", run.__file__, "run", "tpcc-short", "--repetitions=1",
                 f"--results={self.folder}/sets", f"--build={self.folder}",
                 f"--data={self.folder}/data", "--set"]
        for threads, code in (("threads=13,1", 1), ("threads=1", 0)):
            done = subprocess.run([*words, threads, f"--as=set{code}"], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def test_nothing_is_run_into_a_set_with_other_columns(self):
        os.makedirs(self.of_set("mine"))
        with open(self.of_set("mine", "runs.csv"), "w", encoding="utf-8") as file:
            file.write("run,tps\n")
        with self.assertRaisesRegex(Failure, "other columns"):
            self.run_py("run", "tpcc-short", "--as", "mine")
        self.assertEqual(os.listdir(self.of_set("mine")), ["runs.csv"])

    def test_unknown_names_are_refused(self):
        with self.assertRaisesRegex(Failure, "there is no experiment nothing"):
            self.run_py("run", "nothing")
        with self.assertRaisesRegex(Failure, "threads=1,2,8"):
            self.run_py("run", "tpcc-short", "--set", "threads")
        with self.assertRaisesRegex(Failure, "threads=1,2,8"):
            self.run_py("run", "tpcc-short", "--set", "threads=1,,2")
        with self.assertRaisesRegex(Failure, "given once"):
            self.run_py("run", "tpcc-short", "--set", "threads=1", "--set", "threads=2")
        for name in ("path", "json", "series"):
            with self.assertRaisesRegex(Failure, f"--{name} is chosen for each run"):
                self.run_py("run", "tpcc-short", "--set", f"{name}=/x")
        for change in ("seconds=abc", "seconds=0", "warmup=-1", "memory_mib=4G", "seconds=inf"):
            with self.assertRaisesRegex(Failure, f"{change}: .* is a number from"):
                self.run_py("run", "tpcc-short", "--set", change)
        for name in ("../x", "a/b", ".", ".."):
            with self.assertRaisesRegex(Failure, "a set is named by"):
                self.run_py("run", "tpcc-short", "--as", name)
        self.assertFalse(os.path.exists(self.of_set()))
        with self.assertRaisesRegex(Failure, "no runs of nothing"):
            self.run_py("table", "nothing")
        os.remove(os.path.join(self.folder, "tpcc_peers"))
        with self.assertRaisesRegex(Failure, "tpcc_peers is not there"):
            self.run_py("run", "tpcc-short", "--set", "engine=palimpsest,lmdb")


class Comparisons(Sandbox):
    def write_set(self, name, values):
        result_set = record.ResultSet(self.of_set(), name)
        result_set.begin({})
        for variant, rates in values.items():
            for rate in rates:
                line = {"schema_version": record.SCHEMA_VERSION, "variant": variant,
                        "outcome": "done", "tps": rate}
                record.append_line(result_set.runs_file, record.RUN_COLUMNS,
                                   [line.get(column) for column in record.RUN_COLUMNS])
        return result_set

    def test_medians_ratios_and_whether_ranges_overlap(self):
        before = self.write_set("before", {"threads=1": [100, 90, 110], "threads=2": [50, 60, 55],
                                           "threads=4": [1]})
        after = self.write_set("after", {"threads=1": [220, 190, 200], "threads=2": [58, 70, 66]})
        text = tables.comparison(before, after, ["tps"])
        lines = [[cell.strip() for cell in line.strip("|").split("|")]
                 for line in text.split("\n") if line.startswith("| threads")]
        self.assertEqual(lines, [["threads=1: transactions/s", "100 ±10 %", "200 ±8 %", "2.00",
                                  "3, 3", "ranges are apart"],
                                 ["threads=2: transactions/s", "55.0 ±9 %", "66.0 ±9 %", "1.20",
                                  "3, 3", "ranges overlap"]])
        self.assertIn("only in one of them: threads=4", text)

    def test_measures_that_no_engine_has(self):
        before = self.write_set("before", {"all": [100]})
        text = tables.comparison(before, before, ["log_bytes_per_commit"])
        self.assertIn("| all: log bytes a commit |", text)
        self.assertNotIn("apart", text)

    def test_another_schema_version_is_refused(self):
        other = self.write_set("other", {"all": [100]})
        record.append_line(other.runs_file, record.RUN_COLUMNS,
                           ["99"] + [""] * (len(record.RUN_COLUMNS) - 1))
        with self.assertRaisesRegex(Failure, "schema version"):
            other.lines()


class Parts(unittest.TestCase):
    def test_a_file_is_not_appended_to_under_another_header(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.csv")
            record.append_line(path, ("a_s", "b_us"), (1, None))
            record.append_line(path, ("a_s", "b_us"), ("x,y", 2))
            with self.assertRaisesRegex(Failure, "other columns"):
                record.append_line(path, ("a_ms", "b_us"), (3, 4))
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), 'a_s,b_us\n1,\n"x,y",2\n')

    def test_variants_are_all_combinations(self):
        experiment = catalogue.find("tpcc-short").with_flags(
            {"threads": ("1", "2"), "durability": ("async", "sync")})
        names = [experiment.variant_name(flags) for flags in experiment.variants()]
        self.assertEqual(names, ["threads=1 durability=async", "threads=1 durability=sync",
                                 "threads=2 durability=async", "threads=2 durability=sync"])
        self.assertEqual(catalogue.find("tpcc-hours").variant_name({}), "all")

    def test_every_experiment_says_what_it_varies(self):
        for experiment in catalogue.EXPERIMENTS.values():
            for flags in experiment.variants():
                self.assertLessEqual({"engine", "memory_mib", "seconds", "warmup",
                                      experiment.scale_flag}, set(flags))
                self.assertFalse(any(isinstance(value, tuple) for value in flags.values()))

    def test_file_system_is_that_of_the_longest_mount_point(self):
        mounts = ("/dev/a / ext4 rw 0 0\n/dev/b /data xfs rw 0 0\n"
                  "/dev/c /data/deeper btrfs rw 0 0\n")
        self.assertEqual(environment.file_system_of("/data/some", mounts), "xfs on /dev/b")
        self.assertEqual(environment.file_system_of("/database", mounts), "ext4 on /dev/a")
        self.assertEqual(environment.file_system_of("/data/deeper", mounts), "btrfs on /dev/c")

    def test_memory_limits_are_those_of_all_groups_above(self):
        root = environment.CGROUPS
        self.assertEqual(list(environment.memory_limit_files("0::/a/b\n")),
                         [f"{root}/a/b/memory.max", f"{root}/a/memory.max"])
        self.assertEqual(list(environment.memory_limit_files("5:cpu:/x\n3:memory:/c\n0::/\n")),
                         [f"{root}/memory/c/memory.limit_in_bytes", f"{root}/memory.max"])

    def test_where_this_runs(self):
        told = environment.describe(os.getcwd())
        self.assertGreater(told["memory_total_bytes"], 1 << 20)
        self.assertNotEqual(told["file_system"], "unknown")
        json.dumps(told)


if __name__ == "__main__":
    unittest.main()
