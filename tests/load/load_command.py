"""Checks `palimpsest load` as people and programs meet it: all or nothing, errors, exit codes."""
import gzip
import json
import os
import random
import resource
import shlex
import shutil
import signal
import subprocess
import zlib

from command import Command, TOOL, main

SCHEMA = "id int32 primary key, name varchar(5), age int8 null"


class LoadCommand(Command):
    def summary(self, table, *arguments, code=0):
        done = self.load(table, *arguments, "--summary", "json", code=code)
        return json.loads(done.stdout)

    def test_new_empty_and_filled_table(self):
        first = self.file("1.csv", "1,a,1\n2,b,\n")
        summary = self.summary("t", first, "--schema", SCHEMA)
        self.assertEqual((summary["status"], summary["new_table"], summary["rows_added"]),
                         ("done", True, 2))
        self.assertEqual(summary["schema"], SCHEMA)
        summary = self.summary("t", self.file("2.csv", "0,z,\n3,c,3\n"))
        self.assertEqual((summary["new_table"], summary["rows_added"]), (False, 2))
        self.load("t", self.file("none.csv", ""))
        self.assertEqual(self.dump("t", "--header=off"), b"0,z,\n1,a,1\n2,b,\n3,c,3\n")

    def test_several_files_and_stdin(self):
        files = [self.file("1.csv", "id,name,age\n1,a,1"), self.file("2.csv", "id,name,age\n2,b,2\n")]
        self.load("t", *files, "-", "--header", "--schema", SCHEMA, stdin=b"id,name,age\n3,c,3\n")
        self.assertEqual(self.dump("t", "--header=off"), b"1,a,1\n2,b,2\n3,c,3\n")
        self.load("t", "-", "-", code=2)

    def test_each_file_has_its_own_header(self):
        files = [self.file("1.csv", "id,name,age\n1,a,1"), self.file("2.csv", "name,id\nb,2\n")]
        self.load("t", *files, "--header=match", "--schema", SCHEMA)
        self.assertEqual(self.dump("t", "--header=off"), b"1,a,1\n2,b,\n")
        odd = self.file("3.csv", "id,name,size\n5,a,1\n")
        nameless = self.file("5.csv", "id,,size\n5,a,1\n")
        done = self.load("t", nameless, "--header=match", code=2)
        self.assertIn(b"the header: field 2 has no name", done.stderr)
        done = self.load("t", self.file("4.csv", "id,name\n4,a\n"), odd, "--header=match", code=2)
        self.assertIn(f'{odd}: the header: table "t" has no column "size"'.encode(), done.stderr)
        self.assertEqual(self.dump("t", "--header=off"), b"1,a,1\n2,b,\n")

    def test_columns(self):
        file = self.file("1.csv", "x,7,a\n")
        self.load("t", file, "--columns", "-, id, name", "--schema", SCHEMA)
        self.assertEqual(self.dump("t", "--header=off"), b"7,a,\n")
        for columns in ("id", "id,name,size", "id,id,name", "id name"):
            self.load("t", file, "--columns", columns, code=2)

    def test_all_or_nothing(self):
        self.load("t", self.file("1.csv", "1,a,1\n"), "--schema", SCHEMA)
        bad = self.file("bad.csv", "2,b,1\n3,c,1\n4,too long,1\n")
        done = self.load("t", bad, code=3)
        self.assertEqual(done.stderr.decode().splitlines()[0],
                         f'{bad}:3:3 (byte 14), column "name": range error: 8 bytes, the column '
                         'has at most 5: "too long"')
        self.assertEqual(self.dump("t", "--header=off"), b"1,a,1\n")
        self.load("new", bad, "--schema", SCHEMA, code=3)
        self.dump("new", code=1)
        self.run_tool("check", self.database)

    def test_kinds_of_errors(self):
        bad = self.file("bad.csv", 'id,name,age\n1,a,1\n2,b\n3,c,x\n,d,1\n5,e,200\n1,f,1\n6,"g,1\n')
        summary = self.summary("t", bad, "--header", "--schema", SCHEMA, "--max-errors", "6",
                               "--reject-file", self.path("rejected"), "--reject-log",
                               self.path("log"))
        self.assertEqual(summary["errors"], {"total": 6, "parse": 2, "type": 1, "null": 1,
                                             "range": 1, "duplicate": 1})
        self.assertEqual((summary["records"], summary["rows_added"]), (7, 1))
        self.assertEqual(self.content("rejected").decode(),
                         'id,name,age\n2,b\n3,c,x\n,d,1\n5,e,200\n1,f,1\n6,"g,1\n')
        log = self.content("log").decode().splitlines()
        self.assertEqual([line.removeprefix(bad) for line in log], [
            ':3:1 (byte 18): parse error: 2 fields, 3 expected; --fill-missing makes missing last '
            'fields null: "2,b"',
            ':4:5 (byte 26), column "age": type error: not an integer: "x"',
            ':5:1 (byte 28), column "id": null error: no value, and the column is never null',
            ':6:5 (byte 37), column "age": range error: beyond -128 to 127: "200"',
            ':7:1 (byte 41), column "id": duplicate error: a row with this key is there: (1)',
            ':8:3 (byte 49): parse error: the quotes do not end (--quote none takes quotes as they '
            'are): "6,\\"g,1"'])

    def test_rejected_rows_are_loaded_again(self):
        bad = self.file("bad.csv", "id,name,age\n1,a,1\n2,toolong,1\n3,\"b\nb\",x\n4,d,4\n")
        self.load("t", bad, "--header", "--schema", SCHEMA, "--max-errors", "50%",
                  "--reject-file", self.path("rejected.csv"))
        rejected = self.content("rejected.csv").replace(b"toolong", b"short").replace(b"x", b"9")
        self.load("t", self.file("again.csv", rejected), "--header")
        self.assertEqual(self.dump("t", "--header=off"),
                         b'1,a,1\n2,short,1\n3,"b\nb",9\n4,d,4\n')

    def test_limits_of_errors(self):
        bad = self.file("bad.csv", "1,a,1\n2,b,x\n3,c,x\n4,d,4\n")
        for limit, code in (("0", 3), ("1", 3), ("2", 0), ("49%", 3), ("50%", 0)):
            self.load("t" + limit, bad, "--schema", SCHEMA, "--max-errors", limit, code=code)
        self.load("t", bad, "--schema", SCHEMA, "--max-errors", "many", code=2)

    def test_duplicates(self):
        schema = SCHEMA + ", unique index by_name (name)"
        first = self.file("1.csv", "1,a,1\n2,b,2\n")
        self.load("t", first, "--schema", schema)
        more = self.file("2.csv", "2,x,7\n3,c,3\n")
        self.assertEqual(self.summary("t", more, "--on-duplicate", "error", code=3)["errors"]["duplicate"], 1)
        summary = self.summary("t", more, "--on-duplicate", "skip")
        self.assertEqual((summary["rows_added"], summary["duplicates_skipped"]), (1, 1))
        summary = self.summary("t", more, "--on-duplicate", "replace")
        self.assertEqual((summary["rows_added"], summary["rows_replaced"]), (0, 2))
        self.assertEqual(self.dump("t", "--header=off"), b"1,a,1\n2,x,7\n3,c,3\n")
        done = self.load("t", self.file("3.csv", "4,a,7\n"), "--on-duplicate", "replace", code=3)
        self.assertIn(b'column "name": duplicate error: a row with these values is in the unique '
                      b'index "by_name": ("a")', done.stderr)
        self.run_tool("check", self.database)

    def test_a_key_that_is_too_long(self):
        long = "x" * 5000
        done = self.load("t", self.file("1.csv", f"{long},1\n"), "--schema",
                         "k varchar primary key, n int8", code=3)
        self.assertIn(b"1.csv:1:1 (byte 0): range error: ", done.stderr)
        done = self.load("u", self.file("2.csv", f"1,a\n2,{long}\n"), "--schema",
                         "n int8 primary key, k varchar, index by_k (k)", code=3)
        self.assertIn(b"2.csv:2:1 (byte 4): range error: ", done.stderr)

    def test_infer(self):
        file = self.file("1.csv", "day,city,people\n2024-01-01,Rome,5\n2024-01-02,,7\n")
        done = self.load("t", file, "--infer", "--header")
        schema = "day date primary key, city varchar null, people int64"
        self.assertEqual(done.stdout.decode().splitlines()[0], "schema: " + schema)
        self.assertEqual(self.dump("t", "--schema").decode(), schema + "\n")
        self.load("t", file, "--infer", "--header", code=2)
        self.load("u", file, "--infer", "--header", "--primary-key", "people,day")
        self.assertEqual(self.summary("v", file, "--infer", "--header")["schema"], schema)
        self.load("w", self.file("s.csv", "1\n1\n"), "--infer", "--primary-key", "c1", code=3)
        self.load("x", file, "--header", "--schema-file", self.file("schema", schema + " -- so\n"))
        self.assertEqual(self.dump("x"), self.dump("t"))

    def test_dry_run(self):
        file = self.file("1.csv", "1,a,1\n1,b,x\n")
        summary = self.summary("t", file, "--schema", SCHEMA, "--dry-run", code=3)
        self.assertEqual(summary["errors"]["type"], 1)
        good = self.file("2.csv", "1,a,1\n")
        summary = self.summary("t", good, "--schema", SCHEMA, "--dry-run")
        self.assertEqual((summary["status"], summary["rows_added"]), ("dry_run", 1))
        self.assertFalse(os.path.exists(self.database))
        self.load("t", good, "--schema", SCHEMA)
        self.load("t", self.file("3.csv", "5,a,1\n"), "--dry-run")
        self.assertEqual(self.dump("t", "--header=off"), b"1,a,1\n")

    def test_usage(self):
        file = self.file("1.csv", "1,a,1\n")
        self.load("t", code=2)
        self.assertFalse(os.path.exists(self.database))
        for arguments in (["--schema", "id int32"], ["--schema", SCHEMA, "--infer"],
                          ["--schema", SCHEMA, "--quote", ",", ], ["--schema", SCHEMA, "--null", "a,b"],
                          ["--schema", SCHEMA, "--delimiter", "a\n"], ["--format", "xml"],
                          ["--schema", SCHEMA, "--format", "jsonl", "--header"],
                          ["--schema", SCHEMA, "--format", "tsv", "--quote", "'"],
                          ["--on-duplicate", "merge"], ["--nonsense"], ["--primary-key", "id"],
                          ["--schema", SCHEMA, "--reject-file", file],
                          ["--schema", SCHEMA, "--reject-file", "-"]):
            done = self.load("t", file, *arguments, code=2)
            self.assertNotEqual(done.stderr, b"", arguments)
        self.assertEqual(self.content("1.csv"), b"1,a,1\n")
        self.load("t", file, "--schema", SCHEMA)
        self.load("t", file, "--schema", "id int64 primary key", code=2)
        self.load("t", file, "--schema", SCHEMA + ", index i (name)", code=2)
        self.assertIn(b"no column", self.run_tool("dump", self.database, "t", "--columns", "x",
                                                  code=2).stderr)
        for command in ("load", "dump"):
            self.assertIn(b"130 interrupted", self.run_tool(command, "--help").stdout)

    def test_a_field_larger_than_a_chunk(self):
        text = 'a"b\n,\N{SNOWMAN}' * 300_000
        row = b'1,"' + text.replace('"', '""').encode() + b'"\n2,x\n'
        self.load("t", self.file("1.csv", row), "--schema", "id int32 primary key, v varchar")
        self.assertEqual(self.dump("t", "--header=off"), row)
        lines = self.dump("t", "--format", "jsonl").splitlines()
        self.assertEqual(json.loads(lines[0]), {"id": 1, "v": text})

    def test_a_database_in_use(self):
        self.load("t", self.file("1.csv", "1,a,1\n"), "--schema", SCHEMA)
        with subprocess.Popen([TOOL, "load", self.database, "t", "-", "--progress", "json"],
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as process:
            process.stdin.write(b"".join(b"%d,a,1\n" % i for i in range(2, 100_000)))
            process.stdin.flush()
            while json.loads(process.stderr.readline())["phase"] == "opening":
                pass
            done = self.run_tool("dump", self.database, "t", code=1)
            process.communicate(b"", timeout=60)
        self.assertIn(b"locked", done.stderr)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.dump("t", "--header=off").count(b"\n"), 99_999)

    def test_what_is_not_there(self):
        done = self.load("t", self.path("nowhere.csv"), "--schema", SCHEMA, code=1)
        self.assertIn(b"not_found", done.stderr)
        self.assertFalse(os.path.exists(self.database))
        self.run_tool("dump", self.database, "t", code=1)
        self.load("t", self.file("1.csv", "1,a,1\n"), "--schema", SCHEMA)
        self.dump("u", code=1)

    def test_a_dump_that_does_not_begin_costs_no_older_one(self):
        self.load("t", self.file("1.csv", "1,a,1\n"), "--schema", SCHEMA)
        older = self.path("older.csv")
        self.dump("t", "--output", older)
        for database, table, columns, code in ((self.database, "typo", "id", 1),
                                               (self.path("typo"), "t", "id", 1),
                                               (self.database, "t", "typo", 2)):
            self.run_tool("dump", database, table, "--columns", columns, "--output", older, code=code)
            self.assertEqual(self.content("older.csv"), b"id,name,age\n1,a,1\n")
            self.run_tool("dump", database, table, "--columns", columns, "--output", self.path("new"),
                          code=code)
            self.assertFalse(os.path.exists(self.path("new")))
        self.dump("t", "--schema", "--output", older)
        self.assertEqual(self.content("older.csv").decode(), SCHEMA + "\n")

    def test_damaged_input_leaves_nothing(self):
        self.load("u", self.file("1.csv", "1,a,1\n"), "--schema", SCHEMA)
        whole = gzip.compress(b"".join(b"%d,a,1\n" % i for i in range(200_000)))
        file = self.file("cut.csv.gz", whole[:len(whole) // 2])
        done = self.load("t", file, "--schema", SCHEMA, code=1)
        self.assertIn(b"corruption: " + file.encode(), done.stderr)
        self.dump("t", code=1)
        self.run_tool("check", self.database)

    def test_odd_names(self):
        schema = '"primary" int32 primary key, "a ""b"",c" varchar null, "\N{SNOWMAN}" int8 null'
        table = "a/b \"c\" '\N{SNOWMAN}"
        file = self.file("odd name,\N{SNOWMAN}.csv", 'primary,"a ""b"",c",\N{SNOWMAN}\n1,x,2\n')
        self.load(table, file, "--header=match", "--schema", schema)
        self.assertEqual(self.dump(table).decode(), 'primary,"a ""b"",c",\N{SNOWMAN}\n1,x,2\n')
        self.assertEqual(self.dump(table, "--schema").decode(),
                         schema.replace('"\N{SNOWMAN}"', "\N{SNOWMAN}") + "\n")
        self.assertEqual(json.loads(self.dump(table, "--format", "jsonl")),
                         {"primary": 1, 'a "b",c': "x", "\N{SNOWMAN}": 2})
        for name in ("", "a\nb", "x" * 128):
            self.load(name, file, "--schema", schema, code=2)

    def test_comments_and_blank_lines(self):
        file = self.file("1.csv", "# a \"comment\"\n\n1,a,1\n#\n")
        summary = self.summary("t", file, "--schema", SCHEMA, "--comment", "#", "--skip-blank")
        self.assertEqual((summary["rows_added"], summary["lines_skipped"]), (1, 3))
        self.assertEqual(self.summary("u", file, "--schema", SCHEMA, "--max-errors", "9")
                         ["errors"]["parse"], 2)

    def test_quiet_and_progress(self):
        file = self.file("1.csv", "1,a,1\n2,b,x\n")
        arguments = ["load", self.database, "t", file, "--schema", SCHEMA, "--max-errors", "1"]
        done = self.run_tool(*arguments, "--quiet")
        self.assertEqual((done.stdout, done.stderr), (b"", b""))
        done = self.run_tool(*arguments, "--on-duplicate", "skip", "--progress", "json")
        last = json.loads(done.stderr.decode().splitlines()[-1])
        self.assertEqual((last["errors"], last["percent"]), (1, 100))

    def test_an_error_names_a_record_that_was_not_reported(self):
        bad = self.file("bad.csv", "1,a,1\n2,b,x\n3,c,y\n")
        arguments = ["t", bad, "--schema", SCHEMA, "--max-errors"]
        first = f'{bad}:2:5 (byte 10), column "age": type error: not an integer: "x"'
        for limit in "1", "50%":
            done = self.load(*arguments, limit, "--quiet", code=3)
            self.assertEqual(done.stderr.decode(), "palimpsest: too many bad records: 2, the first: "
                                                   f"{first}; nothing was loaded\n")
        told, _, end = self.load(*arguments, "1", code=3).stderr.decode().splitlines()
        self.assertEqual((told, end), (first, "palimpsest: too many bad records: 2; nothing was loaded"))


class Failures(Command):
    """What is said of rows by a load that fails, before its commit or after it, is what a dump finds."""
    SCHEMA = ["--schema", SCHEMA]

    def test_rejected_records_that_cannot_be_written(self):
        bad = self.file("bad.csv", "1,a,1\nx,b,2\n")
        for option in ("--reject-log", "--reject-file"):
            done = self.load("t", bad, *self.SCHEMA, "--max-errors", "1", option, "/dev/full", code=1)
            self.assertIn(b"no_space: /dev/full: it cannot be written: No space left on device; nothing "
                          b"was loaded\n", done.stderr)
            self.dump("t", code=1)

    def test_kept_rows_that_cannot_be_removed(self):
        in_the_way = os.path.join(self.database, f"load-{zlib.crc32(b't'):08x}.runs")
        with subprocess.Popen([TOOL, "load", self.database, "t", "-", *self.SCHEMA, "--progress",
                               "json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            process.stdin.write(b"".join(b"%d,a,1\n" % i for i in range(100_000)))
            process.stdin.flush()
            while json.loads(process.stderr.readline())["phase"] == "opening":
                pass
            os.makedirs(os.path.join(in_the_way, "full"))
            out, err = process.communicate(b"", timeout=60)
        self.assertEqual((process.returncode, out), (4, b""), err)
        self.assertIn(b"Directory not empty; all rows were loaded before that\n", err)
        self.assertEqual(self.dump("t", "--header=off").count(b"\n"), 100_000)

    def test_a_summary_that_cannot_be_written(self):
        file = self.file("1.csv", "1,a,1\n")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TOOL, "load", self.database, "t", file, *self.SCHEMA],
                                  stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(b"the summary cannot be written; all rows were loaded before that", done.stderr)
        self.assertEqual(self.dump("t", "--header=off"), b"1,a,1\n")

    def failing(self, sync):
        """Loads a new table while so many syncs work, and the next one fails: exit code, message, whether
        the rows are there, and whether there was such a sync."""
        file = self.file("1.csv", "1,a,1\n")
        copy = shutil.copytree(self.database, self.path(f"copy{sync}"))
        done = subprocess.run(["strace", "-f", "-o", self.path("calls"), "-e", "trace=fdatasync", "-e",
                               f"inject=fdatasync:error=EIO:when={sync + 1}", TOOL, "load",
                               copy, "t", file, *self.SCHEMA, "--progress", "none"],
                              capture_output=True, timeout=60, check=False)
        dumped = subprocess.run([TOOL, "dump", copy, "t", "--header=off"], capture_output=True,
                                timeout=60, check=False)
        self.assertIn((dumped.returncode, dumped.stdout), ((0, b"1,a,1\n"), (1, b"")))
        self.run_tool("check", copy)
        shutil.rmtree(copy)
        with open(self.path("calls"), encoding="utf-8") as calls:
            failed = "(INJECTED)" in calls.read()
        return done.returncode, done.stderr.decode(), dumped.returncode == 0, failed

    def test_any_sync_that_fails(self):
        if shutil.which("strace") is None or subprocess.run(
                ["strace", "-o", os.devnull, "true"], capture_output=True, timeout=60,
                check=False).returncode != 0:
            self.skipTest("nothing can be traced here")
        self.load("other", self.file("0.csv", "1,a,1\n"), *self.SCHEMA)
        ends = {1: "; nothing was loaded\n", 4: "; all rows were loaded before that\n",
                5: "; whether all rows were loaded or none is known when the database is opened again\n"}
        met = set()
        for sync in range(100):
            code, message, is_there, failed = self.failing(sync)
            if not failed:
                break
            if code == 0:  # a background thread's sync, which is repeated
                self.assertTrue(is_there, message)
                continue
            self.assertTrue(message.endswith(ends[code]), (code, message))
            self.assertEqual("; the database was not closed cleanly, and is recovered when it is opened "
                             "again; all rows" in message, code == 4, message)
            met.add(code)
            self.assertIn(code, (4, 5) if is_there else (1, 5), message)
        self.assertEqual((met, code, failed), ({1, 4, 5}, 0, False))


class UnsortedRows(Command):
    """Rows that come in no order are sorted before they are put into the table."""
    ROWS = 30_000

    def setUp(self):
        super().setUp()
        numbers = random.Random(7).sample(range(self.ROWS), self.ROWS)
        self.lines = [f"{number},n{number % 7},{number % 100}\n" for number in numbers]

    def load_lines(self, *arguments, code=0):
        return self.load("t", self.file("rows.csv", "".join(self.lines)), "--schema", SCHEMA,
                         "--memory", "64M", *arguments, code=code)

    def dumped(self):
        return self.dump("t", "--header=off").decode().splitlines(keepends=True)

    def in_order(self, lines):
        return sorted(lines, key=lambda line: int(line.split(",")[0]))

    def test_all_of_them(self):
        self.load_lines()
        self.assertEqual(self.dumped(), self.in_order(self.lines))
        self.assertEqual([name for name in os.listdir(self.database) if "sort" in name], [])
        self.run_tool("check", self.database)

    def test_duplicates_are_told_with_their_places(self):
        before = list(self.lines)
        doubles = {20_000: 7, 25_000: 9_000}  # a line, and the one whose key it has
        for line, other in doubles.items():
            self.lines.insert(line, self.lines[other].split(",")[0] + ",again,1\n")
        rejected = self.file("rejected.csv", "")
        done = self.load_lines("--max-errors", "2", "--reject-file", rejected)
        for line in doubles:
            byte = sum(map(len, self.lines[:line]))
            key = self.lines[line].split(",")[0]
            self.assertIn(f'rows.csv:{line + 1}:1 (byte {byte}), column "id": duplicate error: a row '
                          f'with this key is there: ({key})', done.stderr.decode())
        self.assertEqual(self.dumped(), self.in_order(before))
        with open(rejected, encoding="utf-8") as file:
            self.assertEqual(sorted(file), sorted(self.lines[line] for line in doubles))
        self.load_lines("--max-errors", "1", "--on-duplicate", "error", code=3)
        self.assertEqual(self.dumped(), self.in_order(before))

    def test_an_order_that_ends(self):
        ordered = self.in_order(self.lines)[:10_000]
        wanted = self.in_order(self.lines)
        rest = [line for line in self.lines if int(line.split(",")[0]) >= 10_000]
        for bad in (10_001, 10_100, 10_300):
            self.lines = ordered + rest
            self.lines.insert(bad, "x,a,1\n")
            done = self.load_lines("--max-errors", "1", "--on-duplicate", "replace")
            self.assertIn(f"rows.csv:{bad + 1}:1 ", done.stderr.decode())
            self.assertEqual(self.dumped(), wanted)
            shutil.rmtree(self.database)

    def test_duplicates_in_order_are_told_with_their_places(self):
        wanted = self.in_order(self.lines)
        self.lines = list(wanted)
        self.lines.insert(20_000, "7,again,1\n")
        self.lines.insert(20_001, "x,a,1\n")
        rejected = self.file("rejected.csv", "")
        done = self.load_lines("--max-errors", "2", "--reject-file", rejected)
        byte = sum(map(len, self.lines[:20_000]))
        self.assertIn(f'rows.csv:20001:1 (byte {byte}), column "id": duplicate error: a row with '
                      f'this key is there: (7)', done.stderr.decode())
        self.assertEqual(self.dumped(), wanted)
        with open(rejected, encoding="utf-8") as file:
            self.assertEqual(file.readlines(), self.lines[20_000:20_002])

    def test_the_later_row_replaces(self):
        for number in range(50):
            self.lines.append(f"{number},last,1\n")
        self.load_lines("--on-duplicate", "replace")
        self.assertEqual(self.dumped()[:50], self.lines[-50:])
        self.assertEqual(len(self.dumped()), self.ROWS)

    def test_the_first_row_stays(self):
        self.lines.append("17,last,1\n")
        self.load_lines("--on-duplicate", "skip")
        self.assertEqual(self.dumped()[17], "17,n3,17\n")

    def test_rows_that_are_no_rows(self):
        self.lines.insert(29_000, "x,a,1\n")
        self.load_lines(code=3)
        self.dump("t", code=1)
        self.load_lines("--max-errors", "1")
        self.assertEqual(len(self.dumped()), self.ROWS)

    def test_too_little_memory(self):
        self.load_lines("--memory", "1M", code=2)


class SmallDisk(Command):
    """A database on a disk of its own, which goes with the process that has mounted it."""

    def script(self, text):
        alone = ["unshare", "--user", "--map-root-user", "--mount"]
        mount = ["mount", "-t", "tmpfs", "-o", "size=80m", "none", self.database]
        if shutil.which("unshare") is None or subprocess.run(
                [*alone, *mount], capture_output=True, timeout=60, check=False).returncode != 0:
            self.skipTest("nothing can be mounted here")
        script = shlex.join(mount) + f'; load="{TOOL} load {self.database} t --progress none"\n' + text
        return subprocess.run([*alone, "sh", "-e", "-c", script], capture_output=True, timeout=120,
                              check=False)

    def test_room_is_asked_for_beforehand(self):
        os.mkdir(self.database)
        rows = random.Random(7).sample(range(400_000), 400_000)
        file = self.file("rows.csv", "".join(f"{row},{row:0100}\n" for row in rows))
        load = f"$load --schema 'id int32 primary key, name varchar(100)' --memory 64M {file}"
        code = '|| echo "code $?" >&2; '
        done = self.script(f"{load} {code}"
                           f"{load} --no-space-check {code} ls {self.database}")
        self.assertEqual(done.returncode, 0, done.stderr)
        refused, first, full, second = done.stderr.decode().splitlines()
        self.assertIn(f"no_space: {self.database}: about ", refused)
        self.assertIn("--no-space-check", refused)
        self.assertIn("No space left on device; nothing was loaded", full)
        self.assertEqual((first, second), ("code 1", "code 1"))
        self.assertNotIn(b"tmp", done.stdout)


    def test_outputs_are_kept_apart(self):
        first = self.file("1.csv", "1,a,1\n")
        self.load("t", first, "--schema", SCHEMA, "--reject-file",
                  os.path.join(self.database, "pages"), code=2)
        self.assertFalse(os.path.exists(self.database))
        self.load("t", first, "--schema", SCHEMA)
        bad = self.file("bad.csv", "x,a,1\n2,b,2\n")
        os.link(os.path.join(self.database, "pages"), self.path("by_another_name"))
        for output in os.path.join(self.database, "pages"), os.path.join(self.database, "new"), \
                self.path("by_another_name"):
            for option in "--reject-file", "--reject-log":
                done = self.load("t", bad, "--max-errors", "100%", option, output, code=2)
                self.assertIn(f"{output} would be written over".encode(), done.stderr)
            self.dump("t", "--output", output, code=2)
        with open(bad, "rb") as source:
            done = subprocess.run([TOOL, "load", self.database, "t", "-", "--reject-file", bad,
                                   "--max-errors", "100%"], stdin=source, capture_output=True,
                                  timeout=120, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"{bad} would be read, as standard input, and written".encode(), done.stderr)
        self.assertEqual(self.content("bad.csv"), b"x,a,1\n2,b,2\n")
        self.assertEqual(self.dump("t", "--header=off"), b"1,a,1\n")
        self.run_tool("check", self.database)

    def test_a_limit_of_file_sizes_is_an_error(self):
        file = self.file("1.csv", "".join(f"{row},name,1\n" for row in range(500_000)))
        arguments = ["--on-duplicate", "skip", "--progress", "none"]
        self.load("t", self.file("2.csv", "1,name,1\n"), "--schema", SCHEMA)

        def few_bytes():
            resource.setrlimit(resource.RLIMIT_FSIZE, (11_000_000, 11_000_000))

        done = subprocess.run([TOOL, "load", self.database, "t", file, *arguments],
                              capture_output=True, timeout=120, check=False, preexec_fn=few_bytes)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"File too large", done.stderr)
        self.run_tool("load", self.database, "t", file, *arguments)
        self.assertEqual(self.dump("t", "--header=off").count(b"\n"), 500_000)

    def test_a_closed_error_stream_is_no_failure(self):
        file = self.file("1.csv", "1,a,1\n")
        bad = self.file("bad.csv", "x,a,1\n")
        for number, progress in enumerate(("json", "bar", "lines", "none")):
            for name, source, code in ("good", file, 0), ("bad", bad, 3):
                with open("/dev/full", "wb") as full:
                    done = subprocess.run(
                        [TOOL, "load", self.database, f"{name}{number}", source, "--schema", SCHEMA,
                         "--progress", progress], stdout=subprocess.DEVNULL, stderr=full,
                        timeout=120, check=False)
                self.assertEqual(done.returncode, code, (progress, source))


class Signals(Command):
    def interrupted(self, *arguments, after, send=signal.SIGINT):
        with subprocess.Popen([TOOL, "load", self.database, "t", *arguments], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            after(process)
            process.send_signal(send)
            out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def start(self, process):
        rows = b"".join(b"%d,a,1\n" % i for i in range(300_000))
        process.stdin.write(rows)
        process.stdin.flush()  # all but a pipe's worth has been read

    def test_interrupt_leaves_nothing(self):
        self.load("t", self.file("1.csv", "-1,a,1\n"), "--schema", SCHEMA)
        code, _, err = self.interrupted("-", after=self.start)
        self.assertEqual(code, 130, err)
        self.assertIn(b"interrupted; nothing was loaded", err)
        self.assertEqual(self.dump("t", "--header=off"), b"-1,a,1\n")
        self.run_tool("check", self.database)
        self.assertEqual([name for name in os.listdir(self.folder) if name not in ("db", "1.csv")], [])

    def test_kill_leaves_nothing(self):
        self.load("t", self.file("1.csv", "-1,a,1\n"), "--schema", SCHEMA)
        code, _, _ = self.interrupted("-", after=self.start, send=signal.SIGKILL)
        self.assertEqual(code, -signal.SIGKILL)
        self.assertEqual(self.dump("t", "--header=off"), b"-1,a,1\n")
        code, _, _ = self.interrupted("-", "--schema", SCHEMA, after=self.start, send=signal.SIGTERM)
        self.assertEqual(code, 130)
        self.run_tool("check", self.database)


if __name__ == "__main__":
    main()
