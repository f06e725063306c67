"""Checks that `palimpsest load --resume` goes on where such a load was killed, wherever that was, and comes
to the same as one that was not."""
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

from command import Command, TOOL, main

SCHEMA = "id int32 primary key, name varchar(110), age int8 null"
ROWS = 500_000
OPTIONS = {"--schema": SCHEMA, "--memory": "64M", "--max-errors": "99", "--header": "match",
           "--format": "csv", "--progress": "none", "--summary": "json", "--comment": "#"}
# Before the headers: more than a first chunk.
COMMENTS = 1_000 * ("# no record" + 59 * "-" + "\n")


def lines_of(numbers):
    """Rows, and among them some that are none, and some that are there twice."""
    lines = [f"{number},{number:0100},{number % 100}\n" for number in numbers]
    for at in range(7, len(lines), len(lines) // 12):
        lines[at] = f"{numbers[at]},x,old\n"
    for at in range(11, len(lines), len(lines) // 6):
        lines[at] = lines[at - 1]
    return lines


class Resume(Command):
    @classmethod
    def setUpClass(cls):
        """Two files, the second of them compressed, with their columns in another order."""
        cls.inputs = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.inputs)
        numbers = random.Random(7).sample(range(ROWS), ROWS)
        first, second = lines_of(numbers[:ROWS * 2 // 3]), lines_of(numbers[ROWS * 2 // 3:])
        second = [",".join(reversed(line.strip().split(","))) + "\n" for line in second]
        cls.files = [os.path.join(cls.inputs, "1.csv"), os.path.join(cls.inputs, "2.csv.gz")]
        with open(cls.files[0], "w", encoding="utf-8") as file:
            file.writelines([COMMENTS, "id,name,age\n", *first])
        with gzip.open(cls.files[1], "wt", encoding="utf-8", compresslevel=1) as file:
            file.writelines([COMMENTS, "age,name,id\n", *second])
        done = subprocess.run([TOOL, *cls.arguments(os.path.join(cls.inputs, "db"))], timeout=60,
                              capture_output=True, check=True)
        cls.summary = json.loads(done.stdout)
        cls.dumped = subprocess.run([TOOL, "dump", os.path.join(cls.inputs, "db"), "t"], timeout=60,
                                    capture_output=True, check=True).stdout

    @classmethod
    def arguments(cls, database, *more, options=()):
        folder = os.path.dirname(database)
        rejected = {"--reject-file": os.path.join(folder, "rejected"),
                    "--reject-log": os.path.join(folder, "log")}
        chosen = {**OPTIONS, **rejected, **dict(options)}
        return ["load", database, "t", *cls.files, *more,
                *(f"{name}={value}" for name, value in chosen.items())]

    def kept(self):
        return sorted(name for name in os.listdir(self.database) if name.startswith("load-"))

    def kept_path(self, end):
        return os.path.join(self.database, next(name for name in self.kept() if name.endswith(end)))

    def position(self):
        """File and byte up to which rows are kept; nothing if none are."""
        try:
            with open(self.kept_path(".manifest"), encoding="utf-8") as file:
                found = re.search(r"^position (\d+) (\d+) ", file.read(), re.M)
        except (FileNotFoundError, StopIteration):
            return None
        return found and (int(found.group(1)), int(found.group(2)))

    def stopped(self, when, send=signal.SIGKILL, options=()):
        """Runs the load until rows are kept up to a position that will do: its messages."""
        command = [TOOL, *self.arguments(self.database, "--resume", options=options)]
        with subprocess.Popen(command, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            deadline = time.monotonic() + 60
            while not when(self.position()) and time.monotonic() < deadline:
                if process.poll() is not None:
                    break
                time.sleep(0.002)
            process.send_signal(send)
            out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130 if send == signal.SIGINT else -send, (out, err))
        return err.decode()

    def resumed(self, code=0, **options):
        options = {"--" + name.replace("_", "-"): value for name, value in options.items()}
        return self.run_tool(*self.arguments(self.database, "--resume", options=options), code=code)

    def check_as_uninterrupted(self, done):
        """The same rows, counts, and files of bad records; and nothing else is left."""
        self.assertEqual(self.kept(), [])
        changing = ("seconds", "stages", "bytes", "rows_resumed", "command")
        summary = {**json.loads(done.stdout), **{name: self.summary[name] for name in changing}}
        self.assertEqual(summary, self.summary)
        self.assertGreater(summary["errors"]["type"], 10)
        self.assertGreater(summary["errors"]["duplicate"], 5)
        self.assertTrue(self.dump("t") == self.dumped)
        for name in ("rejected", "rejected-2", "log"):
            self.assertEqual(self.content(name), self.content(os.path.join(self.inputs, name)))
        self.run_tool("check", self.database)

    def test_killed_after_the_first_runs(self):
        self.stopped(bool)
        self.dump("t", code=1)
        self.assertEqual(len(self.kept()), 2)
        done = self.resumed()
        resumed = json.loads(done.stdout)["rows_resumed"]
        self.assertTrue(0 < resumed < ROWS, resumed)
        self.check_as_uninterrupted(done)

    def test_killed_again_and_again(self):
        reached = (0, 0)
        for _ in range(3):
            self.stopped(lambda at, reached=reached: at and at > reached)
            reached = self.position()
        done = self.resumed()
        self.check_as_uninterrupted(done)

    def test_killed_in_the_compressed_file(self):
        self.stopped(lambda at: at and at[0] == 1)
        self.check_as_uninterrupted(self.resumed())

    def test_killed_in_the_merge(self):
        self.stopped(lambda at: at and at[0] == len(self.files))
        done = self.resumed()
        self.assertGreater(json.loads(done.stdout)["rows_resumed"], ROWS - 100)
        self.check_as_uninterrupted(done)

    def test_interrupted(self):
        self.assertRegex(self.stopped(bool, signal.SIGINT),
                         r"interrupted; nothing was loaded, [1-9]\d+ sorted rows are kept: --resume")
        self.assertEqual(len(self.kept()), 2)
        self.check_as_uninterrupted(self.resumed())

    def test_interrupted_before_anything_is_kept(self):
        message = self.stopped(lambda _: os.path.exists(self.database) and self.kept(),
                               signal.SIGINT, {"--memory": "1G"})
        self.assertTrue(message.endswith("interrupted; nothing was loaded\n"), message)
        self.assertEqual(self.kept(), [])

    def test_without_it_everything_begins_anew(self):
        self.stopped(bool)
        self.assertEqual(len(self.kept()), 2)
        self.check_as_uninterrupted(self.run_tool(*self.arguments(self.database)))

    def test_a_load_that_means_nothing_removes_nothing(self):
        self.stopped(bool)
        odd = self.file("odd.csv", "id,name,size\n1,a,1\n")
        good = self.file("good.csv", "id,name,age\n1,a,1\n")
        rejects = self.path("nowhere/log")
        for code, arguments in ((2, [odd, "--header=match"]), (2, [odd, "--columns", "id,size"]),
                                (2, [odd, "--header=match", "--columns", "id"]),
                                (2, [self.file("empty.csv", ""), "--header"]),
                                (2, [good, odd, "--header=match"]),
                                (1, [good, self.folder, "--header=match"]),
                                (1, [odd, "--header", "--reject-log", rejects])):
            self.load("t", *arguments, "--schema", SCHEMA, code=code)
            self.assertEqual(len(self.kept()), 2, arguments)
        self.check_as_uninterrupted(self.resumed())

    def test_a_later_header_costs_no_sorted_rows(self):
        odd = self.file("odd.csv", "id,name,size\n1,a,1\n")
        done = self.run_tool(*self.arguments(self.database, odd, "--resume"), code=2)
        self.assertIn(f'{odd}: the header: table "t" has no column "size"'.encode(), done.stderr)
        self.assertFalse(os.path.exists(self.database))  # no rows were sorted before that

    def refused(self, what, code, **options):
        message = self.resumed(code, **options).stderr.decode()
        self.assertIn(what, message)
        self.assertEqual(len(self.kept()), 2)
        return message

    def test_another_load_is_refused(self):
        self.stopped(bool)
        self.refused('dialect was "', 2, null="none")
        self.refused('memory was "67108864", now it is "134217728"', 2, memory="128M")
        self.refused('reject log was "', 2, reject_log=self.path("other"))
        self.assertFalse(os.path.exists(self.path("other")))
        status = os.stat(self.files[0])
        self.flip(self.files[0], status.st_size - 2)
        os.utime(self.files[0], ns=(status.st_atime_ns, status.st_mtime_ns))
        self.assertIn("1.csv, ", self.refused('file 1 was "', code=2))
        self.flip(self.files[0], status.st_size - 2)
        self.refused('file 1 was "', code=2)  # it was changed since
        os.utime(self.files[0], ns=(status.st_atime_ns, status.st_mtime_ns))
        self.check_as_uninterrupted(self.resumed())

    def flip(self, path, at):
        with open(path, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1]))

    def test_damage_is_refused(self):
        self.stopped(bool)
        manifest, runs = self.kept_path(".manifest"), self.kept_path(".runs")
        self.flip(manifest, 30)
        self.refused("the manifest is damaged", code=1)
        self.flip(manifest, 30)
        self.flip(runs, 300_000)
        message = self.refused('.runs", block of 262144 bytes at offset 262144: its checksum', code=1)
        self.assertIn("corruption", message)
        self.dump("t", code=1)
        os.truncate(runs, 1_000_000)
        self.refused("has 1000000 bytes", code=1)
        os.remove(runs)
        self.assertIn("not_found", self.resumed(code=1).stderr.decode())
        self.check_as_uninterrupted(self.run_tool(*self.arguments(self.database)))

    def test_bad_input_leaves_nothing(self):
        self.stopped(bool)
        self.resumed(3, max_errors="10")
        self.assertEqual(self.kept(), [])
        self.dump("t", code=1)

    def test_few_rows_in_order(self):
        file = self.file("few.csv", "1,a,1\n2,b,2\n")
        self.load("few", file, "--schema", SCHEMA, "--resume")
        self.assertEqual(self.dump("few", "--header=off"), b"1,a,1\n2,b,2\n")
        self.load("few", self.file("none.csv", ""), "--resume")
        self.assertEqual(self.kept(), [])

    def test_what_cannot_be_resumed(self):
        file = self.file("few.csv", "1,a,1\n")
        self.assertIn(b"--resume is for files",
                      self.load("t", "-", "--schema", SCHEMA, "--resume", code=2).stderr)
        self.load("t", file, "--schema", SCHEMA, "--resume", "--dry-run", code=2)
        self.assertFalse(os.path.exists(self.database))
        long = self.file("long.csv", "1," + 5_000_000 * "x" + "\n")
        schema = ["--schema", "id int32 primary key, name varchar"]
        self.assertIn(b"too long for --resume",
                      self.load("t", long, *schema, "--memory", "64M", "--resume", code=2).stderr)
        self.assertEqual(self.kept(), [])
        self.load("t", long, *schema, "--memory", "128M", "--resume")


if __name__ == "__main__":
    main()
