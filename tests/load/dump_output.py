"""Checks that `palimpsest dump --output` makes its file whole or leaves it as it was, whatever ends it, and
goes where links, pipes and devices lead."""
import os
import shutil
import signal
import stat
import subprocess
import threading
import time

from command import Command, TOOL, main

SCHEMA = "id int32 primary key, name varchar(40)"
ROWS = 200_000


class DumpOutput(Command):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("out"))
        self.output = self.path("out/t.csv")

    def fill(self, rows=3):
        self.rows = b"".join(b"%d,%040d\n" % (row, row) for row in range(rows))
        self.load("t", self.file("rows.csv", self.rows), "--schema", SCHEMA)

    def dump_to(self, output, *arguments, code=0):
        done = self.run_tool("dump", self.database, "t", "--header=off", "--output", output, *arguments,
                             code=code)
        self.assertEqual(done.stdout, b"")
        return done.stderr.decode()

    def there(self):
        return sorted(os.listdir(self.path("out")))

    def test_standard_output(self):
        self.fill()
        done = subprocess.run([TOOL, "dump", self.database, "t", "--header=off", "--output", "-"],
                              cwd=self.path("out"), capture_output=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout, self.there()), (0, self.rows, []), done.stderr)

    def test_a_new_file(self):
        self.fill()
        old = os.umask(0o027)
        self.dump_to(self.output)
        os.umask(old)
        self.assertEqual((self.content("out/t.csv"), self.there()), (self.rows, ["t.csv"]))
        self.assertEqual(stat.S_IMODE(os.stat(self.output).st_mode), 0o640)
        done = subprocess.run([TOOL, "dump", self.database, "t", "--header=off", "--output", "u.csv"],
                              cwd=self.path("out"), capture_output=True, timeout=60, check=False)
        self.assertEqual((done.returncode, self.content("out/u.csv")), (0, self.rows), done.stderr)

    def test_permissions_stay(self):
        self.fill()
        self.file("out/t.csv", "old\n")
        os.chmod(self.output, 0o604)
        self.dump_to(self.output)
        self.assertEqual(self.content("out/t.csv"), self.rows)
        self.assertEqual(stat.S_IMODE(os.stat(self.output).st_mode), 0o604)
        if os.geteuid() == 0:
            os.chown(self.output, 1, 2)
            self.dump_to(self.output)
            status = os.stat(self.output)
            self.assertEqual((status.st_uid, status.st_gid), (1, 2))

    def spoiled(self):
        """A leaf in the middle of the table is damaged."""
        self.fill(ROWS)
        pages = os.path.join(self.database, "pages")
        with open(pages, "r+b") as file:
            at = file.read().index(b"%040d" % (ROWS * 3 // 4))
            file.seek(at)
            file.write(b"x")

    def test_a_damaged_page(self):
        self.spoiled()
        for old in (None, "old\n"):
            if old:
                self.file("out/t.csv", old)
            self.assertIn("corruption: ", self.dump_to(self.output, code=1))
            self.assertEqual(self.there(), ["t.csv"] if old else [])
        self.assertEqual(self.content("out/t.csv"), b"old\n")

    def test_no_room(self):
        self.fill(ROWS)
        self.file("out/t.csv", "old\n")
        alone = ["unshare", "--user", "--map-root-user", "--mount"]
        mount = f"mount -t tmpfs -o size=1m none {self.path('out')}; echo old >{self.output}; "
        dump = f"{TOOL} dump {self.database} t --output {self.output} || echo $?; "
        if shutil.which("unshare") is None or subprocess.run(
                [*alone, "sh", "-e", "-c", mount], capture_output=True, timeout=60,
                check=False).returncode != 0:
            self.skipTest("nothing can be mounted here")
        done = subprocess.run([*alone, "sh", "-e", "-c",
                               mount + dump + f"ls {self.path('out')}; cat {self.output}"],
                              capture_output=True, timeout=60, check=False)
        self.assertEqual(done.stdout, b"1\nt.csv\nold\n", done.stderr)
        self.assertEqual(done.stderr.decode(), f"palimpsest dump: no_space: {self.output}: it cannot be "
                                               "written: No space left on device\n")

    def test_a_full_device(self):
        """Noticed when the file is complete, or before that, in the middle of the rows."""
        for rows in 3, ROWS:
            self.fill(rows)
            self.assertEqual(self.dump_to("/dev/full", code=1), "palimpsest dump: no_space: /dev/full: it "
                                                                "cannot be written: No space left on device\n")
            shutil.rmtree(self.database)

    def started(self):
        """A dump whose unfinished file is there; and it is stopped."""
        process = subprocess.Popen([TOOL, "dump", self.database, "t", "--output", self.output],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until = time.monotonic() + 60
        while self.there() == ["t.csv"] and process.poll() is None and time.monotonic() < until:
            pass
        process.send_signal(signal.SIGSTOP)
        return process

    def ended(self, by):
        """The exit code of a dump that has met the signal before its end, and what it says."""
        for _ in range(20):
            self.file("out/t.csv", "old\n")
            process = self.started()
            process.send_signal(by)
            process.send_signal(signal.SIGCONT)
            _, err = process.communicate(timeout=60)
            if process.returncode != 0:
                return process.returncode, err.decode()
        return self.fail("it was never met before its end")

    def test_interrupted(self):
        self.fill(ROWS)
        for by in (signal.SIGINT, signal.SIGTERM):
            self.assertEqual(self.ended(by), (130, "palimpsest dump: interrupted\n"))
            self.assertEqual((self.content("out/t.csv"), self.there()), (b"old\n", ["t.csv"]))

    def test_killed(self):
        self.fill(ROWS)
        self.assertEqual(self.ended(signal.SIGKILL)[0], -signal.SIGKILL)
        self.assertEqual(self.content("out/t.csv"), b"old\n")
        old, part = sorted(self.there(), reverse=True)
        self.assertEqual(old, "t.csv")
        self.assertRegex(part, r"^palimpsest-\d+-1\.part$")
        self.dump_to(self.output)
        self.assertEqual(self.content("out/t.csv"), self.rows)

    def test_symbolic_links(self):
        self.fill()
        os.mkdir(self.path("far"))
        self.file("far/t.csv", "old\n")
        for leads_to in ("../far/t.csv", self.path("far/t.csv"), "../far/new.csv"):
            os.symlink(leads_to, self.output)
            self.dump_to(self.output)
            self.assertEqual(os.readlink(self.output), leads_to)
            self.assertEqual(self.content("out/t.csv"), self.rows)
            os.remove(self.output)
        self.assertEqual(sorted(os.listdir(self.path("far"))), ["new.csv", "t.csv"])
        os.symlink("t.csv", self.output)
        self.assertIn("Too many levels of symbolic links", self.dump_to(self.output, code=1))
        self.assertEqual(self.there(), ["t.csv"])

    def test_a_link_into_the_database(self):
        self.fill()
        before = sorted(os.listdir(self.database))
        os.symlink("../db/new.csv", self.output)
        self.assertIn("would be written over, or beside", self.dump_to(self.output, code=2))
        self.assertEqual(sorted(os.listdir(self.database)), before)

    def test_a_pipe(self):
        self.fill()
        os.mkfifo(self.output)
        read = []
        reader = threading.Thread(target=lambda: read.append(self.content("out/t.csv")))
        reader.start()
        self.dump_to(self.output)
        reader.join(60)
        self.assertEqual(read, [self.rows])
        self.assertTrue(stat.S_ISFIFO(os.stat(self.output).st_mode))
        self.assertEqual(self.there(), ["t.csv"])

    def test_descriptors(self):
        """A file that standard output goes to is written, and no other one takes its place. The link is
        as /dev/stdout is, which root could lose by a mistake."""
        self.fill()
        os.symlink("/proc/self/fd/1", self.path("stdout"))
        for name in (self.path("stdout"), "/dev/fd/1", "/proc/self/fd/1"):
            with open(self.output, "wb+") as file:
                done = subprocess.run([TOOL, "dump", self.database, "t", "--header=off", "--output",
                                       name], stdout=file, stderr=subprocess.PIPE, timeout=60,
                                      check=False)
                self.assertEqual((done.returncode, file.read()), (0, self.rows), done.stderr)
            self.assertEqual(self.there(), ["t.csv"])

    def without_rights(self, *arguments):
        """Root may write anywhere, unless it gives that up."""
        give_up = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps",
                   "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
        if give_up and (shutil.which("setpriv") is None or subprocess.run(
                [*give_up, "true"], capture_output=True, timeout=60, check=False).returncode != 0):
            self.skipTest("root remains root here")
        return subprocess.run([*give_up, TOOL, "dump", self.database, "t", *arguments],
                              capture_output=True, timeout=60, check=False)

    def test_a_folder_that_may_not_be_written(self):
        self.fill()
        self.file("out/t.csv", "old\n")
        os.chmod(self.path("out"), 0o555)
        self.addCleanup(os.chmod, self.path("out"), 0o700)
        done = self.without_rights("--output", self.output)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr.decode(), f"^palimpsest dump: permission_denied: .*{self.output}")
        self.assertEqual((self.content("out/t.csv"), self.there()), (b"old\n", ["t.csv"]))

    def test_a_file_that_may_not_be_written(self):
        self.fill()
        self.file("out/t.csv", "old\n")
        os.chmod(self.output, 0o444)
        done = self.without_rights("--output", self.output)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"permission_denied: {self.output}: it cannot be written".encode(), done.stderr)
        self.assertEqual((self.content("out/t.csv"), self.there()), (b"old\n", ["t.csv"]))


if __name__ == "__main__":
    main()
