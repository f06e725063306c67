"""Tests of compare.py's plan, table and resuming, on results made up here."""
import io
import json
import os
import stat
import subprocess
import sys
import tempfile
import types
import unittest
from contextlib import redirect_stderr, redirect_stdout

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "experiments", "oltp"))
import compare  # noqa: E402
from comparison import goals, plan, plot, scenarios, table  # noqa: E402
from common import cgroup  # noqa: E402
from common.comparisons import Failure  # noqa: E402
from common.databases import Databases, check_free, own_directory  # noqa: E402
from common.samples import Samples  # noqa: E402

QUICK, NORMAL = scenarios.SCALES["quick"], scenarios.SCALES["normal"]
IN_MEMORY = scenarios.in_memory(2, 1024, plan.cases((1, 2)), 2, 1)
CONFIGS = {config.engine: config for config in reversed(IN_MEMORY.configs)}


def result(tps, **others):
    return {"tps": tps, "tpmc": tps * 27, "commits": int(tps * 2), "seconds": 2.0,
            "latency_us": {"new_order": {"p50": 100, "p99": 900}}, "log_bytes": tps * 2000,
            "aborts_by_reason": {"by_input": 7, "write_conflict": tps, "validation": 0},
            "data_bytes_start": 0, "data_bytes_end": tps * 100, "read_bytes": 4_000_000,
            "write_bytes": None, "rss_bytes_max": 3 << 20, "isolation": "none", **others}


def run(config, repetition=1, scenario=IN_MEMORY):
    return plan.Run(scenario, config, scenario.cases[-1], repetition)


def results(scenario=IN_MEMORY, **rates):
    """Results of the scenario's last case: engine -> rates of its repetitions."""
    made = table.Results()
    for engine, values in rates.items():
        for repetition, value in enumerate(values, 1):
            made.add(run(CONFIGS[engine], repetition, scenario), result(value))
    return made


def named(name, scale=NORMAL):
    return next(scenario for scenario in scale.scenarios if scenario.name == name)


