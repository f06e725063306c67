"""Checks `palimpsest backup` as people meet it: copies that open, what is told and refused, exit codes, and
that nothing is left of a copy that did not come to its end.
usage: backup_command.py PALIMPSEST MAKE_DATABASE"""
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from tool_command import contents, run

TOOL, MAKE_DATABASE = sys.argv[1:3]
SCHEMA = "id int32 primary key, name varchar(40)"
ROWS = 60_000
MIB = 1 << 20
LINE = re.compile(r"^(.*) is copied into (.*): ([\d.]+) MB of pages, ([\d.]+) MB of log, in ([\d.]+) s\n")


class Backup(unittest.TestCase):
    """A database that is made once, and a copy of its files for each test."""

    @classmethod
    def setUpClass(cls):
        cls.original = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.original)
        rows = os.path.join(cls.original, "rows.csv")
        cls.rows = "".join(f"{row},{row:040}\n" for row in range(ROWS))
        with open(rows, "w", encoding="utf-8") as file:
            file.write(cls.rows)
        subprocess.run([TOOL, "load", os.path.join(cls.original, "db"), "t", rows, "--schema", SCHEMA,
                        "--quiet"], check=True, timeout=60)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.database, self.copy = os.path.join(self.folder, "db"), os.path.join(self.folder, "copy")
        shutil.copytree(os.path.join(self.original, "db"), self.database)

    def backup(self, *options, code=0, copy=None):
        done = run("backup", self.database, copy or self.copy, *options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        if code == 0:
            self.assertEqual(done.stderr, "")
        return done

    def dumped(self, database):
        done = run("dump", database, "t", "--header=off")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check(self, database, *options, code=0):
        done = run("check", database, *options)
        self.assertEqual(done.returncode, code, done.stdout[-2000:] + done.stderr)
        return done

    def refused(self, message, *options, code=1, copy=None):
        """Nothing is made, and the database is as it was."""
        before = sorted(os.listdir(self.folder))
        done = self.backup(*options, code=code, copy=copy)
        self.assertTrue(done.stderr.startswith("palimpsest backup: "), done.stderr)
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        return done.stderr


class Copies(Backup):
    def test_a_copy(self):
        done = self.backup()
        told = LINE.match(done.stdout)
        self.assertEqual((told[1], told[2]), (self.database, self.copy))
        self.assertGreater(float(told[3]), ROWS * 44 / 1e6)
        self.assertEqual(done.stdout.count("\n"), 2)
        self.assertIn(f"palimpsest check {self.copy} ", done.stdout)
        self.assertTrue(self.check(self.copy).stdout.endswith("sound\n"))
        self.assertTrue(self.dumped(self.copy) == self.rows)
        self.check(self.database)

    def test_copies_have_lives_of_their_own(self):
        self.backup()
        more = os.path.join(self.folder, "more.csv")
        with open(more, "w", encoding="utf-8") as file:
            file.write("-1,new\n")
        self.assertEqual(run("load", self.copy, "t", more, "--quiet").returncode, 0)
        self.assertTrue(self.dumped(self.copy) == "-1,new\n" + self.rows)
        self.assertTrue(self.dumped(self.database) == self.rows)
        again = os.path.join(self.folder, "again")
        self.assertEqual(run("backup", self.copy, again).returncode, 0)
        self.assertTrue(self.dumped(again) == "-1,new\n" + self.rows)

    def test_not_opened(self):
        os.mkdir(self.copy)
        done = self.backup("--no-open")
        self.assertRegex(done.stdout, LINE)
        self.assertTrue(done.stdout.endswith("opening it recovers it\n"), done.stdout)
        self.assertIn("not closed cleanly", self.check(self.copy).stderr)
        self.assertTrue(self.dumped(self.copy) == self.rows)

    def test_a_database_that_was_killed(self):
        with subprocess.Popen([TOOL, "load", self.database, "t", "-", "--progress", "none"],
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            process.stdin.write(b"".join(b"%d,new\n" % row for row in range(ROWS, 5 * ROWS)))
            process.stdin.flush()
            process.kill()
            process.wait(60)
        before = contents(self.database)
        self.backup()
        self.assertTrue(contents(self.database) == before, "nothing is written to what is copied")
        self.assertTrue(self.dumped(self.copy) == self.rows)
        self.check(self.copy)
        self.check(self.database)

    def test_large_values_and_trees(self):
        shutil.rmtree(self.database)
        os.mkdir(self.database)
        subprocess.run([MAKE_DATABASE, self.database, "crash"], check=True, timeout=60)
        self.backup()
        found, copied = [re.findall(r"^tree .*", self.check(folder).stdout, re.M)
                         for folder in (self.database, self.copy)]
        self.assertEqual(found, copied)
        self.assertIn("8 large values of 240000 bytes", "\n".join(found))

    def test_a_log_elsewhere(self):
        shutil.rmtree(self.database)
        logs = os.path.join(self.folder, "logs")
        there = ["--log-directory", logs]
        run("load", self.database, "t", os.path.join(self.original, "rows.csv"), "--schema", SCHEMA,
            *there)
        self.refused("no log beside the pages; --log-directory says where it is")
        self.refused(f"{logs}", *there, code=2, copy=os.path.join(logs, "copy"))
        self.backup(*there)
        self.check(self.copy)
        self.check(self.database, *there)
        self.assertTrue(self.dumped(self.copy) == self.rows)

    def test_the_rate_is_kept(self):
        begin = time.monotonic()
        told = LINE.match(self.backup("--rate-mib", "2").stdout)
        elapsed = time.monotonic() - begin
        least = float(told[3]) * 1e6 / (2 * MIB)
        self.assertGreater(least, 1)
        self.assertGreater(float(told[5]), least - 0.1)
        self.assertGreater(elapsed, least - 0.1)

    def test_a_bar_on_a_terminal(self):
        terminal, its_other_end = pty.openpty()
        with subprocess.Popen([TOOL, "backup", self.database, self.copy, "--rate-mib", "2"],
                              stdout=subprocess.DEVNULL, stderr=its_other_end) as process:
            os.close(its_other_end)
            shown = b""
            try:
                while piece := os.read(terminal, 4096):
                    shown += piece
            except OSError:  # so its end is told
                pass
            self.assertEqual(process.wait(60), 0)
        os.close(terminal)
        self.assertRegex(shown, rb"\r\x1b\[K\[#+ *\] +\d+%  copying: \d\.\d MB/s, 0:00:\d\d left")
        self.assertNotIn(b"rows", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown)

    def test_a_damaged_page_is_told(self):
        with open(os.path.join(self.database, "pages"), "r+b") as file:
            at = file.read().index(b"%040d" % (ROWS * 3 // 4))
            file.seek(at)
            file.write(b"x")
        done = self.backup(code=1)
        self.assertEqual(done.stderr,
                         f"palimpsest backup: corruption: 1 pages of {self.database} are damaged, and "
                         f"their copies, too; palimpsest check {self.database} names them\n")
        self.assertRegex(done.stdout, LINE)
        found, copied = [re.findall(r"^pages: \d+ in use.*|page \d+ is damaged .*", self.check(
            folder, code=1).stdout, re.M) for folder in (self.database, self.copy)]
        self.assertEqual(found, copied)
        self.assertIn(", 1 of them damaged", "\n".join(found))


class Refusals(Backup):
    def test_what_is_in_the_way(self):
        os.mkdir(self.copy)
        mine = os.path.join(self.copy, "mine")
        with open(mine, "w", encoding="utf-8") as file:
            file.write("text")
        self.assertIn("already_exists",
                      self.refused('a backup needs an empty directory, but this one has "mine"'))
        self.assertEqual(contents(self.copy), {"mine": b"text"})
        self.refused("mine", copy=mine)
        os.remove(mine)
        self.backup()
        before = contents(self.copy)
        self.refused("already_exists")
        self.assertTrue(contents(self.copy) == before)

    def test_into_the_database(self):
        for inside in ("", "/", "/copy", "/copy/", "/more/copy", "/../db/copy"):
            self.refused(f"is the database's directory {self.database}, or lies in it", code=2,
                         copy=self.database + inside)
        os.symlink(self.database, self.copy)
        self.refused("is the database's directory", code=2)
        os.remove(self.copy)
        self.check(self.database)
        self.backup(copy=self.database + "2")

    def test_no_database(self):
        for make in (lambda: shutil.rmtree(self.database), lambda: os.mkdir(self.database)):
            make()
            self.assertIn("not_found", self.refused(self.database))
        self.assertEqual(os.listdir(self.database), [])
        nowhere = os.path.join(self.folder, "nowhere")
        self.assertIn("not_found", self.refused(nowhere, "--log-directory", nowhere))

    def test_no_folder_to_make_it_in(self):
        copy = os.path.join(self.folder, "nowhere/copy")
        self.assertIn("not_found", self.refused(copy, copy=copy))
        self.check(self.database)

    def test_a_database_in_use(self):
        shutil.rmtree(self.database)
        os.mkdir(self.database)
        with subprocess.Popen([MAKE_DATABASE, self.database, "hold"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as holder:
            self.assertEqual(holder.stdout.readline(), "held\n")
            message = self.refused("is in use")
            holder.communicate("\n", timeout=60)
        self.assertRegex(message, r"^palimpsest backup: locked: .*; the program that has it open can "
                                  r"copy it with Database::backup\(\)\n$")

    def test_no_room(self):
        alone = ["unshare", "--user", "--map-root-user", "--mount"]
        os.mkdir(self.copy)
        mount = f"mount -t tmpfs -o size=$0k none {self.copy}; "
        if shutil.which("unshare") is None or subprocess.run(
                [*alone, "sh", "-e", "-c", mount, "1"], capture_output=True, timeout=60,
                check=False).returncode != 0:
            self.skipTest("nothing can be mounted here")
        backup = f"{TOOL} backup {self.database} {self.copy} || echo $?; ls {self.copy}"
        whole = "; the copy was complete before that, and is kept"
        files = "1\nlog-0001\nlog-0002\nlog-control\npages\n"
        pages = os.path.getsize(os.path.join(self.database, "pages")) >> 10
        segment, control = 64, 12  # the log begins small
        for kibibytes, file, is_whole in (
                (1 << 10, "pages.copy", False), (pages // 2, "pages.copy", False),
                (pages, "pages.copy", False), (pages + segment + segment // 2, "log-0002", False),
                (pages + 2 * segment + control // 2, "log-control.new", False),
                (pages + 2 * segment + control + segment // 2, "log-0003", True)):  # by opening it
            done = subprocess.run([*alone, "sh", "-e", "-c", mount + backup, str(kibibytes)],
                                  capture_output=True, timeout=60, text=True, check=False)
            self.assertEqual(done.stdout, files if is_whole else "1\n", done.stderr)
            self.assertRegex(done.stderr, f'^palimpsest backup: no_space: .*"{self.copy}/{file}" failed: '
                                          f'No space left on device{whole if is_whole else ""}\n$')
        self.check(self.database)

    def test_usage(self):
        for options in ((), ("--rate-mib", "-1"), ("--rate-mib", "fast"), ("--rate-mib", "1048577"),
                        ("--colour",)):
            arguments = ["backup", self.database, self.copy, *options] if options else ["backup", "a"]
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertNotEqual(done.stderr, "")
        self.assertFalse(os.path.exists(self.copy))
        done = run("backup", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("130 interrupted", done.stdout)


class Signals(Backup):
    def ended(self, by):
        """What a backup says that has met the signal before its end, and after it began to write."""
        for _ in range(20):
            with subprocess.Popen([TOOL, "backup", self.database, self.copy, "--rate-mib", "1"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                until = time.monotonic() + 60
                while not os.path.exists(os.path.join(self.copy, "pages.copy")) and \
                        process.poll() is None and time.monotonic() < until:
                    pass
                process.send_signal(by)
                out, err = process.communicate(timeout=60)
            if process.returncode != 0:
                return process.returncode, out, err
            shutil.rmtree(self.copy)
        return self.fail("it was never met before its end")

    def test_an_interrupt_leaves_nothing(self):
        message = "palimpsest backup: interrupted; nothing is left of the copy\n"
        for by in (signal.SIGINT, signal.SIGTERM):
            self.assertEqual(self.ended(by), (130, "", message))
            self.assertEqual(os.listdir(self.folder), ["db"])
            self.check(self.database)
        os.mkdir(self.copy)
        self.assertEqual(self.ended(signal.SIGINT), (130, "", message))
        self.assertEqual(os.listdir(self.copy), [])
        self.backup()
        self.check(self.copy)

    def test_what_is_killed_is_no_database(self):
        self.assertEqual(self.ended(signal.SIGKILL)[0], -signal.SIGKILL)
        self.assertIn("pages.copy", os.listdir(self.copy))
        self.check(self.copy, code=3)
        self.assertEqual(run("dump", self.copy, "t").returncode, 1)
        self.refused("a backup needs an empty directory")
        shutil.rmtree(self.copy)
        self.backup()
        self.assertTrue(self.dumped(self.copy) == self.rows)
        self.assertTrue(self.dumped(self.database) == self.rows)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
