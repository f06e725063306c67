"""Tests of compare.py's plan and tables, on results made up here."""
import json
import os
import sys
import tempfile
import types
import unittest
import unittest.mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "experiments", "bulk"))
import compare  # noqa: E402
from comparison import files, plan, table  # noqa: E402

NORMAL, QUICK = plan.SCALES["normal"], plan.SCALES["quick"]


def run_of(part, name, row=None, repetition=1):
    variant = next(each for each in plan.variants_of(part, NORMAL, plan.ENGINES)
                   if each.name == name and row in (None, each.row))
    return plan.Run(variant, repetition)


def cells(markdown):
    return [[cell.strip() for cell in line.strip("|").split("|")]
            for line in markdown.split("\n")]


class Plan(unittest.TestCase):
    def test_rounds_are_interleaved(self):
        for part in plan.PARTS:
            variants = plan.variants_of(part, NORMAL, plan.ENGINES)
            runs = plan.runs_of(part, NORMAL, plan.ENGINES)
            self.assertEqual([run.variant for run in runs],
                             [variant for done in range(NORMAL.rounds) for variant in variants
                              if done < variant.rounds_max])
            steps = [(run, step) for run in runs for step in run.variant.steps]
            self.assertEqual(len({run.file_stem(step) for run, step in steps}), len(steps))
            self.assertEqual([run for run in runs if run.repetition == 1],
                             [plan.Run(variant, 1) for variant in variants])

    def test_it_ends_in_time(self):
        for scale in plan.SCALES.values():
            seconds = sum(plan.seconds_of(part, scale, plan.ENGINES) for part in plan.PARTS)
            self.assertLess(seconds, scale.minutes * 60)

    def test_loads_are_compared_with_the_same_memory(self):
        flags = [step.flags for variant in plan.variants_of("load", NORMAL, ())
                 for step in variant.steps]
        self.assertEqual({flag for each in flags for flag in each if flag.startswith("--memory")},
                         {"--memory_mib=4096"})

    def test_only_engines_asked_for(self):
        variants = plan.variants_of("range", QUICK, ["lmdb", "palimpsest_bulk"])
        self.assertEqual([variant.name for variant in variants], ["palimpsest_bulk", "lmdb"])
        self.assertEqual([step.name for step in variants[0].steps],
                         ["ingest", "check_ingest", "erase", "check_erase"])
        self.assertEqual([step.name for step in variants[1].steps], ["ingest", "erase"])

    def test_ten_times_the_memory_from_unsorted_input(self):
        for scale in plan.SCALES.values():
            name = files.TENFOLD
            memory = scale.files.memory_mib_of(name) * files.MIB
            self.assertGreater(scale.files.csv_mb(name) * 1e6, 10 * memory)
            self.assertIn("--order=shuffled", files.input_flags(scale.files, name))
            runs = [run for run in plan.runs_of("files", scale, plan.ENGINES)
                    if run.variant.row == name]
            self.assertEqual([run.variant.name for run in runs], list(scale.files.tenfold_engines))

    def test_all_programs_read_the_same_file_with_the_same_memory(self):
        for variant in plan.variants_of("files", NORMAL, plan.ENGINES):
            step, = variant.steps
            self.assertEqual(step.input, variant.row)
            self.assertIn(f"--memory_mib={NORMAL.files.memory_mib_of(variant.row)}", step.flags)

    def test_space_for_the_largest_part(self):
        each = [plan.disk_bytes([part], NORMAL) for part in plan.PARTS]
        self.assertEqual(plan.disk_bytes(plan.PARTS, NORMAL), max(each))
        self.assertGreater(min(each), 1 << 30)


class Engines(unittest.TestCase):
    def comparison(self, folder, parts, engines):
        return compare.Comparison(types.SimpleNamespace(
            scale="quick", scale_factor=None, csv_factor=None, parts=parts, engines=engines, minutes=None, data=folder,
            build=folder, results=folder))

    def test_what_is_not_installed_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder, \
                unittest.mock.patch.object(files, "missing", lambda engine, directory:
                                           "not installed" if engine == "sqlite" else None):
            comparison = self.comparison(folder, ["files"], ["sqlite", "lmdb"])
            comparison.leave_out_missing()
            self.assertEqual([each.name for each in comparison.variants("files")], ["lmdb", "lmdb"])

    def test_parts_without_their_engines_are_refused(self):
        with tempfile.TemporaryDirectory() as folder, \
                self.assertRaisesRegex(compare.Failure, "none of these engines"):
            self.comparison(folder, ["range"], ["parser"]).check()

    def test_content_is_compared_with_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            comparison = self.comparison(folder, ["files"], ["lmdb"])
        comparison.contents = {files.SORTED: {"rows": 7, "order_keys": 30}}
        self.assertIsNone(comparison.difference(files.SORTED, {"content": {"rows": 7}}))
        self.assertEqual(
            comparison.difference(files.SORTED, {"content": {"rows": 7, "order_keys": 29}}),
            "order_keys: 29 in the database, 30 in the file")


