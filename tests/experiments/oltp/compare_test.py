"""Tests of compare.py's plan, table and resuming, on results made up here."""
import json
import os
import sys
import tempfile
import types
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "experiments", "oltp"))
import compare  # noqa: E402
from comparison import plan, table  # noqa: E402
from common import cgroup  # noqa: E402
from common.comparisons import Failure  # noqa: E402
from common.databases import Databases, check_free, own_directory  # noqa: E402
from common.samples import Samples  # noqa: E402

QUICK = plan.SCALES["quick"]
IN_MEMORY = QUICK.scenarios[0]
TITLES = {IN_MEMORY.name: "in memory"}


def result(tps, **others):
    return {"tps": tps, "tpmc": tps * 27, "commits": int(tps * 2), "seconds": 2.0,
            "latency_us": {"new_order": {"p50": 100, "p99": 900}}, "log_bytes": tps * 2000,
            "aborts_by_reason": {"by_input": 7, "write_conflict": tps, "validation": 0},
            "data_bytes_start": 0, "data_bytes_end": tps * 100, "read_bytes": 4_000_000,
            "write_bytes": None, "rss_bytes_max": 3 << 20, "isolation": "none", **others}


def run(config, repetition=1, threads=2):
    return plan.Run(IN_MEMORY, config, "async", threads, repetition)


def results(**rates):
    """Results of one row: configuration -> rates of its repetitions."""
    configs = {config.engine: config for config in reversed(plan.CONFIGS)}
    made = table.Results()
    for engine, values in rates.items():
        for value in values:
            made.add(run(configs[engine]), result(value))
    return made


class Plan(unittest.TestCase):
    def test_normal_ends_in_time(self):
        scale = plan.SCALES["normal"]
        seconds = sum(plan.seconds_of(scenario, scale.repetitions, plan.ENGINES)
                      for scenario in scale.scenarios)
        self.assertEqual(scale.minutes, 40)
        self.assertLess(seconds, 40 * 60)

    def test_quick_is_quick(self):
        seconds = sum(plan.seconds_of(scenario, QUICK.repetitions, plan.ENGINES)
                      for scenario in QUICK.scenarios)
        self.assertLess(seconds, 5 * 60)

    def test_sizes_are_what_their_names_say(self):
        for scale in plan.SCALES.values():
            for scenario in scale.scenarios:
                times = scenario.data_bytes / (scenario.memory_mib * plan.MIB)
                if scenario.capped:
                    self.assertAlmostEqual(times, float(scenario.name.split("-")[0]), delta=0.1)
                else:
                    self.assertLess(times * 1.3, 1)

    def test_no_engine_can_cache_its_data(self):
        for scale in ("normal", "full"):
            for scenario in plan.SCALES[scale].scenarios:
                for engine in plan.ENGINES if scenario.capped else ():
                    self.assertLess(cgroup.cap_bytes(engine, scenario.memory_mib),
                                    scenario.data_bytes)

    def test_interleaved(self):
        runs = plan.runs_of(IN_MEMORY, 2, plan.ENGINES)
        self.assertEqual([each.repetition for each in runs], sorted(each.repetition for each in runs))
        half = len(runs) // 2
        self.assertEqual([each.config for each in runs[:half]], [each.config for each in runs[half:]])
        self.assertEqual(len({each.file_stem for each in runs}), len(runs))

    def test_without_conflicts_is_for_one_thread_in_memory(self):
        for scale in plan.SCALES.values():
            for scenario in scale.scenarios:
                found = [each.threads for each in plan.runs_of(scenario, 1, plan.ENGINES)
                         if each.config is plan.NO_CONFLICTS]
                self.assertEqual(found, [] if scenario.capped else [1] * len(scenario.durabilities))

    def test_only_engines_asked_for(self):
        engines = {each.config.engine for each in plan.runs_of(IN_MEMORY, 1, ["lmdb", "wiredtiger"])}
        self.assertEqual(engines, {"lmdb", "wiredtiger"})

    def test_space_for_all_engines_and_a_copy(self):
        self.assertGreater(plan.disk_bytes(IN_MEMORY, plan.ENGINES),
                           IN_MEMORY.data_bytes * (len(plan.ENGINES) + 1))


class Medians(unittest.TestCase):
    def test_of_nothing(self):
        self.assertIsNone(Samples.of([]))
        self.assertIsNone(Samples.of([None, None]))

    def test_median_and_spread(self):
        samples = Samples.of([10, None, 30, 11])
        self.assertEqual((samples.median, samples.least, samples.most), (11, 10, 30))
        self.assertAlmostEqual(samples.spread, 20 / 2 / 11)
        self.assertIsNone(Samples.of([0, 0]).spread)
        self.assertIsNone(Samples.of([5]).spread)

    def test_apart(self):
        self.assertTrue(Samples.of([1, 2]).apart_from(Samples.of([3, 4])))
        self.assertTrue(Samples.of([5, 6]).apart_from(Samples.of([3, 4])))
        self.assertFalse(Samples.of([1, 3]).apart_from(Samples.of([3, 4])))


