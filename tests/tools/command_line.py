"""Checks what all subcommands of `palimpsest` have in common: values that are empty, names that are none,
the version, output that cannot be written. usage: command_line.py PALIMPSEST MAKE_DATABASE VERSION"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from tool_command import contents, run

TOOL, MAKE_DATABASE, VERSION = sys.argv[1:4]
COMMANDS = "check, tables, stat, log, load, dump, backup, compact, salvage"


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.database = os.path.join(self.folder, "db")
        self.file = os.path.join(self.folder, "1.csv")
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("id,name\n1,a\nx,b\n")

    def refused(self, message, *arguments):
        before = os.listdir(self.folder)
        done = subprocess.run([TOOL, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""), (arguments, done.stderr))
        self.assertIn(message, done.stderr, arguments)
        self.assertEqual(os.listdir(self.folder), before, arguments)

    def test_empty_values(self):
        load = ["load", self.database, "t", self.file]
        dump = ["dump", self.database, "t"]
        given = {"--schema": "id int32 primary key, name varchar"}
        both = ["--delimiter", "--quote", "--escape", "--columns", "--format", "--log-directory"]
        cases = [(load, option) for option in both + [
            "--reject-file", "--reject-log", "--primary-key", "--schema", "--schema-file", "--comment",
            "--max-errors", "--summary", "--memory"]]
        cases += [(dump, option) for option in both + ["--output"]]
        cases += [([command, self.database], option) for command in ("check", "tables", "stat")
                  for option in ("--log-directory", "--memory-mib")]
        cases += [([command, self.database], "--log-directory") for command in ("log", "compact")]
        backup = ["backup", self.database, os.path.join(self.folder, "copy")]
        cases += [(backup, option) for option in ("--log-directory", "--rate-mib")]
        for command, option in cases:
            others = ["--infer"] if option == "--primary-key" else [
                word for name, value in given.items() if "--schema" not in option
                for word in (name, value)] if command is load else []
            self.refused(f"{option}: the value is empty", *command, *others, option + "=")
            message = option if option in ("--format", "--max-errors", "--summary", "--memory",
                                           "--memory-mib", "--rate-mib") else f"{option}: the value is empty"
            self.refused(message, *command, *others, option, "")

    def test_empty_values_take_no_other_word(self):
        """Nor is what follows the value that is not there."""
        self.refused("--reject-file: the value is empty", "load", "--reject-file=", self.database, "t",
                     self.file)
        self.refused("--header: the value is empty", "dump", "--header=", self.database, "t")

    def test_empty_arguments(self):
        schema = ["--schema", "id int32 primary key, name varchar"]
        for place, name in enumerate(("DB", "TABLE", "FILE")):
            words = [self.database, "t", self.file]
            words[place] = ""
            self.refused(f"{name}: the value is empty", "load", *words, *schema)
            if name != "FILE":
                self.refused(f"{name}: the value is empty", "dump", *words[:2])
        self.refused("FILE: the value is empty", "load", self.database, "t", self.file, "", *schema)
        self.refused("DIR: the value is empty", "check", "")
        self.refused("DIR: the value is empty", "backup", self.database, "")
        self.refused("DB: the value is empty", "backup", "", self.database)
        self.refused("DIR: the value is empty", "log", "")
        self.refused("DB: the value is empty", "tables", "")
        self.refused("DB: the value is empty", "stat", "")
        self.refused("TABLE: the value is empty", "tables", self.database, "a", "")

    def test_null_may_be_empty(self):
        schema = "id int32 primary key, name varchar null"
        with open(self.file, "w", encoding="utf-8") as file:
            file.write('1,\n2,""\n')
        for number, null in enumerate((["--null", ""], ["--null="])):
            table = f"t{number}"
            done = run("load", self.database, table, self.file, "--schema", schema, *null)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = run("dump", *null, self.database, table, "--header=off")
            self.assertEqual((done.returncode, done.stdout), (0, '1,\n2,""\n'), done.stderr)

    def test_subcommands(self):
        for name in ("chekc", "", "Load", self.database):
            self.refused(f'there is no subcommand "{name}"; {COMMANDS}', name)
            self.refused(f'there is no subcommand "{name}"; {COMMANDS}', name, self.database)
        self.refused("A subcommand is required")

    def test_version(self):
        done = run("--version")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"palimpsest {VERSION}\n", ""))

    def into_full(self, *arguments):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TOOL, *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=60, check=False)
        self.assertIn("could not be written" if arguments[0].startswith("-") else "be written",
                      done.stderr, arguments)
        return done.returncode

    def test_output_that_cannot_be_written(self):
        os.mkdir(self.database)
        subprocess.run([MAKE_DATABASE, self.database, "close"], check=True, timeout=60)
        before = contents(self.database)
        for options in ([], ["--json"]):
            self.assertEqual(self.into_full("check", self.database, *options), 3)
            self.assertEqual(self.into_full("log", self.database, *options), 1)
        for question in ("--version", "--help"):
            self.assertEqual(self.into_full(question), 1)
        self.assertTrue(contents(self.database) == before, "looking changes nothing")
        subprocess.run([MAKE_DATABASE, self.database, "leak"], check=True, timeout=60)
        self.assertEqual(self.into_full("check", self.database), 1)

    def test_a_closed_output(self):
        os.mkdir(self.database)
        subprocess.run([MAKE_DATABASE, self.database, "close"], check=True, timeout=60)
        done = subprocess.run(["sh", "-c", '"$0" "$@" >&-', TOOL, "check", self.database],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
