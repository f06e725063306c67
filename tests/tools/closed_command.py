"""What the checks of the subcommands that look at a closed database have in common: refusals, and that
looking changes nothing. The arguments are PALIMPSEST MAKE_DATABASE MAKE_TABLES."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from tool_command import contents, run

TOOL, MAKE_DATABASE, MAKE_TABLES = sys.argv[1:4]


class ClosedCommand(unittest.TestCase):
    """A database in a folder of its own for each test."""
    COMMAND = ""

    def setUp(self):
        self.folder = self.new_folder()
        self.pages = os.path.join(self.folder, "pages")

    def new_folder(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        return folder

    def make(self, how, maker=MAKE_TABLES, folder=None):
        subprocess.run([maker, folder or self.folder, how], check=True, timeout=60)

    def load(self, table, schema, rows, folder=None):
        path = os.path.join(self.new_folder(), "rows.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write(rows)
        done = run("load", folder or self.folder, table, path, "--quiet", "--schema", schema)
        self.assertEqual(done.returncode, 0, done.stderr)

    def looked(self, *options, code=0, folder=None, says=""):
        before = contents(folder or self.folder)
        done = run(self.COMMAND, folder or self.folder, *options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertTrue(contents(folder or self.folder) == before, "looking changes nothing")
        if code == 0:
            self.assertRegex(done.stderr, f"^{says}$")
        return done

    def lines(self, *options, code=0):
        return [json.loads(line)
                for line in self.looked("--json", *options, code=code).stdout.splitlines()]

    def flip(self, offset):
        with open(self.pages, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 0x20]))


class Refusals:
    """Each subcommand's tests are these, too."""

    def refused(self, code, message, *options):
        """As `check` refuses it; no table is shown."""
        done = self.looked(*options, code=3)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, f"^palimpsest {self.COMMAND}: {code}: .*{message}")
        lines = self.lines(*options, code=3)
        self.assertEqual([(line["kind"], line["code"]) for line in lines], [("error", code)])
        checked = run("check", self.folder, *options)
        self.assertEqual(checked.returncode, 3)
        self.assertEqual(checked.stderr.split(": ", 2)[2], done.stderr.split(": ", 1)[1])

    def test_not_closed(self):
        self.make("crash", MAKE_DATABASE)
        self.looked(says=f"palimpsest {self.COMMAND}: .* was not closed cleanly: .*recover it\n")

    def test_more_to_recover_than_fits(self):
        self.make("crash-long", MAKE_DATABASE)
        self.refused("out_of_memory", r"more to recover than 1 MiB can hold \(--memory-mib\)",
                     "--memory-mib", "1")
        self.looked("--memory-mib", "32", says=f"palimpsest {self.COMMAND}: .*recover it\n")

    def test_in_use(self):
        with subprocess.Popen([MAKE_DATABASE, self.folder, "hold"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as holder:
            self.assertEqual(holder.stdout.readline(), "held\n")
            done = run(self.COMMAND, self.folder)
            holder.communicate("\n", timeout=60)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertRegex(done.stderr, f"^palimpsest {self.COMMAND}: locked: .*is in use")
        self.looked()

    def test_no_database(self):
        self.refused("not_found", f'"{self.folder}" does not hold a database')
        self.assertEqual(run(self.COMMAND, os.path.join(self.folder, "nowhere")).returncode, 3)
        with open(self.pages, "wb") as file:
            file.write(b"what somebody else calls pages\n" * 1000)
        self.refused("not_a_database", f'"{self.folder}" does not hold a database: .*PLMPSEST')
        self.assertEqual(run(self.COMMAND, self.pages).returncode, 3)

    def test_its_log_is_elsewhere(self):
        self.make("make")
        log, other = self.new_folder(), self.new_folder()
        self.make("make", folder=other)
        for name in os.listdir(self.folder):
            if name.startswith("log-"):
                shutil.move(os.path.join(self.folder, name), log)
        self.refused("not_found", "--log-directory says where it is")
        self.refused("not_found", "the log belongs to another database", "--log-directory", other)
        self.looked("--log-directory", log)

    def test_damage_is_no_refusal(self):
        """Foreign pages beside a log, the log of another database, one without its control file."""
        self.make("make")
        with open(self.pages, "rb") as file:
            begin = file.read(3 * 4096)
        with open(self.pages, "r+b") as file:
            file.write(b"x" * len(begin))
        self.assertIn("corruption", self.looked(code=1).stderr)
        with open(self.pages, "r+b") as file:
            file.write(begin)
        other = self.new_folder()
        self.make("make", folder=other)
        shutil.copy(os.path.join(other, "pages"), self.folder)
        self.assertIn("corruption", self.looked(code=1).stderr)
        self.assertEqual(self.lines(code=1)[0]["code"], "corruption")
        os.remove(os.path.join(self.folder, "log-control"))
        self.assertIn("does not hold a log", self.looked(code=1).stderr)

    def test_little_memory(self):
        self.make("make")
        self.assertEqual(self.looked("--memory-mib", "1").stdout, self.looked().stdout)

    def test_output_that_cannot_be_written(self):
        self.make("make")
        for options in ([], ["--json"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([TOOL, self.COMMAND, self.folder, *options], stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("the output could not be written", done.stderr)
        done = subprocess.run(["sh", "-c", '"$0" "$@" >&-', TOOL, self.COMMAND, self.folder],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_usage(self):
        for arguments in ([], ["--colour", self.folder], ["--memory-mib", "0", self.folder]):
            done = run(self.COMMAND, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertNotEqual(done.stderr, "")
        done = run(self.COMMAND, "--help")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"(?s)0 done; 1 failed.*; 2 usage; 3 cannot be read")


def main():
    unittest.main(argv=sys.argv[:1])
