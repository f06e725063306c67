"""Checks `palimpsest compact` as people meet it: files that become shorter, what is told and refused, exit
codes. usage: compact_command.py PALIMPSEST"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from tool_command import run

TOOL = sys.argv[1]
SCHEMA = "id int32 primary key, name varchar(40)"
ROWS = 60_000
LINE = re.compile(r"^(.*): ([\d.]+) MB of pages before, ([\d.]+) MB now, ([\d.]+) MB in use; (\d+) pages moved, "
                  r"in ([\d.]+) s\n$")


class Compact(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.database = os.path.join(self.folder, "db")

    def load(self, table, rows):
        name = os.path.join(self.folder, "rows.csv")
        with open(name, "w", encoding="utf-8") as file:
            file.writelines(f"{row},{row:040}\n" for row in rows)
        subprocess.run([TOOL, "load", self.database, table, name, "--schema", SCHEMA, "--quiet"], check=True,
                       timeout=120)

    def pages(self):
        return os.path.getsize(os.path.join(self.database, "pages"))

    def test_a_file_as_short_as_what_is_in_use(self):
        self.load("t", range(ROWS))
        done = run("compact", self.database)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        told = LINE.match(done.stdout)
        self.assertEqual(told[1], self.database)
        self.assertLessEqual(self.pages() / 1e6, float(told[4]) * 1.1 + 0.1)
        self.assertEqual(run("dump", self.database, "t", "--header=off").stdout.count("\n"), ROWS)
        self.assertEqual(run("check", self.database).returncode, 0)

    def test_what_is_no_database(self):
        done = run("compact", self.database)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertTrue(done.stderr.startswith("palimpsest compact: not_found: "), done.stderr)
        self.assertFalse(os.path.exists(self.database))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