class Table(unittest.TestCase):
    def cells(self, made):
        text = table.report(made, TITLES)
        return [[cell.strip() for cell in line.strip("|").split("|")]
                for line in text.split("\n") if line.startswith("|")], text

    def test_medians_ratios_and_costs(self):
        lines, _ = self.cells(results(palimpsest=[90, 110, 100], lmdb=[50, 50, 20]))
        self.assertEqual(lines[2][:4], ["in memory; async, 2 threads", "palimpsest (none)",
                                        "100 ±10 %", "1.00"])
        self.assertEqual(lines[3][:4], ["", "lmdb (none)", "50.0 ±30 %", "2.00"])
        head = lines[0]
        ours = dict(zip(head, lines[2]))
        self.assertEqual(ours["conflicts a commit"], "0.500")
        self.assertEqual(ours["log bytes a commit"], "1,000")
        self.assertEqual(ours["read, MB/s"], "2.0")
        self.assertEqual(ours["written, MB/s"], "–")
        self.assertEqual(ours["rss, MiB"], "3.0")

    def test_a_failed_run_is_named_and_left_out(self):
        made = results(palimpsest=[100], wiredtiger=[40])
        wiredtiger = next(config for config in plan.CONFIGS if config.engine == "wiredtiger")
        made.add(run(wiredtiger, 2), {"failed": "killed"})
        lmdb = next(config for config in plan.CONFIGS if config.engine == "lmdb")
        made.add(run(lmdb), {"failed": "exit code 1"})
        lines, text = self.cells(made)
        self.assertEqual(lines[3][1:4], ["wiredtiger (none)", "40.0", "2.50"])
        self.assertEqual(lines[4][1:4], ["lmdb (serializable)", "–", "–"])
        self.assertIn("wiredtiger, in memory; async, 2 threads: 1 of 2 runs failed (killed)", text)

    def test_json_has_the_same_and_the_range(self):
        made = table.to_json(results(palimpsest=[90, 110, 100]), {IN_MEMORY.name: IN_MEMORY})
        self.assertEqual(made["schema_version"], table.SCHEMA_VERSION)
        row, = made["rows"]
        self.assertEqual(row["tps"], {"median": 100, "least": 90, "most": 110, "runs": 3})
        self.assertEqual((row["engine"], row["threads"], row["memory_capped"]),
                         ("palimpsest", 2, False))
        self.assertIsNone(row["written_mb_per_s"])


class Resuming(unittest.TestCase):
    def comparison(self, folder, **others):
        return compare.Comparison(types.SimpleNamespace(**{
            "scale": "quick", "engines": list(plan.ENGINES), "scenario": None, "minutes": None,
            "resume": folder, "results": folder, "data": folder, "build": folder, **others}))

    def test_goes_on_as_it_was_begun_only(self):
        with tempfile.TemporaryDirectory() as folder:
            begun = self.comparison(folder)
            with self.assertRaisesRegex(Failure, "holds no comparison"):
                begun.check_resumed()
            with open(begun.result_file("config.json"), "w", encoding="utf-8") as file:
                json.dump(begun.config(), file)
            begun.check_resumed()
            with open(begun.result_file("config.json"), "w", encoding="utf-8") as file:
                json.dump({**begun.config(), "schema_version": 99}, file)
            with self.assertRaisesRegex(Failure, "another version"):
                begun.check_resumed()
            with open(begun.result_file("config.json"), "w", encoding="utf-8") as file:
                json.dump(begun.config(), file)
            with self.assertRaisesRegex(Failure, "engines"):
                self.comparison(folder, engines=["lmdb"]).check_resumed()

    def test_makes_what_is_missing_or_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            begun, first = self.comparison(folder), run(plan.PALIMPSEST)
            os.makedirs(begun.result_file(IN_MEMORY.name))
            self.assertIsNone(begun.earlier_result(first))
            for kept, expected in ((result(5), 5), ({"failed": "killed"}, None)):
                with open(begun.result_file(first.file_stem + ".json"), "w", encoding="utf-8") as file:
                    json.dump(kept, file)
                found = begun.earlier_result(first)
                self.assertEqual(found["tps"] if found else None, expected)


class Copies(unittest.TestCase):
    def test_a_copy_is_whole_and_goes_away(self):
        with tempfile.TemporaryDirectory() as folder:
            databases = Databases(os.path.join(folder, "data"))
            os.makedirs(os.path.join(databases.path("lmdb"), "data"))
            with open(os.path.join(databases.path("lmdb"), "data", "file"), "w",
                      encoding="utf-8") as file:
                file.write("rows")
            with databases.copy_of("lmdb") as path:
                with open(os.path.join(path, "data", "file"), "a+", encoding="utf-8") as file:
                    file.write(" changed")
            self.assertFalse(os.path.exists(path))
            with open(os.path.join(databases.path("lmdb"), "data", "file"), encoding="utf-8") as file:
                self.assertEqual(file.read(), "rows")
            databases.remove_all()
            self.assertEqual(os.listdir(folder), [])

    def test_what_killed_processes_have_left_is_removed(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("bench-999999999", f"bench-{os.getppid()}", "bench-", "other-999999999"):
                os.makedirs(os.path.join(folder, name, "data"))
            own = own_directory(folder, "bench")
            self.assertEqual(own, os.path.join(folder, f"bench-{os.getpid()}"))
            self.assertEqual(sorted(os.listdir(folder)),
                             ["bench-", f"bench-{os.getppid()}", "other-999999999"])

    def test_a_disk_too_small_is_noticed_before(self):
        with tempfile.TemporaryDirectory() as folder:
            check_free(folder, 1, "nothing much")
            with self.assertRaisesRegex(Failure, "too much needs .* GiB are free"):
                check_free(folder, 1 << 60, "too much")


if __name__ == "__main__":
    unittest.main()
