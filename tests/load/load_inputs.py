"""Checks what `palimpsest load` makes of its files before it comes to their rows: which it refuses, and
where it finds their headers."""
import gzip
import json
import os
import shutil
import subprocess

from command import Command, TOOL, main

SCHEMA = "id int32 primary key, name varchar(5), age int8 null"


class LaterFiles(Command):
    """A file is opened, and its header judged, before the first row of any is read."""
    OPTIONS = ["--header=match", "--schema", SCHEMA, "--max-errors", "9"]

    def setUp(self):
        super().setUp()
        self.files = [self.file("1.csv", "id,name,age\n1,a,1\nx,b,1\n"),
                      self.file("2.csv", "name,id\nb,2\n")]

    def refused(self, bad, what, code):
        """Says nothing but that, not what is wrong with the first file's row; nothing was begun."""
        rejected = self.file("rejected", "from before\n")
        for more in ([], ["--reject-file", rejected, "--resume"], ["--dry-run"]):
            done = self.load("t", *self.files, bad, *self.OPTIONS, *more, code=code)
            self.assertRegex(done.stderr.decode(), f"^palimpsest load: {what.format(bad)}[^\n]*\n$")
            self.assertFalse(os.path.exists(self.database))
        self.assertEqual(self.content("rejected"), b"from before\n")

    def test_headers(self):
        for header, what in (("id,name,size", 'the header: table "t" has no column "size"'),
                             ("name,age", 'the header: column "id" is not named'),
                             ("id,age,id", 'the header: column "id" is named twice'),
                             ('id,na"me', "the header line is none: "),
                             ('id,"name', "the header line is none: the quotes do not end")):
            self.refused(self.file("bad.csv", header + "\n5,a,1\n"), "{}: " + what, 2)
            bad = self.file("bad.csv.gz", gzip.compress(header.encode()))
            self.refused(bad, "{}: " + what, 2)
        self.refused(self.file("bad.csv", ""), "{}: there is no header line", 2)

    def test_a_header_that_is_not_matched(self):
        bad = self.file("bad.csv", "name,id,age\na,5,1\n")
        done = self.load("t", self.files[0], bad, "--header", *self.OPTIONS[1:], code=2)
        self.assertEqual(done.stderr.decode().count("\n"), 1, done.stderr)
        self.assertIn(f'{bad}: the header: the header names "name" where the table has "id"'.encode(),
                      done.stderr)

    def test_files_that_cannot_be_read(self):
        whole = gzip.compress(b"id,name\n" + b"".join(b"%d,a\n" % i for i in range(9, 999)))
        self.refused(self.file("bad.csv.gz", whole[:500]),
                     "corruption: {}: the gzip data ends too early", 1)
        self.refused(self.file("bad.csv", "id,name\n5,a\n".encode("utf-16")[:-1]),
                     "corruption: {}: byte 24 is no text in UTF-16", 1)
        if os.geteuid() != 0:
            locked = self.file("bad.csv", "id,name\n5,a\n")
            os.chmod(locked, 0)
            self.refused(locked, "permission_denied: {}: ", 1)

    def test_files_that_are_not_there(self):
        os.symlink("loop", self.path("loop"))
        for name, what in (("nowhere.csv", "not_found: {}: it cannot be opened: No such file or dir"),
                           ("1.csv/2.csv", "not_found: {}: it cannot be opened: Not a directory"),
                           (300 * "x", "io_error: {}: it cannot be opened: File name too long"),
                           ("loop", "io_error: {}: it cannot be opened: Too many levels of symbolic")):
            self.refused(self.path(name), what, 1)

    def test_a_folder_that_may_not_be_searched(self):
        """Root may search any, unless it gives that up."""
        give_up = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps",
                   "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
        if give_up and (shutil.which("setpriv") is None or subprocess.run(
                [*give_up, "true"], capture_output=True, timeout=60, check=False).returncode != 0):
            self.skipTest("root remains root here")
        os.mkdir(self.path("locked"))
        bad = self.file("locked/3.csv", "id,name\n5,a\n")
        os.chmod(self.path("locked"), 0)
        done = subprocess.run([*give_up, TOOL, "load", self.database, "t", *self.files, bad,
                               *self.OPTIONS], capture_output=True, timeout=60, check=False)
        os.chmod(self.path("locked"), 0o700)
        self.assertEqual((done.returncode, done.stderr.decode()), (
            1, f"palimpsest load: permission_denied: {bad}: it cannot be opened: Permission denied; "
            "nothing was loaded\n"))

    def test_a_folder(self):
        done = self.load("t", *self.files, self.folder, *self.OPTIONS, code=1)
        self.assertEqual(done.stderr.decode(), f"palimpsest load: io_error: {self.folder}: it cannot "
                         "be read: Is a directory; nothing was loaded\n")
        self.assertFalse(os.path.exists(self.database))

    def test_a_pipe_is_read_once(self):
        for name in ("-", "/dev/stdin"):
            done = self.load("t", self.files[0], name, *self.OPTIONS, code=2, stdin=b"id,size\n5,1\n")
            record, refused = done.stderr.decode().splitlines()
            self.assertIn("1.csv:3:1 ", record)
            self.assertEqual(refused, f'palimpsest load: {name}: the header: table "t" has no column '
                             '"size"; it has "id", "name", "age"')
            self.dump("t", code=1)
            self.load("t", self.files[0], name, *self.OPTIONS, stdin=b"name,id\nc,5\n")
            self.assertEqual(self.dump("t", "--header=off"), b"1,a,1\n5,c,\n")
            shutil.rmtree(self.database)

    def test_what_is_judged_twice_is_counted_once(self):
        done = self.load("t", *self.files, *self.OPTIONS, "--summary", "json")
        summary = json.loads(done.stdout)
        self.assertEqual((summary["bytes"], summary["records"]),
                         (sum(map(os.path.getsize, self.files)), 3))


