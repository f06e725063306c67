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

    def test_what_the_engine_reports(self):
        """To standard error, or to a file; as much as is asked for."""
        os.mkdir(self.database)
        subprocess.run([MAKE_DATABASE, self.database, "close"], check=True, timeout=60)
        quiet = run("compact", self.database)
        self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))
        told = run("compact", self.database, "--log-level", "info")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("palimpsest: info: database: the database is open path=", told.stderr)
        self.assertIn("palimpsest: info: database: the database is closed path=", told.stderr)
        log = os.path.join(self.folder, "log")
        for times in range(1, 3):
            filed = run("compact", self.database, "--log-file", log)
            self.assertEqual((filed.returncode, filed.stderr), (0, ""))
            with open(log, encoding="utf-8") as file:
                lines = file.read().splitlines()
            opened = [line for line in lines if ": info: database: the database is open path=" in line]
            self.assertEqual(len(opened), times, "it is appended")
        self.assertRegex(opened[0], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [+-]\d\d:\d\d "
                                    r"palimpsest\[\d+\]: info: database: ")
        before = os.path.getsize(log)
        for level in ("warning", "off"):
            done = run("compact", self.database, "--log-file", log, "--log-level", level)
            self.assertEqual((done.returncode, os.path.getsize(log)), (0, before), done.stderr)

    def test_what_is_reported_of_a_recovery_in_memory(self):
        os.mkdir(self.database)
        subprocess.run([MAKE_DATABASE, self.database, "crash"], check=True, timeout=60)
        log = os.path.join(self.folder, "log")
        done = run("check", self.database, "--log-file", log)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(log, encoding="utf-8") as file:
            self.assertIn(": info: recovery: the database is recovered ", file.read())

    def test_log_options_of_all_subcommands(self):
        for command in COMMANDS.split(", "):
            for option in ("--log-level", "--log-file"):
                self.assertIn(option, run(command, "--help").stdout, command)
                self.refused("the value is empty", command, self.database, option + "=")
            self.refused("--log-level", command, self.database, "--log-level", "loud")

    def test_a_log_that_cannot_be_written(self):
        os.mkdir(self.database)
        subprocess.run([MAKE_DATABASE, self.database, "close"], check=True, timeout=60)
        log = os.path.join(self.file, "log")
        done = run("compact", self.database, "--log-file", log)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f'palimpsest: the log "{log}" cannot be opened', done.stderr)

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
