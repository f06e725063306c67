"""Tests of compare.py's plan and tables, on results made up here."""
import os
import stat
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "experiments", "kv_bench"))
import compare  # noqa: E402
from comparison import fio, plan, table  # noqa: E402
from common import cgroup  # noqa: E402

ROW = ("beyond-memory", "mixed", 8)


def result(ops, reads=0, resident=100, before=0, memory=100 * plan.MIB):
    return {"ops_per_s": ops, "page_reads_per_s": reads, "resident_bytes_max": resident * plan.MIB,
            "resident_bytes_before_open": before * plan.MIB, "memory_bytes": memory}


def results(**rates):
    """Results of one row: configuration -> rates of its repetitions (underscores for blanks)."""
    made = table.Results()
    for config, values in rates.items():
        for value in values:
            made.add(*ROW, config, result(value))
    return made


def cells(markdown):
    return [[cell.strip() for cell in line.strip("|").split("|")]
            for line in markdown.split("\n")]


class Numbers(unittest.TestCase):
    def test_number(self):
        self.assertEqual(table.number(None), "–")
        self.assertEqual(table.number(12_345_678), "12.3 M")
        self.assertEqual(table.number(1234.4), "1,234")
        self.assertEqual(table.number(7.26), "7.3")

    def test_ratio_of_nothing(self):
        self.assertEqual(table.ratio(None, 5), "–")
        self.assertEqual(table.ratio(5, None), "–")
        self.assertEqual(table.ratio(5, 0), "–")
        self.assertEqual(table.ratio(5, 4), "1.25")

    def test_percent(self):
        self.assertEqual(table.percent(1, 3), "33 %")
        self.assertEqual(table.percent(1, 0), "–")


class Medians(unittest.TestCase):
    def test_the_middle_not_the_mean(self):
        made = results(palimpsest=[10, 1000, 20])
        self.assertEqual(made.median(ROW, "palimpsest", "ops_per_s"), 20)
        self.assertEqual(made.samples(ROW, "palimpsest", "ops_per_s").spread, 990 / 2 / 20)

    def test_failed_runs_are_left_out(self):
        made = results(palimpsest=[10, 30])
        made.add(*ROW, "palimpsest", {"failed": "killed"})
        self.assertEqual(made.median(ROW, "palimpsest", "ops_per_s"), 20)
        made.add(*ROW, "lmdb", {"failed": "killed"})
        self.assertIsNone(made.median(ROW, "lmdb", "ops_per_s"))
        self.assertIsNone(made.samples(ROW, "lmdb", "ops_per_s"))


class Throughput(unittest.TestCase):
    def test_ratios_are_of_medians(self):
        made = results(palimpsest=[100, 90, 120], lmdb=[50, 50, 1], rocksdb=[200, 80, 80])
        header, _, line = cells(table.throughput(made, "beyond-memory"))
        by_name = dict(zip(header, line))
        self.assertEqual(by_name["per second"], "mixed, 8 threads")
        self.assertEqual(by_name["palimpsest"], "100 ±15 %")
        self.assertEqual(by_name["ours / lmdb"], "2.00")
        self.assertEqual(by_name["ours / rocksdb"], "1.25")
        self.assertEqual(by_name["ours / best peer"], "1.25")
        self.assertNotIn("wiredtiger", header)

    def test_a_missing_peer_leaves_its_cells_empty(self):
        made = results(palimpsest=[100], lmdb=[50])
        made.add("beyond-memory", "lookup", 1, "palimpsest", result(70))
        lines = cells(table.throughput(made, "beyond-memory"))
        self.assertEqual(lines[3][1:], ["70.0", "–", "–", "–"])

    def test_figures_say_of_how_many_rounds_they_are(self):
        made = results(palimpsest=[100, 100], lmdb=[50])
        for config, failures in (("lmdb", 2), ("rocksdb", 3)):
            for _ in range(failures):
                made.add(*ROW, config, {"failed": "killed"})
        line = cells(table.throughput(made, "beyond-memory"))[2]
        self.assertEqual(line[1:4], ["100 ±0 %", "50.0 (1 of 3 rounds)", "– (0 of 3 rounds)"])
        text = table.report(made, [("beyond-memory", "Beyond")])
        self.assertIn("lmdb, mixed, 8 threads: 2 of 3 runs failed (killed)", text)

    def test_single_write_of_ours_is_no_peer(self):
        made = results(**{"palimpsest": [100], "bare tree": [100],
                          "bare tree, single write": [400], "lmdb": [50]})
        header, _, line = cells(table.throughput(made, "beyond-memory"))
        self.assertEqual(dict(zip(header, line))["ours / best peer"], "2.00")
        self.assertEqual(table.double_write_cost(made, "beyond-memory"),
                         ["double-write, mixed, 8 threads: 25 % of the throughput without"])

    def test_tables_are_rectangular(self):
        made = results(palimpsest=[100, 101], lmdb=[5_000_000, 1])
        lines = table.throughput(made, "beyond-memory").split("\n")
        self.assertEqual(len({len(line) for line in lines}), 1)


