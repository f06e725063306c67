"""What the checks of `palimpsest load` and `dump` have in common. The tool is the first argument."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv[1]


class Command(unittest.TestCase):
    """A folder for a database and its files, gone after the test."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.database = os.path.join(self.folder, "db")

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def content(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def run_tool(self, *arguments, code=0, stdin=b""):
        done = subprocess.run([TOOL, *arguments], capture_output=True, timeout=120, check=False,
                              input=stdin)
        self.assertEqual(done.returncode, code, (arguments, done.stdout[-2000:], done.stderr[-2000:]))
        return done

    def load(self, table, *arguments, code=0, stdin=b""):
        return self.run_tool("load", self.database, table, *arguments, "--progress", "none",
                             code=code, stdin=stdin)

    def dump(self, table, *arguments, code=0):
        return self.run_tool("dump", self.database, table, *arguments, code=code).stdout


def main():
    unittest.main(argv=sys.argv[:1])