class Plan(unittest.TestCase):
    def test_ends_in_time(self):
        for scale, minutes in ((NORMAL, 40), (QUICK, 5)):
            seconds = plan.estimates_of(scale.chosen(None), scale.repetitions, plan.ENGINES)
            self.assertLess(sum(seconds), minutes * 60)
        self.assertEqual(NORMAL.minutes, 40)

    def test_what_does_not_fit_is_asked_for_by_name(self):
        self.assertEqual([scenario.name for scenario in NORMAL.scenarios
                          if scenario not in NORMAL.chosen(None)],
                         ["2.5-times-memory-8-threads", "version-memory", "queue"])
        chosen = NORMAL.chosen(["queue", "scan"])
        self.assertEqual([scenario.name for scenario in chosen], ["scan", "queue"])
        self.assertTrue(all(scenario.seconds >= 600 for scenario in NORMAL.scenarios if scenario.flat))
        for scale in ("quick", "full"):
            whole = scenarios.SCALES[scale]
            self.assertEqual(whole.chosen(None), list(whole.scenarios))

    def test_names_are_files_of_their_own(self):
        for scale in scenarios.SCALES.values():
            stems = [each.file_stem for scenario in scale.scenarios
                     for each in plan.runs_of(scenario, 2, plan.ENGINES)]
            self.assertEqual(len(set(stems)), len(stems))

    def test_sizes_are_what_their_names_say(self):
        for scale in scenarios.SCALES.values():
            for scenario in scale.scenarios:
                times = scenario.data_bytes / (scenario.memory_mib * plan.MIB)
                if scenario.name.endswith("-times-memory"):
                    self.assertAlmostEqual(times, float(scenario.name.split("-")[0]), delta=0.1)
                elif scenario.capped:
                    self.assertGreater(times, 1.2)
                else:
                    self.assertLess(times * 1.3, 1)

    def test_no_engine_can_cache_its_data(self):
        for scale in ("normal", "full"):
            for scenario in scenarios.SCALES[scale].scenarios:
                for engine in plan.ENGINES if scenario.name.endswith("-times-memory") else ():
                    self.assertLess(cgroup.cap_bytes(engine, scenario.memory_mib),
                                    scenario.data_bytes)

    def test_interleaved(self):
        runs = plan.runs_of(IN_MEMORY, 2, plan.ENGINES)
        self.assertEqual([each.repetition for each in runs], sorted(each.repetition for each in runs))
        half = len(runs) // 2
        self.assertEqual([each.config for each in runs[:half]], [each.config for each in runs[half:]])

    def test_a_loaded_database_serves_neighbours(self):
        first, second = (plan.estimates_of(NORMAL.scenarios[:2], 3, plan.ENGINES))
        alone, = plan.estimates_of(NORMAL.scenarios[1:2], 3, plan.ENGINES)
        self.assertEqual(NORMAL.scenarios[0].database, NORMAL.scenarios[1].database)
        self.assertLess(second, alone)
        self.assertGreater(first, 0)

    def test_measuring_switches_are_for_one_thread(self):
        for scale in scenarios.SCALES.values():
            for scenario in scale.scenarios:
                for each in plan.runs_of(scenario, 1, plan.ENGINES):
                    if {"--write_conflicts=off", "--versions=off"} & set(each.flags):
                        self.assertIn("--threads=1", each.flags)
                        self.assertFalse(scenario.capped)

    def test_steps_are_run_and_goals_are_of_what_is_run(self):
        for scale in scenarios.SCALES.values():
            for scenario in scale.scenarios:
                configs = {config.name for config in scenario.configs}
                self.assertLessEqual({config.name for config, _ in scenario.steps}, configs)
                for goal in scenario.goals if scenario.workload.is_loaded else ():
                    of = getattr(goal, "of", None)
                    self.assertLessEqual({goal.config, of} - {None}, configs)

    def test_only_engines_asked_for(self):
        engines = {each.config.engine for each in plan.runs_of(IN_MEMORY, 1, ["lmdb", "wiredtiger"])}
        self.assertEqual(engines, {"lmdb", "wiredtiger"})
        self.assertEqual(named("isolation").engines(["lmdb"]), [])

    def test_space_for_all_engines_and_a_copy(self):
        engines = IN_MEMORY.engines(plan.ENGINES)
        self.assertEqual(len(engines), 4)
        self.assertGreater(plan.disk_bytes(IN_MEMORY, plan.ENGINES),
                           IN_MEMORY.data_bytes * (len(engines) + 1))

    def test_scans_are_told_what_they_know(self):
        flags = plan.runs_of(named("scan"), 1, plan.ENGINES)[0].flags
        self.assertIn("--records=2000000", flags)
        self.assertFalse([flag for flag in flags if flag.startswith(("--threads", "--engine"))])


class Goals(unittest.TestCase):
    def test_a_ratio_is_of_runs_beside_each_other(self):
        goal = goals.Goal("one", 0.9, "other")
        found = goals.verdict(goal, {"one": {1: 90, 2: 10, 3: 40}, "other": {1: 100, 2: 10, 4: 1}})
        self.assertAlmostEqual(found.value, 0.95)
        self.assertTrue(found.reached)
        self.assertIn("2 rounds", found.line())
        self.assertIn("MISSED", goals.verdict(goal, {"one": {1: 8}, "other": {1: 10}}).line())
        for rates in ({"one": {1: 8}, "other": {2: 10}}, {}):
            self.assertEqual(goals.verdict(goal, rates).line(), "one / other, at least 0.9: no data")

    def test_a_share(self):
        goal = goals.Share("one", 0.9)
        self.assertTrue(goals.verdict_of_share(goal, [0.5, 0.9, 0.95]).reached)
        self.assertIn("MISSED", goals.verdict_of_share(goal, [0.89]).line())
        self.assertEqual(goals.verdict_of_share(goal, []).line(), "one, at least 0.9: no data")

    def test_a_rate(self):
        goal = goals.Goal("one", 10_000)
        self.assertTrue(goals.verdict(goal, {"one": {1: 9_000, 2: 12_000, 3: 10_001}}).reached)
        self.assertFalse(goals.verdict(goal, {"one": {1: 9_999}}).reached)
        self.assertEqual(goals.verdict(goal, {}).line(), "one, at least 10,000: no data")