class DamagedFiles(Command):
    """What is compressed and damaged is told as that; its records are not to blame."""
    OPTIONS = ["--schema", SCHEMA, "--summary", "json"]

    def setUp(self):
        super().setUp()
        self.text = "".join(f"{row},n{row % 97},{row % 100}\n" for row in range(300_000)).encode()

    def damaged(self, name, data, at):
        return self.file(name, data[:at] + bytes([data[at] ^ 0x20]) + data[at + 1:])

    def test_records_that_damage_has_made_wrong(self):
        whole = gzip.compress(self.text)
        for at in (2000, len(whole) // 3, len(whole) - 6):
            bad = self.damaged("bad.csv.gz", whole, at)
            for limit in ("0", "1%"):
                done = self.load("t", bad, *self.OPTIONS, "--max-errors", limit, code=1)
                last = done.stderr.decode().splitlines()[-1]
                self.assertRegex(last, f"^palimpsest load: corruption: {bad}: the gzip data is damaged "
                                 r"\(noticed at byte \d+ of it\); nothing was loaded$")
                noticed = int(last.split("byte ")[1].split()[0])
                self.assertTrue(at < noticed <= len(whole), (at, noticed))
            done = self.load("t", "-", *self.OPTIONS, code=1, stdin=self.content("bad.csv.gz"))
            self.assertIn(b"corruption: -: the gzip data is damaged", done.stderr)

    def test_records_that_are_wrong(self):
        """The file is whole: they are to blame; and it is read no further than its own end."""
        self.file("bad.csv.gz", gzip.compress(b"x,y,z\n" + self.text))
        done = self.load("t", self.path("bad.csv.gz"), self.damaged(
            "later.csv.gz", gzip.compress(self.text), 90_000), *self.OPTIONS, code=3)
        self.assertEqual(json.loads(done.stdout)["errors"]["total"], 1)

    def test_zstd(self):
        if shutil.which("zstd") is None:
            self.skipTest("there is no zstd")
        whole = subprocess.run(["zstd", "-q", "-c", "--check"], input=self.text, capture_output=True,
                               timeout=60, check=True).stdout
        for at in (len(whole) // 3, len(whole) - 2):
            bad = self.damaged("bad.csv.zst", whole, at)
            done = self.load("t", bad, *self.OPTIONS, code=1)
            self.assertRegex(done.stderr.decode().splitlines()[-1],
                             f"corruption: {bad}: the zstd data is damaged: .* "
                             r"\(noticed at byte \d+ of it\); nothing was loaded$")

    def test_beginnings(self):
        """A name that says what is not there."""
        for name, data, kind in (("1.csv.gz", gzip.compress(self.text), "gzip"),
                                 ("1.csv.gz", b"?", "gzip"), ("1.csv.zst", self.text, "zstd")):
            bad = self.damaged(name, data, 0)
            done = self.load("t", bad, *self.OPTIONS, code=1)
            self.assertEqual(done.stderr.decode(), f"palimpsest load: corruption: {bad}: it does not "
                             f"begin as {kind} data does: it is damaged, or its name is not that of "
                             "what it is; nothing was loaded\n")
            self.assertFalse(os.path.exists(self.database))
        self.load("t", self.file("empty.csv.gz", ""), *self.OPTIONS, code=1)


class SkippedLines(Command):
    """However many of them there are: records are found behind them, and told with their places."""
    OPTIONS = ["--comment", "#", "--skip-blank", "--summary", "json"]
    SKIPPED = "#" + 98 * "-" + '\n# "no record\n\n'
    TIMES = 500  # more than a first chunk

    def test_before_headers(self):
        skipped = self.SKIPPED * self.TIMES
        texts = [f"{skipped}name,id\na,{number}\n# more\nb,x\n".encode() for number in range(3)]
        files = [self.file("1.csv", texts[0]), self.file("2.csv.gz", gzip.compress(texts[1])), "-"]
        rejected = self.path("rejected")
        done = self.load("t", *files, *self.OPTIONS, "--header=match", "--schema", SCHEMA,
                         "--max-errors", "3", "--reject-file", rejected, stdin=texts[2])
        line, byte = 3 * self.TIMES + 4, len(skipped) + len("name,id\na,0\n# more\nb,")
        self.assertEqual(done.stderr.decode().splitlines(), [
            f'{file}:{line}:3 (byte {byte}), column "id": type error: not an integer: "x"'
            for file in files])
        self.assertEqual(self.content("rejected"), b"name,id\nb,x\nb,x\nb,x\n")
        self.assertEqual(self.dump("t", "--header=off"), b"0,a,\n1,a,\n2,a,\n")
        self.assertEqual(json.loads(done.stdout)["lines_skipped"], 3 * (3 * self.TIMES + 1))
        done = self.load("t", files[0], *self.OPTIONS, "--max-errors", "3")
        self.assertEqual(json.loads(done.stdout)["lines_skipped"], 3 * self.TIMES + 1)
        done = self.load("t", "-", *self.OPTIONS, "--header", stdin=skipped.encode(), code=2)
        self.assertEqual(done.stderr, b"palimpsest load: -: there is no header line; --header=off is for files "
                                       b"without one\n")

    def test_before_samples(self):
        skipped = self.SKIPPED * 20_000  # more than a sample
        for file in (self.file("1.csv", skipped + "id,name\n1,a\n"),
                     self.file("2.jsonl", skipped + '{"id":1,"name":"a"}\n')):
            header = ["--header"] if file.endswith("csv") else []
            done = self.load(file, file, *self.OPTIONS, "--infer", *header)
            summary = json.loads(done.stdout)
            self.assertEqual(summary["schema"], "id int64 primary key, name varchar")
            self.assertEqual(summary["lines_skipped"], skipped.count("\n"))


if __name__ == "__main__":
    main()
