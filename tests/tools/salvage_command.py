"""Checks `palimpsest salvage` as people meet it: what is copied, told and refused, exit codes.
usage: salvage_command.py PALIMPSEST MAKE_DATABASE MAKE_TABLES"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from tool_command import contents, run

TOOL, MAKE_DATABASE, MAKE_TABLES = sys.argv[1:4]
PAGE_BYTES = 4096
LEAF = 1


class Salvage(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.database = os.path.join(self.folder, "db")
        self.copy = os.path.join(self.folder, "copy")
        os.mkdir(self.database)
        self.pages = os.path.join(self.database, "pages")

    def make(self, how="make", maker=MAKE_TABLES):
        subprocess.run([maker, self.database, how], check=True, timeout=60)

    def salvage(self, *options, code=0):
        before = contents(self.database)
        done = run("salvage", self.database, self.copy, *options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertTrue(contents(self.database) == before, "the damaged one is not changed")
        return done

    def dump(self, folder, table):
        return run("dump", folder, table, "--header=off").stdout

    def flip(self, offset):
        with open(self.pages, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 0x20]))

    def leaves(self, text):
        """Pages that are leaves and hold the text."""
        with open(self.pages, "rb") as file:
            pages = file.read()
        return [at for at in range(1 << 16, len(pages), PAGE_BYTES)
                if pages[at + 46] == LEAF and text in pages[at:at + PAGE_BYTES]
                and int.from_bytes(pages[at + 8:at + 16], "little") == at // PAGE_BYTES]

    def test_a_sound_database(self):
        self.make()
        done = self.salvage()
        self.assertIn('table "people": 3000 rows\n', done.stdout)
        self.assertIn("nothing is missing", done.stdout)
        self.assertEqual(done.stderr, "")
        for table in ("people", "notes"):
            self.assertEqual(self.dump(self.copy, table), self.dump(self.database, table))
        self.assertEqual(run("check", self.copy).returncode, 0)

    def test_after_a_crash(self):
        self.make("crash", MAKE_DATABASE)
        self.salvage()
        self.assertEqual(run("check", self.copy).returncode, 0)

    def test_damaged_pages(self):
        self.make()
        whole = self.dump(self.database, "notes").splitlines()
        notes = self.leaves(b"nnnnnnnnnn")
        self.flip(notes[len(notes) // 2] + 2000)
        done = self.salvage(code=1)
        self.assertRegex(done.stdout, r'table "notes": \d+ rows, and some are missing\n')
        self.assertRegex(done.stdout, r'  rows may be missing: between \("name \d+"\) and \("name \d+"\)')
        self.assertIn('table "people": 3000 rows\n', done.stdout)
        left = self.dump(self.copy, "notes").splitlines()
        self.assertLess(len(left), len(whole))
        self.assertLess(len(whole) - 200, len(left))
        self.assertLessEqual(set(left), set(whole))
        self.assertEqual(run("check", self.copy).returncode, 0)

    def test_json(self):
        self.make()
        notes = self.leaves(b"nnnnnnnnnn")
        self.flip(notes[len(notes) // 2] + 2000)
        lines = [json.loads(line) for line in self.salvage("--json", code=1).stdout.splitlines()]
        self.assertEqual([line["kind"] for line in lines], ["table", "gap", "table", "result"])
        notes, gap, people, result = lines
        self.assertEqual((notes["name"], notes["whole"], notes["gaps"]), ("notes", False, 1))
        self.assertEqual(gap["table"], "notes")
        self.assertLess(gap["after"], gap["before"])
        self.assertEqual((people["rows"], people["whole"]), (3000, True))
        self.assertEqual(result["rows"], notes["rows"] + people["rows"])
        self.assertFalse(result["whole"])
        self.assertEqual(result["damaged_pages"], 1)

    def test_an_index_that_the_rows_do_not_allow(self):
        self.make()
        self.make("twins")
        done = self.salvage(code=1)
        self.assertIn('  index "by_name" is left out: ', done.stdout)
        self.assertIn('table "people": 3001 rows', done.stdout)
        self.assertEqual(run("check", self.copy).returncode, 0)

    def test_rows_that_are_none(self):
        self.make()
        self.make("row")
        done = self.salvage(code=1)
        self.assertIn("  1 rows left out: they are not rows of the table\n", done.stdout)

    def test_a_definition_that_is_none(self):
        self.make()
        self.make("record")
        done = self.salvage("--lost-trees", code=1)
        self.assertIn('table "people": its definition is damaged', done.stdout)
        self.assertRegex(done.stdout, r'tree \d+: 3000 records .*; they are in the table "lost tree \d+"')
        self.assertIn('table "notes": 3000 rows\n', done.stdout)

    def test_refusals(self):
        done = run("salvage", self.database, self.copy)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertRegex(done.stderr, "^palimpsest salvage: not_found: ")
        self.make()
        os.mkdir(self.copy)
        with open(os.path.join(self.copy, "file"), "wb"):
            pass
        self.assertRegex(self.salvage(code=3).stderr, "^palimpsest salvage: already_exists: ")
        line = json.loads(self.salvage("--json", code=3).stdout)
        self.assertEqual((line["kind"], line["code"]), ("error", "already_exists"))
        self.assertEqual(os.listdir(self.copy), ["file"])

    def test_in_use(self):
        with subprocess.Popen([MAKE_DATABASE, self.database, "hold"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as holder:
            self.assertEqual(holder.stdout.readline(), "held\n")
            done = run("salvage", self.database, self.copy)
            holder.communicate("\n", timeout=60)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertRegex(done.stderr, "^palimpsest salvage: locked: .*is in use")
        self.assertFalse(os.path.exists(self.copy))

    def test_more_to_recover_than_fits(self):
        self.make("crash-long", MAKE_DATABASE)
        self.assertIn("out_of_memory", self.salvage("--memory-mib", "1", code=3).stderr)
        self.assertFalse(os.path.exists(self.copy))
        self.salvage("--memory-mib", "64")

    def test_usage(self):
        for arguments in ([], [self.database], ["--colour", self.database, self.copy]):
            self.assertEqual(run("salvage", *arguments).returncode, 2, arguments)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