class Series(unittest.TestCase):
    LENGTH = 100

    def halves(self, **columns):
        """Of a series that is constant but for these columns: name -> value at the i-th step."""
        constant = {"tps": 1000, "version_bytes": 8 << 20, "mapping_table_bytes": 16 << 20,
                    "orphan_tables": 10, "rss_bytes": 1 << 30}
        series = {name: [columns.get(name, lambda _, v=value: v)(i) for i in range(self.LENGTH)]
                  for name, value in constant.items()}
        series["end_s"] = [0.1 * (i + 1) for i in range(self.LENGTH)]
        return goals.halves_of(series)

    def test_what_stays_is_flat(self):
        halves = self.halves()
        self.assertTrue(goals.verdict_of_series(halves, goals.Flat()).reached)
        versions = next(each for each in halves if each.column.name == "version_bytes")
        self.assertEqual((versions.mean, versions.most, versions.means), (8.0, 8.0, (8.0, 8.0)))

    def test_a_saw_is_flat(self):
        saw = self.halves(version_bytes=lambda i: (i % 20) << 20)
        self.assertTrue(goals.verdict_of_series(saw, goals.Flat()).reached)

    def test_what_grows_or_falls_is_not(self):
        for name, column in (("tps", lambda i: 1000 - 3 * i), ("version_bytes", lambda i: i << 20),
                             ("orphan_tables", lambda i: 10 * i),
                             ("mapping_table_bytes", lambda i: (90 if i == 80 else 8) << 20)):
            found = goals.verdict_of_series(self.halves(**{name: column}), goals.Flat())
            self.assertFalse(found.reached, name)
            self.assertIn("MISSED", found.line())

    def test_a_little_more_of_nearly_nothing_is_nothing(self):
        little = self.halves(version_bytes=lambda i: 5000 * i, orphan_tables=lambda i: i // 5)
        self.assertTrue(goals.verdict_of_series(little, goals.Flat()).reached)

    def test_too_short_to_be_judged(self):
        halves = goals.halves_of({"end_s": [1.0]})
        self.assertEqual(goals.verdict_of_series(halves, goals.Flat()).line(), "flat: no data")
        self.assertEqual(goals.halves_of({}), [])

    def test_whole_if_it_has_all_commits(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "series.csv")
            self.assertFalse(goals.is_whole(path, {"commits": 0}))
            head = "end_s,commits,tps\n"
            for text, whole in (("0.1,3,30\n0.2,4,40\n", True), ("0.1,3,30\n", False),
                                ("0.1,3,30\n0.2,4,40", False), ("0.1,3,30\n0.2,4\n", False),
                                ("0.1,3,30\n0.2,4,40\n0.", False), ("0.1,3,30\n0.2,,40\n", False)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(head + text)
                self.assertEqual(goals.is_whole(path, {"commits": 7}), whole, text)
            with open(path, "w", encoding="utf-8"):
                pass
            self.assertFalse(goals.is_whole(path, {"commits": 0}))

    def test_read_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "series.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write("end_s,tps,version_bytes,orphan_tables\n0.1,5,7,\n0.2,6,8,\n")
            self.assertEqual(goals.read_series(path), {"end_s": [0.1, 0.2], "tps": [5, 6],
                                                       "version_bytes": [7, 8]})

    @unittest.skipUnless(plot.available(), "needs matplotlib")
    def test_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plot.png")
            plot.draw({"end_s": [0.1, 0.2], "tps": [5, 6], "version_bytes": [7, 8]}, "title", path)
            self.assertGreater(os.path.getsize(path), 1000)


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
    def cells(self, made, scenario=IN_MEMORY):
        text = table.report(made, [scenario])
        return [[cell.strip() for cell in line.strip("|").split("|")]
                for line in text.split("\n") if line.startswith("|")], text

    def test_medians_ratios_and_costs(self):
        lines, text = self.cells(results(palimpsest=[90, 110, 100], lmdb=[50, 50, 20]))
        self.assertIn("### In memory: 2 warehouses, 1024 MiB\n", text)
        self.assertEqual(lines[2][:4], ["async, 2 threads", "palimpsest (none)", "100 ±10 %", "1.00"])
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
        made.add(run(CONFIGS["wiredtiger"], 2), {"failed": "killed"})
        made.add(run(CONFIGS["lmdb"]), {"failed": "exit code 1"})
        lines, text = self.cells(made)
        self.assertEqual(lines[3][1:4], ["wiredtiger (none)", "40.0", "2.50"])
        self.assertEqual(lines[4][1:4], ["lmdb (serializable)", "–", "–"])
        self.assertIn("wiredtiger, async, 2 threads: 1 of 2 runs failed (killed)", text)

    def test_steps_have_what_each_costs(self):
        scenario = named("isolation")
        made = table.Results()
        for config, tps in zip((config for config, _ in scenario.steps), (50_000, 40_000, 40_000)):
            made.add(run(config, 1, scenario), result(tps))
        lines, text = self.cells(made, scenario)
        steps = lines[lines.index(next(line for line in lines if line[0] == "step")) + 2:]
        self.assertEqual([line[1:] for line in steps],
                         [["50,000", "–", "1.00", "–"], ["40,000", "0.80", "0.80", "+5.00"],
                          ["40,000", "1.00", "0.80", "+0.00"], ["–", "–", "–", "–"]])
        self.assertIn("- palimpsest / palimpsest, no conflicts, at least 0.85: no data", text)

    def test_goals_of_what_has_failed_have_no_data(self):
        scenario, flat = named("20-in-1-gib"), named("queue")
        made = results(scenario, palimpsest=[20_000], lmdb=[10_000])
        made.add(run(CONFIGS["wiredtiger"], 1, scenario), {"failed": "exit code 1"})
        made.add(run(flat.configs[0], 1, flat), {"failed": "killed"})
        left_out = named("scan")
        text = table.report(made, [scenario, flat, left_out])
        for line in ("- palimpsest / lmdb: 2.00 (1 round), at least 1: reached",
                     "- palimpsest / wiredtiger, at least 1: no data",
                     "- palimpsest / rocksdb, at least 1: no data", "flat: no data",
                     "No run was made.", "- snapshot / none, at least 0.97: no data"):
            self.assertIn(line, text)
        judged = {each["text"]: each["reached"]
                  for each in table.to_json(made, [scenario, flat, left_out])["verdicts"]}
        self.assertIsNone(judged["palimpsest / wiredtiger, at least 1"])
        self.assertIsNone(judged["flat"])
        self.assertIsNone(judged["snapshot / none, at least 0.97"])

    def test_goals_are_judged(self):
        scenario = named("20-in-1-gib")
        _, text = self.cells(results(scenario, palimpsest=[9_000], lmdb=[10_000]), scenario)
        self.assertIn("- palimpsest / lmdb: 0.90 (1 round), at least 1: MISSED", text)
        self.assertIn("- palimpsest: 9,000 transactions/s, at least 10,000: MISSED", text)

    def test_what_a_reader_leaves_is_judged_by_its_turns(self):
        scenario = named("long-reader")
        made = table.Results()
        for repetition, median in enumerate((0.8, 0.95, 0.91), 1):
            made.add(run(scenario.configs[0], repetition, scenario),
                     result(7, long_reader={"looks": 9, "restarts": 2, "share": {"median": median}}))
        made.add(run(scenario.configs[0], 4, scenario),
                 result(7, long_reader={"looks": 9, "restarts": 2, "share": None}))
        _, text = self.cells(made, scenario)
        self.assertIn("0.91 of what there is without (3 rounds), at least 0.9: reached", text)

    def test_scans_by_kind(self):
        scenario = named("scan")
        made = table.Results()
        made.add(run(scenario.configs[0], 1, scenario),
                 {"records": 1000, "seconds": {"old_reader": [2e-6, 2e-6], "none": [1e-6, 1e-6],
                                               "snapshot": [1e-6, 1e-6]}})
        lines, text = self.cells(made, scenario)
        self.assertEqual([line[0] for line in lines[2:]], ["none", "snapshot", "old reader"])
        self.assertEqual(lines[4][2:], ["2.0", "0.50"])
        self.assertIn("old_reader / snapshot: 0.50 (2 rounds), at least 0.8: MISSED", text)
        self.assertIn("snapshot / none: 1.00 (2 rounds), at least 0.97: reached", text)
        row, = table.to_json(made, [scenario])["rows"]
        self.assertEqual(row["rows_per_s"]["none"]["runs"], 2)

    def test_one_long_run_is_judged_by_its_series(self):
        scenario = named("queue")
        made = table.Results()
        series = {"end_s": [1.0, 2.0, 3.0, 4.0], "tps": [10, 10, 5, 5]}
        made.add(run(scenario.configs[0], 1, scenario),
                 result(7, series=series, long_reader={"looks": 9, "restarts": 2}))
        lines, text = self.cells(made, scenario)
        self.assertIn(["transactions/s", "7.5", "10.0", "10.0", "5.0", "10.0", "5.0"], lines)
        self.assertIn("flat: transactions/s fall to 5 from 10: MISSED", text)
        self.assertIn("begun again 2 times", text)
        verdict, = table.to_json(made, [scenario])["verdicts"]
        self.assertEqual((verdict["scenario"], verdict["reached"]), ("queue", False))

    def test_json_has_the_same_and_the_range(self):
        made = table.to_json(results(palimpsest=[90, 110, 100]), [IN_MEMORY])
        self.assertEqual(made["schema_version"], table.SCHEMA_VERSION)
        row, = made["rows"]
        self.assertEqual(row["tps"], {"median": 100, "least": 90, "most": 110, "runs": 3})
        self.assertEqual((row["engine"], row["threads"], row["memory_capped"], row["warehouses"]),
                         ("palimpsest", 2, False, 2))
        self.assertIsNone(row["written_mb_per_s"])


class Resuming(unittest.TestCase):
    def comparison(self, folder, **others):
        return compare.Comparison(types.SimpleNamespace(**{
            "scale": "quick", "engines": list(plan.ENGINES), "scenario": None, "minutes": None,
            "run_minutes": None, "resume": folder, "results": folder, "data": folder, "build": folder, **others}))

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

    def refusal(self, *words):
        with redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as refused:
            compare.parse_arguments(words)
        self.assertEqual(refused.exception.code, 2)
        return said.getvalue()

    def test_other_flags_than_it_was_begun_with_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            resume = f"--resume={folder}"
            begun = self.comparison(folder, scenario=["queue", "scan"], run_minutes=2.0,
                                    engines=["palimpsest", "lmdb"])
            with open(begun.result_file("config.json"), "w", encoding="utf-8") as file:
                json.dump(begun.config(), file)
            for words in (("--full",), ("--normal",), ("--scenario", "scan"), ("--run_minutes=3",),
                          ("--engines", "lmdb")):
                self.assertIn(f"{words[0].partition('=')[0]}: {folder} was begun otherwise",
                              self.refusal(resume, *words))
            for words in ((), ("--quick", "--minutes=5"), ("--scenario", "scan", "queue"),
                          ("--run_minutes=2", "--engines", "lmdb", "palimpsest")):
                found = compare.parse_arguments([resume, *words])
                self.assertEqual((found.scale, found.engines, found.scenario, found.run_minutes),
                                 ("quick", ["palimpsest", "lmdb"], ["queue", "scan"], 2.0))

    def test_a_length_of_runs_that_are_not_made_is_refused(self):
        for words in (("--scenario", "scan"), (), ("--normal",)):
            self.assertIn("--run_minutes has no effect", self.refusal("--run_minutes=2", *words))
        for words in (("--scenario", "scan", "queue"), ("--quick",)):
            self.assertEqual(compare.parse_arguments(["--run_minutes=2", *words]).run_minutes, 2)
        self.assertEqual(compare.parse_arguments([]).scale, "normal")

    def test_long_runs_are_as_long_as_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            lengths = {scenario.name: scenario.seconds for scenario in
                       self.comparison(folder, run_minutes=0.5).scenarios}
            usual = {scenario.name: scenario.seconds for scenario in QUICK.scenarios}
            self.assertEqual(lengths, {**usual, "queue": 30, "version-memory": 30})

    def test_makes_again_what_has_left_a_damaged_series(self):
        with tempfile.TemporaryDirectory() as folder:
            begun, scenario = self.comparison(folder), named("queue", QUICK)
            long_run = run(scenario.configs[0], 1, scenario)
            os.makedirs(begun.result_file(scenario.name))
            with open(begun.result_file(long_run.file_stem + ".json"), "w", encoding="utf-8") as file:
                json.dump(result(5), file)
            whole = "end_s,commits,tps\n1.0,6,6\n2.0,4,4\n"
            for text, is_used in ((None, False), (whole, True), (whole[:-5], False),
                                  (whole[:-8], False)):
                if text:
                    with open(begun.series_file(long_run), "w", encoding="utf-8") as file:
                        file.write(text)
                with redirect_stdout(io.StringIO()) as printed:
                    found = begun.earlier_result(long_run)
                self.assertEqual(found is not None, is_used, text)
                self.assertEqual("series is damaged" in printed.getvalue(), not is_used)

    def test_makes_what_is_missing_or_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            begun, first = self.comparison(folder), run(scenarios.PALIMPSEST)
            os.makedirs(begun.result_file(IN_MEMORY.name))
            self.assertIsNone(begun.earlier_result(first))
            for kept, expected in ((result(5), 5), ({"failed": "killed"}, None)):
                with open(begun.result_file(first.file_stem + ".json"), "w", encoding="utf-8") as file:
                    json.dump(kept, file)
                found = begun.earlier_result(first)
                self.assertEqual(found["tps"] if found else None, expected)


class Failures(unittest.TestCase):
    """compare.py as a program, with drivers that are made up here."""

    def run_with(self, driver, *words):
        """Returns the exit code and what was printed."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("scan_bench", "queue"):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("#!/bin/sh\n" + driver)
                os.chmod(path, stat.S_IRWXU)
            done = subprocess.run(
                [sys.executable, "-B", compare.__file__, "--quick", *words, f"--build={folder}",
                 f"--data={folder}/data", f"--results={folder}/results"],
                capture_output=True, text=True, timeout=60, check=False)
            self.assertNotIn("Traceback", done.stderr)
            return done.returncode, done.stdout

    def test_runs_that_fail_are_told_and_fail_the_comparison(self):
        code, printed = self.run_with("exit 3", "--scenario", "scan")
        self.assertEqual(code, 1, printed)
        self.assertIn("palimpsest, scan: 1 of 1 runs failed (exit code 3", printed)
        self.assertIn("snapshot / none, at least 0.97: no data", printed)
        self.assertIn("compare: a run failed:\n  scan, palimpsest, repetition 1: exit code 3", printed)

    def test_goals_that_are_missed_do_not(self):
        made = json.dumps({"records": 10, "seconds": {
            kind: [1 if kind == "none" else 2] for kind in table.SCANS}})
        code, printed = self.run_with(
            f"for flag; do case $flag in --json=*) echo '{made}' > ${{flag#--json=}};; esac; done",
            "--scenario", "scan")
        self.assertIn("MISSED", printed)
        self.assertEqual(code, 0, printed)


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
