"""Checks that loads and dumps that are killed at any moment, or meet a full disk, lose nothing and leave nothing
half: what is compressed or encoded, a second choice of a table, directories, compressed dumps."""
import bz2
import json
import lzma
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unittest
import zipfile

from command import Command, TOOL

KILLS = 4  # of each way
SEED = int(os.environ.get("PALIMPSEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")
RANDOM = random.Random(SEED)
ALONE = ["unshare", "--user", "--map-root-user", "--mount"]


def lines_of(rows, seed=1):
    """In no order; a text outside of ASCII in each."""
    numbers = random.Random(seed).sample(range(rows), rows)
    return "id,name\n" + "".join(f"{number},n\u00e4me{number:030}\n" for number in numbers)


class Interrupted(Command):
    """What can be killed: commands, and what must hold after them."""

    def setUp(self):
        super().setUp()
        self.addCleanup(lambda: self._outcome.success or print(f"PALIMPSEST_SEED={SEED}"))

    def killed(self, command, seconds):
        """Ends the command after some of the seconds that it takes, if it has not ended by then."""
        with subprocess.Popen([TOOL, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            time.sleep(RANDOM.uniform(0, seconds))
            process.send_signal(signal.SIGKILL)
            _, err = process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, -signal.SIGKILL), err)
        return process.returncode != 0

    def seconds_of(self, command):
        begin = time.monotonic()
        self.run_tool(*command)
        return time.monotonic() - begin

    def has_table(self, table):
        """Whether it is there; a database that is not, or was killed as it was made, has none."""
        done = subprocess.run([TOOL, "dump", self.database, table, "--schema"], capture_output=True,
                              timeout=60, check=False)
        return done.returncode == 0

    def rows_of(self, database, table="t"):
        return self.run_tool("dump", database, table).stdout


class KilledLoads(Interrupted):
    ROWS = 40_000

    def check_all_or_nothing(self, command):
        """`command` loads into self.database, and is killed again and again."""
        seconds = self.seconds_of(command)
        whole = self.rows_of(self.database)
        shutil.rmtree(self.database)
        kills = 0
        for _ in range(KILLS):
            kills += self.killed(command, seconds)
            if self.has_table("t"):
                self.assertTrue(self.rows_of(self.database) == whole)
                shutil.rmtree(self.database)
        if not self.has_table("t"):
            self.run_tool(*command)
        self.assertTrue(self.rows_of(self.database) == whole)
        self.run_tool("check", self.database)
        return whole

    def command(self, file, *arguments):
        return ["load", self.database, "t", file, "--progress", "none", "--memory", "64M", *arguments]

    def check_source(self, name, content, *arguments):
        whole = self.check_all_or_nothing(self.command(self.file(name, content), *arguments))
        self.assertEqual(whole.count(b"\n"), self.ROWS + 1)
        self.assertIn("\u00e4".encode(), whole)

    def test_xz(self):
        self.check_source("t.csv.xz", lzma.compress(lines_of(self.ROWS).encode(), preset=0))

    def test_bzip2(self):
        self.check_source("t.csv.bz2", bz2.compress(lines_of(self.ROWS).encode(), 1))

    def test_zip(self):
        with zipfile.ZipFile(self.path("made.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("t.csv", lines_of(self.ROWS))
        self.check_source("t.csv.zip", self.content("made.zip"))

    def test_latin1(self):
        self.check_source("t.csv", lines_of(self.ROWS).encode("latin-1"), "--encoding", "latin1")

    def test_utf16(self):
        self.check_source("t.csv", lines_of(self.ROWS).encode("utf-16"))

    def test_compressed_and_encoded(self):
        self.check_source("t.csv.xz", lzma.compress(lines_of(self.ROWS).encode("latin-1"), preset=0),
                          "--encoding", "latin1")

    def test_a_table_that_is_chosen_again(self):
        """The last record contradicts the schema that the first ones suggest."""
        file = self.file("t.csv", lines_of(self.ROWS) + "x,y\n")
        whole = self.check_all_or_nothing(self.command(file, "--sample", "64K"))
        self.assertEqual(whole.count(b"\n"), self.ROWS + 2)


class Directories(Interrupted):
    TABLES = {"a": 20_000, "b": 12_000, "c": 6_000, "d": 10, "e": 3_000}

    def setUp(self):
        super().setUp()
        self.out = self.path("out")
        for table, rows in self.TABLES.items():
            self.load(table, self.file(table + ".csv", lines_of(rows)))

    def dumping(self, *arguments):
        return ["dump", self.database, "--directory", self.out, "--threads", "2", "--memory", "64M",
                *arguments]

    def loading(self, database, *arguments):
        return ["load", database, "--directory", self.out, "--threads", "2", "--memory", "128M",
                "--progress", "none", *arguments]

    def listed(self):
        """The tables that the manifest has; and each of them is whole."""
        if not os.path.exists(self.path("out/palimpsest-tables.json")):
            return set()
        manifest = json.loads(self.content("out/palimpsest-tables.json"))
        for table in manifest["tables"]:
            self.assertEqual(table["rows"], self.TABLES[table["name"]])
            self.assertTrue(os.path.exists(self.path("out/" + table["file"])))
        return {table["name"] for table in manifest["tables"]}

    def check_moved(self, database):
        for table in self.TABLES:
            self.assertTrue(self.rows_of(database, table) == self.rows_of(self.database, table), table)
        self.run_tool("check", database)

    def test_a_dump_goes_on(self):
        for options in ("--compress", "zstd"), ("--compress", "gzip"), ("--format", "jsonl"):
            seconds = self.seconds_of(self.dumping(*options))
            shutil.rmtree(self.out)
            before = set()
            for _ in range(KILLS):
                self.killed(self.dumping(*options, "--resume"), seconds)
                self.assertLessEqual(before, self.listed())
                before = self.listed()
            self.run_tool(*self.dumping(*options, "--resume"))
            self.assertEqual(self.listed(), set(self.TABLES))
            self.run_tool(*self.loading(self.path("moved")))
            self.check_moved(self.path("moved"))
            shutil.rmtree(self.path("moved"))
            shutil.rmtree(self.out)

    def test_a_load_goes_on(self):
        self.run_tool(*self.dumping())
        seconds = self.seconds_of(self.loading(self.path("whole")))
        for _ in range(2):
            for _ in range(KILLS):
                self.killed(self.loading(self.path("moved"), "--resume"), seconds)
            done = self.run_tool(*self.loading(self.path("moved"), "--resume"))
            self.assertIn(b"table", done.stdout)
            self.check_moved(self.path("moved"))
            shutil.rmtree(self.path("moved"))

    def test_an_interrupted_load_says_how_it_goes_on(self):
        self.run_tool(*self.dumping())
        with subprocess.Popen([TOOL, *self.loading(self.path("moved"))], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        if process.returncode == 130:
            self.assertRegex(err.decode(), r"interrupted; \d tables? (is|are) there: --resume goes on")
        self.run_tool(*self.loading(self.path("moved"), "--resume"))
        self.check_moved(self.path("moved"))

    def test_a_table_that_fails_costs_the_others_nothing(self):
        self.run_tool(*self.dumping())
        good = self.content("out/b.csv")
        self.file("out/b.csv", good.replace(b"n\xc3\xa4me", b"", 1).replace(b"\n", b"\nx,", 1))
        done = self.run_tool(*self.loading(self.path("moved")), code=1)
        self.assertIn(b'1 of 5 tables could not be loaded; "b": corruption: ', done.stderr)
        self.assertIn(b"4 tables are there: --resume goes on with the others", done.stderr)
        for table in set(self.TABLES) - {"b"}:
            self.assertTrue(self.rows_of(self.path("moved"), table) == self.rows_of(self.database, table))
        self.run_tool("dump", self.path("moved"), "b", code=1)
        self.file("out/b.csv", good)
        self.run_tool(*self.loading(self.path("moved"), "--resume"))
        self.check_moved(self.path("moved"))

    def test_a_dump_of_a_damaged_table(self):
        pages = os.path.join(self.database, "pages")
        with open(pages, "r+b") as file:
            at = file.read().index(b"%030d" % (self.TABLES["b"] * 3 // 4))
            file.seek(at)
            file.write(b"x")
        done = self.run_tool(*self.dumping(), code=1)
        self.assertIn(b"1 of 5 tables could not be dumped; ", done.stderr)
        self.assertIn(b"corruption", done.stderr)
        self.assertIn(b"--resume goes on with what is missing", done.stderr)
        self.assertEqual(len(self.listed()), 4)
        self.assertEqual(len([name for name in os.listdir(self.out) if name.endswith(".part")]), 0)


class KilledDumps(Interrupted):
    def test_compressed(self):
        self.load("t", self.file("t.csv", lines_of(60_000)))
        os.mkdir(self.path("out"))
        for name, open_file in ("t.csv.gz", None), ("t.csv.zst", None):
            output = self.path("out/" + name)
            command = ["dump", self.database, "t", "--output", output, "--memory", "64M"]
            seconds = self.seconds_of(command)
            self.file("out/" + name, "old\n")
            for _ in range(KILLS):
                if not self.killed(command, seconds):
                    self.file("out/" + name, "old\n")
                    continue
                if self.content("out/" + name) != b"old\n":  # killed after all was done
                    self.file("out/" + name, "old\n")
            self.run_tool(*command)
            self.run_tool("load", self.path("again"), "t", output, "--progress", "none")
            self.assertTrue(self.rows_of(self.path("again")) == self.rows_of(self.database))
            shutil.rmtree(self.path("again"))


# Runs commands on a disk of its own, which becomes larger until one succeeds: the last argument of each says what
# is on the disk, which goes with the process.
ON_A_SMALL_DISK = """
import json, os, subprocess, sys
plan = json.loads(sys.argv[1])
ran = []
def run(command):
    done = subprocess.run(command, capture_output=True, timeout=120)
    ran.append({"code": done.returncode, "out": done.stdout.decode(), "err": done.stderr.decode(),
                "left": sorted(os.listdir(plan["disk"]))})
    return done.returncode
for number, size in enumerate(plan["kibibytes"]):
    remount = "remount," if number else ""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{remount}size={size}k", "none", plan["disk"]], check=True)
    for name, text in plan["files"].items() if number == 0 else ():
        with open(name, "w") as file:
            file.write(text)
    if run(plan["command"]) == 0:
        break
for command in plan["then"]:
    run(command)
print(json.dumps(ran))
"""
SIZES = [16, 64, 600, 1000, 1600, 2500, 4000, 6000, 9000, 14000, 20000, 100_000]  # KiB


class OnFullDisks(Interrupted):
    def setUp(self):
        super().setUp()
        self.disk = self.path("disk")
        os.mkdir(self.disk)

    def on_small_disks(self, command, then=(), files=None):
        """What the command came to on each disk, until it succeeded; then what follows there."""
        can_mount = shutil.which("unshare") is not None and subprocess.run(
            [*ALONE, "mount", "-t", "tmpfs", "none", self.disk], capture_output=True, timeout=60,
            check=False).returncode == 0
        if not can_mount:
            self.skipTest("nothing can be mounted here")
        plan = {"disk": self.disk, "kibibytes": SIZES, "command": [TOOL, *command], "files": files or {},
                "then": [[TOOL, *each] for each in then]}
        done = subprocess.run([*ALONE, "python3", "-c", ON_A_SMALL_DISK, json.dumps(plan)],
                              capture_output=True, timeout=280, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        ran = json.loads(done.stdout)
        followed = ran[len(ran) - len(then):]
        tried = ran[:len(ran) - len(then)]
        self.assertEqual(tried[-1]["code"], 0, tried[-1])
        self.assertGreater(len(tried), 1)
        for each in tried[:-1]:
            self.assertEqual(each["code"], 1, each)
            self.assertIn("no_space: ", each["err"])
        for each in followed:
            self.assertEqual(each["code"], 0, each)
        return tried, [each["out"] for each in followed]


class FullDisks(OnFullDisks):
    ROWS = 40_000

    def check_load(self, file, *arguments):
        database = os.path.join(self.disk, "db")
        command = ["load", database, "t", file, "--progress", "none", "--memory", "64M", *arguments]
        self.load("t", file, *arguments)
        tried, (dumped, _) = self.on_small_disks(command, [["dump", database, "t"], ["check", database]])
        for each in tried[:-1]:
            self.assertIn("; nothing was loaded", each["err"])
        self.assertEqual(dumped, self.rows_of(self.database).decode())

    def test_compressed(self):
        self.check_load(self.file("t.csv.xz", lzma.compress(lines_of(self.ROWS).encode(), preset=0)))

    def test_encoded_and_unsorted(self):
        file = self.file("t.csv", lines_of(self.ROWS).encode("latin-1"))
        self.check_load(file, "--encoding", "latin1", "--no-space-check")

    def test_a_table_that_is_chosen_again(self):
        self.check_load(self.file("t.csv", lines_of(self.ROWS) + "x,y\n"), "--sample", "64K")

    def test_a_compressed_dump(self):
        self.load("t", self.file("t.csv", lines_of(self.ROWS)))
        for name in "t.csv.gz", "t.csv.zst":
            output = os.path.join(self.disk, name)
            again = ["load", self.path("again"), name[6:], output, "--progress", "none"]
            tried, _ = self.on_small_disks(["dump", self.database, "t", "--output", output], [again],
                                           files={output: "old\n"})
            for each in tried:
                self.assertEqual(each["left"], [name])
            self.assertTrue(self.rows_of(self.path("again"), name[6:]) == self.rows_of(self.database))


class DirectoriesOnFullDisks(OnFullDisks):
    TABLES = {"a": 20_000, "b": 12_000, "c": 6_000, "d": 10, "e": 3_000}

    def setUp(self):
        super().setUp()
        for table, rows in self.TABLES.items():
            self.load(table, self.file(table + ".csv", lines_of(rows)))

    def test_a_dump_goes_on_when_there_is_room(self):
        out = os.path.join(self.disk, "out")
        moved = self.path("moved")
        tried, _ = self.on_small_disks(
            ["dump", self.database, "--directory", out, "--resume", "--threads", "2"],
            [["load", moved, "--directory", out, "--progress", "none"]])
        self.assertIn("--resume goes on with what is missing", tried[1]["err"])
        for table in self.TABLES:
            self.assertTrue(self.rows_of(moved, table) == self.rows_of(self.database, table), table)

    def test_a_load_goes_on_when_there_is_room(self):
        out, moved = self.path("out"), os.path.join(self.disk, "moved")
        self.run_tool("dump", self.database, "--directory", out, "--compress", "zstd")
        dumps = [["dump", moved, table] for table in self.TABLES]
        tried, found = self.on_small_disks(
            ["load", moved, "--directory", out, "--resume", "--threads", "2", "--memory", "128M",
             "--progress", "none"], [*dumps, ["check", moved]])
        for each in tried[:-1]:
            self.assertRegex(each["err"], "nothing was loaded|there: --resume goes on with the others")
        for table, dumped in zip(self.TABLES, found):
            self.assertTrue(dumped.encode() == self.rows_of(self.database, table), table)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
