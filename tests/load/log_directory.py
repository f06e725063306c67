"""Checks that the command knows databases whose log lies elsewhere, and says so of one where it was not told."""
import os
import signal
import subprocess

from command import Command, TOOL, main

SCHEMA = "id int32 primary key, name varchar(5)"
NO_LOG = "no log beside the pages; --log-directory says where it is"


class LogDirectory(Command):
    def setUp(self):
        super().setUp()
        self.logs = self.path("logs")
        self.there = ["--log-directory", self.logs]
        self.rows = self.file("1.csv", "1,a\n2,b\n")

    def make(self):
        self.load("t", self.rows, "--schema", SCHEMA, *self.there)

    def names(self):
        return sorted(os.listdir(self.database)), sorted(os.listdir(self.logs))

    def test_all_subcommands(self):
        self.load("t", self.rows, "--schema", SCHEMA, *self.there, "--dry-run")
        self.assertEqual(sorted(os.listdir(self.folder)), ["1.csv"])
        self.make()
        pages, logs = self.names()
        self.assertEqual(pages, ["log-directory", "pages"])
        self.assertIn("log-control", logs)
        self.load("t", self.file("2.csv", "3,c\n"), *self.there, "--resume")
        self.assertEqual(self.dump("t", "--header=off", *self.there), b"1,a\n2,b\n3,c\n")
        self.assertTrue(self.run_tool("check", self.database, *self.there).stdout.endswith(b"sound\n"))
        self.assertIn(b"closed cleanly", self.run_tool("log", self.database, *self.there).stdout)
        self.run_tool("log", self.database, *self.there, "--records")

    def test_where_it_is_not(self):
        """Nothing is made beside the pages, nor where the log is said to be."""
        self.make()
        before = self.names()
        elsewhere = self.path("elsewhere")
        for options, message in (([], NO_LOG), (["--log-directory", elsewhere], "elsewhere")):
            done = self.run_tool("check", self.database, *options, code=3)
            self.assertIn(message, done.stderr.decode())
            self.assertNotIn(b"DAMAGED", done.stdout)
            for command in (["log", self.database], ["dump", self.database, "t"],
                            ["load", self.database, "t", self.rows],
                            ["load", self.database, "u", self.rows, "--infer"],
                            ["load", self.database, "u", self.rows, "--infer", "--dry-run"]):
                done = self.run_tool(*command, *options, code=1)
                self.assertIn(message, done.stderr.decode(), command)
                self.assertEqual(done.stdout, b"", command)
            self.assertFalse(os.path.exists(elsewhere))
        self.assertEqual(self.names(), before)
        os.mkdir(elsewhere)
        for code, command in ((3, ["check", self.database]), (1, ["log", self.database]),
                              (1, ["dump", self.database, "t"])):
            done = self.run_tool(*command, "--log-directory", elsewhere, code=code)
            self.assertIn(f"{elsewhere}: no log is there".encode(), done.stderr)
        self.assertEqual(os.listdir(elsewhere), [])
        self.assertEqual(self.dump("t", "--header=off", *self.there), b"1,a\n2,b\n")

    def test_that_of_another_database(self):
        self.make()
        self.run_tool("load", self.path("other"), "t", self.rows, "--schema", SCHEMA,
                      "--log-directory", self.path("others"), "--progress", "none")
        for code, command in ((1, ["load", self.database, "t", self.rows]),
                              (1, ["dump", self.database, "t"]), (3, ["check", self.database])):
            done = self.run_tool(*command, "--log-directory", self.path("others"), code=code)
            self.assertIn(b"belongs to another database", done.stderr + done.stdout)
        self.load("t", self.file("2.csv", "3,c\n"), *self.there)
        self.run_tool("check", self.path("other"), "--log-directory", self.path("others"))

    def test_a_log_that_has_lost_its_control_file(self):
        self.make()
        os.remove(os.path.join(self.logs, "log-control"))
        done = self.run_tool("check", self.database, *self.there, code=1)
        self.assertIn(b"log: DAMAGED: ", done.stdout)

    def test_outputs_are_kept_apart(self):
        self.make()
        before = self.names()
        for name in ("log-control", "new"):
            output = os.path.join(self.logs, name)
            for option in ("--reject-file", "--reject-log"):
                done = self.load("t", self.rows, "--max-errors", "9", option, output, *self.there,
                                 code=2)
                self.assertIn(f"{output} would be written over".encode(), done.stderr)
            self.dump("t", "--output", output, *self.there, code=2)
        self.assertEqual(self.names(), before)
        self.run_tool("check", self.database, *self.there)

    def test_recovery(self):
        self.make()
        with subprocess.Popen([TOOL, "load", self.database, "t", "-", "--progress", "none", *self.there],
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as process:
            process.stdin.write(b"".join(b"%d,a\n" % row for row in range(3, 300_000)))
            process.stdin.flush()
            process.send_signal(signal.SIGKILL)
            process.wait(60)
        done = self.run_tool("check", self.database, *self.there)
        self.assertIn(b"not closed cleanly", done.stderr)
        self.assertEqual(self.dump("t", "--header=off", *self.there), b"1,a\n2,b\n")
        self.run_tool("check", self.database, *self.there)


if __name__ == "__main__":
    main()