class Device(unittest.TestCase):
    def test_share_of_fio(self):
        made = table.Results()
        made.add("beyond-memory", "lookup", 8, "palimpsest", result(10, reads=900))
        made.add("beyond-memory", "lookup", 8, "fio", {"page_reads_per_s": 1000})
        lines = cells(table.device_share(made, "beyond-memory"))
        self.assertEqual(lines[2], ["lookup, 8 in flight", "1,000", "900 (90 %)"])

    def test_nothing_without_fio(self):
        self.assertIsNone(table.device_share(results(palimpsest=[1]), "beyond-memory"))

    def test_fio_output_with_warnings(self):
        text = ('fio: this is a warning\n{"jobs": [{"error": 0, "read": {"iops": 5.5, "clat_ns": '
                '{"percentile": {"50.000000": 80000, "99.000000": 300000}}}}]}')
        summary = fio.summary_of(fio.parse(text), "libaio", 4, 8)
        self.assertEqual(summary["page_reads_per_s"], 5.5)
        self.assertEqual(summary["latency_us"], {"p50": 80, "p99": 300})

    def test_fio_failures_are_noticed(self):
        for text in ("", "cannot open file", '{"jobs": [{"error": 5, "read": {}}]}'):
            with self.assertRaises(ValueError):
                fio.parse(text)


class Resident(unittest.TestCase):
    def judged(self, *grown):
        made = table.Results()
        for resident in grown:
            made.add(*ROW, "palimpsest", result(1, resident=resident + 7, before=7))
        return table.resident(made)

    def test_the_worst_run_counts(self):
        self.assertIn("104.0 %: within 105 %", self.judged(90, 104, 95))
        self.assertIn("106.0 %: ABOVE 105 %", self.judged(90, 106, 95))

    def test_peers_are_shown_and_not_judged(self):
        made = table.Results()
        made.add(*ROW, "wiredtiger", result(1, resident=200))
        self.assertIn("200.0 %", table.resident(made))
        self.assertNotIn("105", table.resident(made))


class Plan(unittest.TestCase):
    ENGINES = list(plan.LOAD_RATE)

    def test_repetitions_are_interleaved(self):
        for repetitions, scenarios in plan.SCALES.values():
            self.assertGreaterEqual(repetitions, 3)
            for scenario in scenarios:
                runs = plan.runs_of(scenario, repetitions, self.ENGINES, True)
                numbers = [run.repetition for run in runs]
                self.assertEqual(numbers, sorted(numbers))
                neighbours = zip(runs, runs[1:])
                self.assertFalse([1 for a, b in neighbours
                                  if a.config == b.config and a.workload == b.workload
                                  and a.threads == b.threads])
                self.assertEqual(len({run.file_stem for run in runs}), len(runs))

    def test_double_write_is_compared_where_pages_are_written(self):
        for scenario in plan.SCALES["full"][1]:
            for run in plan.runs_of(scenario, 1, self.ENGINES, True):
                if run.config == plan.NO_DOUBLE_WRITE:
                    self.assertTrue(run.workload.writes)

    def test_data_is_four_times_memory(self):
        for _, scenarios in plan.SCALES.values():
            for scenario in scenarios:
                share = scenario.payload_bytes / (scenario.memory_mib * plan.MIB)
                if scenario.capped:
                    self.assertAlmostEqual(share, 4, places=3)
                else:
                    self.assertLess(share * 1.3, 1)

    def test_no_engine_can_cache_its_data(self):
        for scale in ("normal", "full"):
            for scenario in plan.SCALES[scale][1]:
                if scenario.capped:
                    for config in plan.configs_of(scenario.workloads[1], self.ENGINES):
                        self.assertLess(cgroup.cap_bytes(config.engine, scenario.memory_mib),
                                        scenario.payload_bytes * 0.6)

    def test_quick_is_quick(self):
        repetitions, scenarios = plan.SCALES["quick"]
        seconds = sum(plan.seconds_of(scenario, repetitions, self.ENGINES, True)
                      for scenario in scenarios)
        self.assertLess(seconds, 180)

    def test_space_covers_all_engines(self):
        scenario = plan.SCALES["quick"][1][0]
        self.assertGreater(plan.disk_bytes(scenario, self.ENGINES, False),
                           scenario.payload_bytes * len(self.ENGINES))


class Failures(unittest.TestCase):
    """compare.py as a program, with a driver that is made up here."""

    def run_with(self, driver):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kv_bench")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + driver)
            os.chmod(path, stat.S_IRWXU)
            done = subprocess.run(
                [sys.executable, "-B", compare.__file__, "--quick", "--scenario=in-memory",
                 "--engines", "palimpsest", f"--build={folder}", f"--data={folder}/data",
                 f"--results={folder}/results"],
                capture_output=True, text=True, timeout=60, check=False)
            self.assertNotIn("Traceback", done.stderr)
            self.assertEqual(done.returncode, 1, done.stdout)
            return done.stdout

    def test_a_load_that_fails(self):
        self.assertRegex(self.run_with("exit 3"), "compare: loading palimpsest: exit code 3.*load.log")

    def test_runs_that_fail(self):
        printed = self.run_with('for flag; do [ "$flag" = --mode=load ] && exit 0; done; exit 3')
        self.assertIn("palimpsest, lookup, 1 threads: 3 of 3 runs failed (exit code 3", printed)
        self.assertIn("compare: 9 runs failed:", printed)

    def test_a_seed_is_given_where_it_means_something(self):
        printed = self.run_with(
            'for flag; do case "$flag" in --mode=load) exit 0;; --mode=scan) scans=1;; --seed=*) seeds=1;;'
            ' esac; done; [ "$scans$seeds" = 1 ] && exit 4; exit 5')
        self.assertNotIn("exit code 5", printed)


class Report(unittest.TestCase):
    def test_scenarios_without_results_are_left_out(self):
        text = table.report(results(palimpsest=[1]),
                            [("in-memory", "In memory"), ("beyond-memory", "Beyond")])
        self.assertIn("## Beyond", text)
        self.assertNotIn("## In memory", text)


if __name__ == "__main__":
    unittest.main()
