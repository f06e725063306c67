"""Tests of compare.py's plan and tables, on results made up here."""
import os
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "experiments", "log_bench"))
from comparison import plan, table  # noqa: E402


def run(config="palimpsest", durability="sync", threads=8, series=False):
    return plan.Run(next(each for each in plan.CONFIGS if each.name == config), durability, threads,
                    1, 1, 0, series)


def result(rate, p99=10, log_bytes=100):
    return {"commits_per_s": rate, "latency_us": {"p50": 5, "p99": p99, "p999": 20},
            "log_record_bytes_per_commit": log_bytes, "durable_by": "hope"}


def step(commits, p99=1.0, longest=1.0):
    return {"seconds": 0, "commits": commits, "p50_us": 1.0, "p99_us": p99, "max_us": longest}


def cells(markdown):
    return [[cell.strip() for cell in line.strip("|").split("|")]
            for line in markdown.split("\n")]


class Rates(unittest.TestCase):
    def setUp(self):
        self.results = table.Results()
        for rate in (10, 1000, 20):
            self.results.add(run(), result(rate))
        for rate in (50, 40, 60):
            self.results.add(run("rocksdb"), result(rate))
        self.results.add(run("lmdb"), {"failed": "killed"})

    def test_medians_and_the_best_peer(self):
        header, _, line = cells(table.rates(self.results, "sync"))
        by_name = dict(zip(header, line))
        self.assertEqual(by_name["commits per second"], "8 threads")
        self.assertEqual(by_name["palimpsest"], "20.0 ±2475 %")
        self.assertEqual(by_name["rocksdb"], "50.0 ±20 %")
        self.assertEqual(by_name["lmdb"], "– (0 of 1 rounds)")
        self.assertEqual(by_name["ours / best peer"], "0.40")

    def test_latencies(self):
        header, _, line = cells(table.latencies(self.results, "sync"))
        by_name = dict(zip(header, line))
        self.assertEqual(by_name["rocksdb"], "5.0 / 10.0 / 20.0")
        self.assertEqual(by_name["lmdb"], "– / – / –")

    def test_without_ours_there_is_no_ratio(self):
        results = table.Results()
        results.add(run("rocksdb"), result(5))
        self.assertEqual(cells(table.rates(results, "sync"))[2][-1], "–")


class LogBytes(unittest.TestCase):
    def test_the_fewest_threads_count(self):
        results = table.Results()
        results.add(run(threads=8), result(1, log_bytes=70))
        results.add(run(threads=1), result(1, log_bytes=90))
        self.assertEqual(cells(table.log_bytes(results))[2], ["palimpsest, sync", "90.0", "–"])


class Series(unittest.TestCase):
    def test_a_stall_shows(self):
        steps = [step(100), step(100, 2.0), step(0, 0, 0), step(90, 3.0), step(10, 80.0, 120.0)]
        summary = table.series_summary(steps)
        self.assertEqual(summary, {"typical": 90, "least": 0, "p99_typical": 2.5, "p99_worst": 80.0,
                                   "max": 120.0})

    def test_nothing_but_stalls(self):
        self.assertIsNone(table.series_summary([step(0)])["p99_typical"])

    def test_series_are_no_rounds(self):
        results = table.Results()
        results.add(run(series=True), {"series": [step(5, 4.0), step(7, 2.0)], "checkpoints": 3})
        self.assertEqual(results.rows, {})
        line = cells(table.steps(results, "sync"))[2]
        self.assertEqual(line, ["palimpsest", "6.0", "5.0", "3.0", "4.0", "1.33", "1.0", "3"])
        self.assertIsNone(table.steps(results, "async"))

    def test_a_failed_series_is_left_out(self):
        results = table.Results()
        results.add(run(series=True), {"failed": "killed"})
        self.assertIsNone(table.steps(results, "sync"))


class Report(unittest.TestCase):
    def test_tables_are_rectangular_and_sections_in_order(self):
        results = table.Results()
        for durability in plan.DURABILITIES:
            results.add(run(durability=durability), result(5))
            results.add(run("sqlite", durability), result(5_000_000))
        text = table.report(results)
        self.assertLess(text.index("Synchronous"), text.index("Asynchronous"))
        self.assertIn("| sqlite, async", text)
        for part in text.split("\n\n"):
            lines = part.strip().split("\n")
            if lines[0].startswith("|"):
                self.assertEqual(len({len(line) for line in lines}), 1, part)


class Plan(unittest.TestCase):
    def test_rounds_are_interleaved(self):
        for scale in plan.SCALES.values():
            runs = plan.runs_of(scale, plan.ENGINES)
            self.assertEqual(len({each.file_stem for each in runs}), len(runs))
            self.assertFalse([1 for a, b in zip(runs, runs[1:]) if a.config == b.config])

    def test_times(self):
        self.assertLess(plan.seconds_of(plan.SCALES["normal"], plan.ENGINES), 28 * 60)
        self.assertLess(plan.seconds_of(plan.SCALES["quick"], plan.ENGINES), 200)

    def test_flush_time_is_given_where_it_means_something(self):
        scale = plan.SCALES["normal"]
        self.assertIn("--flush_ms=5", run(durability="async").flags(scale))
        self.assertFalse([flag for flag in run().flags(scale) if "flush" in flag])

    def test_series_of_every_engine(self):
        series = [each for each in plan.runs_of(plan.SCALES["normal"], plan.ENGINES)
                  if each.series]
        self.assertEqual({each.config.engine for each in series}, set(plan.ENGINES))
        self.assertGreaterEqual(min(each.seconds for each in series),
                                3 * plan.SERIES_CHECKPOINT_MS / 1000)

    def test_checkpoints_run_in_every_series(self):
        for each in plan.runs_of(plan.SCALES["normal"], plan.ENGINES):
            by_log = [flag for flag in each.flags(plan.SCALES["normal"]) if "log_mib" in flag]
            self.assertEqual(bool(by_log), each.series and each.config is plan.PALIMPSEST)

    def test_checkpoints_go_by_time_where_an_engine_takes_them_so(self):
        for each in plan.runs_of(plan.SCALES["normal"], plan.ENGINES):
            by_time = [flag for flag in each.flags(plan.SCALES["normal"]) if "checkpoint" in flag]
            self.assertEqual(bool(by_time),
                             each.series and each.config.engine in ("rocksdb", "wiredtiger"))

    def test_engines_can_be_chosen(self):
        names = {each.config.name for each in plan.runs_of(plan.SCALES["quick"], ["rocksdb"])}
        self.assertEqual(names, {"rocksdb", "rocksdb, merge"})


if __name__ == "__main__":
    unittest.main()