class Tables(unittest.TestCase):
    def setUp(self):
        self.results = table.Results()

    def add(self, run, result):
        self.results.add(run, run.variant.steps[0], result)

    def load(self, name, seconds, versions):
        self.add(run_of("load", name, "1 thread"),
                 {"seconds": seconds, "version_bytes_max": versions, "rows_per_s": 1000 / seconds})

    def test_a_load_within_ten_percent(self):
        for off, bulk in ((10, 10), (12, 11), (10, 14)):
            self.load(plan.OFF, off, 4000)
            self.load(plan.BULK, bulk, 4000)
        text = table.report(self.results)
        self.assertIn("1 thread: a bulk takes 1.10 of the seconds of a load without versions, within "
                      "10 % of it, and at most 4,000 bytes of versions (without versions: 4,000).", text)
        self.assertIn("1 thread: bulk", text)
        self.assertIn("±", text)

    def test_a_load_that_takes_too_long(self):
        self.load(plan.OFF, 10, 0)
        self.load(plan.BULK, 12, 5)
        self.assertIn("1.20 of the seconds of a load without versions, NOT within", table.report(
            self.results))

    def test_files_by_their_speed(self):
        for name, rate in ((files.PALIMPSEST, 90), ("rocksdb", 60), ("postgresql_logged", 30)):
            self.add(run_of("files", name, files.SHUFFLED),
                     {"mb_per_s": rate, "seconds": 2, "settled_seconds": 3, "rows": 1000})
        header, _, line = cells(table.files_ratios(self.results))
        by_name = dict(zip(header, line))
        self.assertEqual(by_name["times the MB/s of"], files.SHUFFLED)
        self.assertEqual(by_name["rocksdb"], "1.50")
        self.assertEqual(by_name["postgresql_logged"], "3.00")
        self.assertEqual(by_name["sqlite"], "–")
        self.assertIn(" 500 |", table.report(self.results))

    def test_a_failed_run_is_named_and_left_out(self):
        self.load(plan.SNAPSHOT, 10, 0)
        self.add(run_of("load", plan.ONE_TRANSACTION), {"failed": "version_budget_exceeded"})
        text = table.report(self.results)
        self.assertIn("load, 1 thread, snapshot, one a table: 1 of 1 runs failed "
                      "(version_budget_exceeded)", text)

    def test_reading_beside(self):
        for name, rate in ((plan.NOTHING, 100), (plan.TRANSACTIONS, 40), (plan.BULKS, 80)):
            self.add(run_of("beside", name, "full scans"), {
                "phases": [{"phase": "beside", "reads_per_s": rate, "read_latency_us": {"p50": 3}}]})
        header, _, line = cells(table.beside(self.results)[0])
        by_name = dict(zip(header, line))
        self.assertEqual(by_name["a second"], "full scans")
        self.assertEqual(by_name["beside bulks"], "80.0")
        self.assertEqual(by_name["transactions / nothing"], "0.40")
        self.assertEqual(by_name["bulks / transactions"], "2.00")

    def test_before_during_and_after(self):
        phases = [{"phase": name, "seconds": 1, "reads_per_s": rate,
                   "read_latency_us": {"p50": 1, "p99": 2, "max": 3}}
                  for name, rate in (("before", 500), ("during", 400), ("after", 600))]
        self.add(run_of("window", plan.BULKS), {"phases": phases})
        lines = cells(table.window(self.results)[0])
        self.assertEqual([line[:3] for line in lines[2:]],
                         [["bulks: before", "1.0", "500"], ["bulks: during", "1.0", "400"],
                          ["bulks: after", "1.0", "600"]])

    def test_free_pages_as_the_check_says(self):
        said = [{"kind": "file", "page_bytes": 4096, "pages": 9}, {"kind": "log"},
                {"kind": "pages", "in_use": 4, "free": 5}]
        self.assertEqual(compare.free_bytes("\n".join(map(json.dumps, said))), 5 * 4096)


if __name__ == "__main__":
    unittest.main()
