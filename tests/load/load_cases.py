"""Files as people have them, one case a test: `palimpsest load DB TABLE FILE` loads them with the right
values, or says what is wrong and how it is told what is meant.
usage: load_cases.py PALIMPSEST [CLASS...]"""
import bz2
import gzip
import json
import lzma
import os
import random
import shlex
import shutil
import subprocess
import sys
import unittest
import zipfile

from command import Command, TOOL

SAMPLE_BYTES = 2 << 20


class Cases(Command):
    def loads(self, table, files, schema, rows, *arguments):
        """Loads; the table is as expected, its rows as csv without a header; what was said."""
        files = [files] if isinstance(files, str) else files
        done = self.load(table, *files, *arguments)
        self.assertEqual(self.dump(table, "--schema").decode().rstrip("\n"), schema)
        if rows is not None:
            self.assertEqual(self.dump(table, "--header=off").decode(), rows)
        return done.stdout.decode() + done.stderr.decode()

    def refused(self, file, *told, arguments=(), code=2):
        """Nothing is loaded, and the message has these words."""
        done = self.load("refused", file, *arguments, code=code)
        for word in told:
            self.assertIn(word, done.stderr.decode())
        self.assertNotIn(b"refused", self.tables())
        return done.stderr.decode()

    def tables(self):
        if not os.path.exists(self.database):
            return b""
        return self.run_tool("tables", self.database).stdout

    SAMPLE = ["--sample", "64K"]

    def late(self, name, last, first="id,v", record="{0},{0}"):
        """A file whose last lines show what the sample does not."""
        lines = [first]
        size = 0
        number = 0
        while size < 200_000:
            lines.append(record.format(number))
            size += len(lines[-1]) + 1
            number += 1
        return self.file(name, "\n".join(lines + last) + "\n"), number


class Lines(Cases):
    """Line ends, blank lines, headers, titles."""

    def test_blank_lines(self):
        expected = "id int64 primary key, v varchar"
        self.loads("t", self.file("a.csv", "id,v\n1,a\n\n2,b\n"), expected, "1,a\n2,b\n")
        self.loads("u", self.file("b.csv", "\nid,v\n1,a\n"), expected, "1,a\n", "--skip-blank")
        self.loads("v", self.file("c.csv", "id,v\n1,a\n \t\n2,b\n\n"), expected, "1,a\n2,b\n")
        self.loads("w", self.file("d.csv", "v\na\n\nb\n"), "row_id int64 primary key, v varchar null",
                   "1,a\n2,\n3,b\n", "--header", "--row-id", "row_id")

    def test_trailing_blank_line(self):
        self.loads("t", self.file("a.csv", "id,v\n1,a\n\n"), "id int64 primary key, v varchar", "1,a\n")

    def test_carriage_returns(self):
        file = self.file("a.csv", b'id,v,w\r1,a,"x\ry"\r2,b,z\r')
        said = self.loads("t", file, "id int64 primary key, v varchar, w varchar",
                          '1,a,"x\ry"\n2,b,z\n')
        self.assertIn("--line-end cr", said)
        self.loads("u", file, "id int64 primary key, v varchar, w varchar", None, "--schema",
                   "id int64 primary key, v varchar, w varchar", "--header")
        done = self.load("w", self.file("bad.csv", b"id,v\r1,a\rx,b\r"), "--schema",
                         "id int64 primary key, v varchar", code=3)
        self.assertIn("bad.csv:3:1 (byte 9)", done.stderr.decode())

    def test_no_header_told(self):
        file = self.file("a.csv", "id,name\n1,x\n2,y\n")
        self.loads("t", file, "id int64 primary key, name varchar", "1,x\n2,y\n")
        self.loads("u", file, "id int64 primary key, name varchar", "1,x\n2,y\n", "--schema",
                   "id int64 primary key, name varchar")
        self.load("u", self.file("more.csv", "name,id\nz,3\n"))
        self.assertEqual(self.dump("u", "--header=off"), b"1,x\n2,y\n3,z\n")
        self.refused(self.file("words.csv", "apple\npear\n"), "--header or --header=off", "apple")

    def test_title_lines(self):
        file = self.file("a.csv", "Sales of the year\nin euros\n\nid;amount\n1;5\n2;6\n")
        self.refused(file, "a.csv:1: 1 field", "Sales of the year", "--skip 3")
        self.loads("t", file, "id int64 primary key, amount int64", "1,5\n2,6\n", "--skip", "3")
        done = self.load("u", self.file("bad.csv", "x\ny\nid;amount\n1;5\n2;z\n"), "--skip", "2",
                         "--delimiter", ";", "--schema", "id int64 primary key, amount int64", code=3)
        self.assertIn("bad.csv:5:3 (byte 20)", done.stderr.decode())
        self.refused(file, "it has 6 lines, --skip is 99", arguments=["--skip", "99"])

    def test_two_line_header(self):
        file = self.file("a.csv", "id,length,weight\n,m,kg\n1,2.5,3\n2,7.25,4\n")
        self.loads("t", file, "id int64 primary key, length decimal(18,2), weight int64",
                   "1,2.50,3\n2,7.25,4\n", "--skip", "2", "--columns", "id,length,weight")

    def test_names(self):
        said = self.loads("t", self.file("a.csv", ',mpg,cyl\nMazda,21.0,6\nDatsun,22.8,4\n'),
                          "c1 varchar primary key, mpg decimal(18,1), cyl int64",
                          "Datsun,22.8,4\nMazda,21.0,6\n")
        self.assertIn('field 1 has no name: column "c1"', said)
        said = self.loads("u", self.file("b.csv", "id,name,name\n1,A,x\n"),
                          "id int64 primary key, name varchar, name_2 varchar", "1,A,x\n")
        self.assertIn('field 3 is called "name": column "name_2"', said)
        self.loads("v", self.file("c.csv", 'id,"first\nline"\n1,A\n'),
                   "id int64 primary key, first_line varchar", "1,A\n")
        self.loads("w", self.file("d.csv", "name,ID,id\nA,1,2\n"),
                   "name varchar primary key, ID int64, id int64", "A,1,2\n")

    def test_names_that_were_made_are_for_one_header(self):
        files = [self.file("a.csv", ",a,b\n1,2,3\n"), self.file("b.csv", ",b,a\n4,5,6\n")]
        done = self.load("t", *files, code=2)
        self.assertIn("b.csv: the header: it is not that of the first file", done.stderr.decode())

    def test_row_names_of_r(self):
        file = self.file("a.csv", '"mpg","cyl"\n"Mazda",21.0,6\n"Datsun",22.8,4\n')
        said = self.loads("t", file, "c1 varchar primary key, mpg decimal(18,1), cyl int64",
                          "Datsun,22.8,4\nMazda,21.0,6\n")
        self.assertIn("one field more than the header", said)

    def test_empty_files(self):
        schema = ["--schema", "id int64 primary key, v varchar"]
        self.loads("t", self.file("a.csv", ""), "id int64 primary key, v varchar", "", *schema)
        self.loads("u", self.file("h.csv", "id,v\n"), "id int64 primary key, v varchar", "", *schema)
        self.refused(self.path("a.csv"), "no records to choose a schema by", "--schema")
        self.refused(self.path("h.csv"), "no records to choose a schema by", "--schema")
        self.refused(self.path("a.csv"), "there is no header line", "--header=off",
                     arguments=["--header", *schema])

    def test_header_match(self):
        schema = ["--schema", "id int64 primary key, v varchar"]
        self.refused(self.file("a.csv", "id,V\n1,a\n"), 'no column "V"', arguments=schema)
        file = self.file("b.csv", "id,v,extra\n1,a,x\n")
        self.refused(file, 'no column "extra"', arguments=schema)
        self.loads("t", file, schema[1], "1,a\n", "--ignore-unknown", *schema)


class Fields(Cases):
    """Delimiters, quotes, records that are too short or too long."""

    def test_delimiters_are_found(self):
        expected = "id int64 primary key, name varchar"
        for number, (name, text, flag) in enumerate((
                ("a.csv", "id;name\n1;a\n2;b\n", "--delimiter ';'"),
                ("b.csv", "id\tname\n1\ta\n2\tb\n", "--delimiter tab"),
                ("c.txt", "id|name\n1|a\n2|b\n", "--delimiter '|'"),
                ("d.csv", "id;name\n1;a,b\n2;c,d\n", "--delimiter ';'"))):
            said = self.loads(f"t{number}", self.file(name, text), expected, None)
            self.assertIn(flag, said)
        self.loads("u", self.file("e.csv", "id,name\n1,a;b\n2,c;d\n"), expected, "1,a;b\n2,c;d\n")
        self.loads("v", self.file("f.csv", "a;b\nc;d\n"), "line varchar primary key", "a;b\nc;d\n",
                   "--schema", "line varchar primary key")

    def test_delimiters_of_several_bytes(self):
        expected = "id int64 primary key, v varchar"
        self.loads("t", self.file("a.csv", 'id||v\n1||a|b\n2||"c||d"\n'), expected,
                   "1,a|b\n2,c||d\n", "--delimiter", "||")
        self.assertEqual(self.dump("t", "--delimiter", "||"), b'id||v\n1||"a|b"\n2||"c||d"\n')
        self.loads("u", self.file("b.csv", "id\x01v\n1\x01a\n"), expected, "1,a\n", "--delimiter", "\\x01")
        self.loads("v", self.file("c.csv", "id\u00a6v\n1\u00a6a\n"), expected, "1,a\n", "--delimiter",
                   "\u00a6")

    def test_quotes(self):
        stray = self.file("a.csv", 'id,name\n1,Pier 7 "North" stop\n2,5" pipe\n')
        self.refused(stray, "a.csv:2:10 (byte 17)", "a quote within a field", "--quote none")
        self.loads("t", stray, "id int64 primary key, name varchar",
                   '1,"Pier 7 ""North"" stop"\n2,"5"" pipe"\n', "--quote", "none")
        self.refused(self.file("b.csv", 'a,b\n1,"x" y\n'), "b.csv:2:6", "text behind the closing quote",
                     "--quote none")
        self.refused(self.file("c.csv", 'a,b\n1,"x\n2,y\n'), "c.csv:2:3", "the quotes do not end")
        blank = self.file("d.csv", 'a, b\n1, "x, y"\n2, "z" \n')
        self.refused(blank, "d.csv:2:4", "a quote behind blanks", "--trim")
        self.loads("u", blank, "a int64 primary key, b varchar", '1,"x, y"\n2,z\n', "--trim")

    def test_blanks_around_numbers(self):
        file = self.file("a.csv", "name, port\na, 1502\nb, 9001\n")
        self.loads("t", file, 'name varchar primary key, " port" varchar', "a, 1502\nb, 9001\n")
        self.loads("u", file, "name varchar primary key, port int64", "a,1502\nb,9001\n", "--trim")

    def test_short_records(self):
        file = self.file("a.csv", "version,name,eol,lts\n1.1,Buzz,1997\n1.2,Rex,1998,2000\n")
        self.refused(file, "3 fields, 4 expected", "--fill-missing", code=3)
        self.loads("t", file, "version decimal(18,1) primary key, name varchar, eol int64, lts int64 null",
                   "1.1,Buzz,1997,\n1.2,Rex,1998,2000\n", "--fill-missing")
        done = self.load("u", file, "--fill-missing", "--schema", "version varchar primary key, name "
                         "varchar, eol int64, lts int64", code=3)
        self.assertIn('column "lts": null error', done.stderr.decode())

    def test_a_delimiter_behind_the_last_field(self):
        file = self.file("a.csv", "a,b\n1,x,\n2,y,\n")
        said = self.loads("t", file, "a int64 primary key, b varchar", "1,x\n2,y\n")
        self.assertIn("--trailing-delimiter", said)
        done = self.load("u", file, "--schema", "a int64 primary key, b varchar", "--header", "--format",
                         "csv", "--columns", "a, b")
        self.assertIn("2 rows", done.stdout.decode())

    def test_backslashes_between_tabs(self):
        paths = self.file("a.tsv", "id\tpath\n1\tC:\\data\\x\n2\tC:\\new\n")
        self.loads("t", paths, "id int64 primary key, path varchar", "1,C:\\data\\x\n2,C:\\new\n")
        doubtful = self.file("b.tsv", "id\tpath\n1\tC:\\temp\\new\n")
        self.refused(doubtful, "b.tsv:2: a backslash", "--format tsv", "--quote none")
        self.loads("u", doubtful, "id int64 primary key, path varchar", "1,C:\\temp\\new\n", "--format",
                   "csv", "--delimiter", "tab", "--quote", "none")
        self.loads("v", doubtful, "id int64 primary key, path varchar", '1,"C:\temp\new"\n', "--format",
                   "tsv")
        self.loads("w", self.file("c.tsv", 'id\tv\n1\t"a\tb"\n2\tc\n'), "id int64 primary key, v varchar",
                   '1,a\tb\n2,c\n')
        late, _ = self.late("late.tsv", ["x\tC:\\temp"], "id\tv", "{0}\ta{0}")
        self.refused(late, "a backslash or a quote, which the sample", arguments=self.SAMPLE, code=3)

    def test_dumps_are_loaded_as_they_are_written(self):
        rows = 'a,tab\there,x\nb,"line\nend",\nc\\d,"""q""",y\n'
        schema = "k varchar primary key, v varchar, n varchar null"
        self.load("t", self.file("a.csv", rows), "--header=off", "--schema", schema)
        for name in ("o.csv", "o.tsv", "o.json", "o.jsonl", "o.csv.gz", "o.tsv.zst", "O.JSON"):
            self.dump("t", "--output", self.path(name))
            self.loads(name, self.path(name), schema, rows)

    def test_huge_fields(self):
        text = "x" * (SAMPLE_BYTES + 500_000)
        rows = f"1,{text}\n2,y\n"
        self.loads("t", self.file("a.csv", "id,v\n" + rows), "id int64 primary key, v varchar", rows)
        self.loads("u", self.file("b.jsonl", json.dumps({"id": 1, "v": text}) + '\n{"id":2,"v":"y"}\n'),
                   "id int64 primary key, v varchar", rows)

    def test_a_large_row_among_small_ones(self):
        """Of 700 kB in no order; there is room for as much."""
        file = self.file("c9.csv", f"id,v\n9,{'x' * 300_000}\n3,{'y' * 400_000}\n1,z\n")
        self.load("t", file, "--schema", "id int64 primary key, v varchar")
        self.assertEqual(self.dump("t", "--header=off").count(b"\n"), 3)


class Values(Cases):
    """Numbers, times, nulls, keys, and what the first records do not show."""

    def test_no_key(self):
        file = self.file("a.csv", "symbol,price\nA,1.5\nB,2.5\nA,1.5\nA,1.5\n")
        said = self.loads("t", file, "row_id int64 primary key, symbol varchar, price decimal(18,1)",
                          "1,A,1.5\n2,B,2.5\n3,A,1.5\n4,A,1.5\n")
        self.assertIn('column "row_id" counts the rows', said)
        self.load("t", file)
        self.assertEqual(self.dump("t", "--header=off", "--where-key", "5..6"), b"5,A,1.5\n6,B,2.5\n")
        self.loads("u", file, "n int64 primary key, symbol varchar, price decimal(18,1)", None, "--row-id",
                   "n", "--threads", "2")
        self.refused(file, "--row-id", arguments=["--row-id", "n", "--primary-key", "symbol"])
        command = [line for line in said.splitlines() if line.startswith("command: ")][0]
        again = shlex.split(command.removeprefix("command: "))
        again[2] = self.path("again")
        self.run_tool(*again[1:])
        self.assertEqual(self.run_tool("dump", self.path("again"), "t").stdout,
                         b"row_id,symbol,price\n1,A,1.5\n2,B,2.5\n3,A,1.5\n4,A,1.5\n")

    def test_many_rows_are_counted_in_order(self):
        lines = [f"{number % 7},x\n" for number in range(100_000)]
        self.load("t", self.file("a.csv", "v,w\n" + "".join(lines)), "--threads", "2")
        dumped = self.dump("t", "--header=off").decode().splitlines(keepends=True)
        self.assertEqual(dumped, [f"{row},{line}" for row, line in enumerate(lines, 1)])

    def test_numbers_that_no_integer_holds(self):
        big = ["9223372036854775807", "9223372036854775808", "-9223372036854775809", "9" * 38, "1" * 39]
        file = self.file("a.csv", "id,v\n" + "".join(f"{row},{v}\n" for row, v in enumerate(big)))
        self.loads("t", file, "id int64 primary key, v varchar",
                   "".join(f"{row},{v}\n" for row, v in enumerate(big)))
        self.loads("u", self.file("b.csv", "id,h\n1,12345678901234567890123456789012345678901234567890\n"
                                  "2,5\n"), "id int64 primary key, h varchar",
                   "1,12345678901234567890123456789012345678901234567890\n2,5\n")

    def test_types_that_are_chosen(self):
        for number, (text, schema) in enumerate((
                ('id,a,b,c,d,e,f\n1,1.50,-2.5,2024-01-31,2024-01-31 10:00:00,true,\n'
                 '2,2.25,3,2024-02-01,2024-02-01 11:00:00,FALSE,x\n',
                 "id int64 primary key, a decimal(18,2), b decimal(18,1), c date, d timestamp, e bool, "
                 "f varchar null"),
                ("zip,n\n01234,1\n56789,2\n", "zip varchar primary key, n int64"),
                ("id,p\n1,5%\n2,7%\n", "id int64 primary key, p varchar"),
                ("id,d\n1,2024-01-31\n2,31.01.2024\n", "id int64 primary key, d varchar"),
                ("id,t\n1,10:00\n2,11:30\n", "id int64 primary key, t varchar"),
                ("id,h\n1,1e5\n2,2.5E-3\n3,-7\n", "id int64 primary key, h double"))):
            done = self.load(f"t{number}", self.file(f"{number}.csv", text), "--dry-run", "--summary", "json")
            self.assertEqual(json.loads(done.stdout)["schema"], schema)

    def corrected(self, name, last, schema, rows, **form):
        """A guess that a late record contradicts is made again."""
        file, number = self.late(name, last, **form)
        done = self.load(name, file, "--summary", "json", *self.SAMPLE)
        summary = json.loads(done.stdout)
        self.assertEqual(summary["schema"], schema)
        self.assertEqual(summary["rows_added"], number + len(last))
        dumped = self.dump(name, "--header=off")
        self.assertTrue(dumped.endswith(rows.encode()), dumped[-200:])
        return number

    def test_late_zeros_in_front(self):
        self.corrected("a.csv", ["9000000,007", "9000001,+5", "9000002,-0"],
                       "id int64 primary key, v varchar", "9000000,007\n9000001,+5\n9000002,-0\n")

    def test_late_fractions(self):
        self.corrected("a.csv", ["9000000,456.25"], "id int64 primary key, v decimal(18,2)",
                       "\n9000000,456.25\n")
        self.corrected("b.csv", ["9000000,1.25"], "id int64 primary key, v decimal(18,2)",
                       "\n9000000,1.25\n", record="{0},0.5")

    def test_late_nulls(self):
        self.corrected("a.csv", ["9000000,"], "id int64 primary key, v int64 null", "\n9000000,\n")
        self.corrected("b.csv", ["9000000,", '9000001,""'], "id int64 primary key, v varchar null",
                       '\n9000000,\n9000001,""\n', record="{0},x")

    def test_late_duplicates_of_the_key(self):
        self.corrected("a.csv", ["5,again,9999999"], "v int64, w varchar, id int64 primary key",
                       "\n5,again,9999999\n", first="v,w,id", record="{0},x,{0}")

    def test_late_members(self):
        lines = "".join(f'{{"id":{n},"v":{n}}}\n' for n in range(12_000))
        self.load("t", self.file("a.jsonl", lines + '{"id":999999,"v":"x","w":1.5}\n'), *self.SAMPLE)
        self.assertEqual(self.dump("t", "--schema"),
                         b"id int64 primary key, v varchar, w decimal(18,1) null\n")
        self.assertEqual(self.dump("t", "--header=off", "--where-key", "11999.."),
                         b"11999,11999,\n999999,x,1.5\n")

    def test_late_records_of_a_pipe(self):
        file, _ = self.late("a.csv", ["9000000,007"])
        with open(file, "rb") as text:
            done = self.load("t", "-", *self.SAMPLE, code=2, stdin=text.read())
        self.assertIn("as a number it would be written differently", done.stderr.decode())
        self.assertIn("a pipe is read but once: --schema", done.stderr.decode())
        self.assertNotIn(b"table t", self.tables())

    def test_samples(self):
        file, number = self.late("a.csv", ["9000000,007"])
        for size in ("all", "16M"):
            done = self.load("t" + size, file, "--sample", size, "--dry-run", "--summary", "json")
            self.assertEqual(json.loads(done.stdout)["schema"], "id int64 primary key, v varchar")
        self.refused(file, "--sample is all, or a size", arguments=["--sample", "some"])
        done = self.load("u", file, "--max-errors", "1", *self.SAMPLE)
        self.assertIn("would be written differently", done.stderr.decode())
        self.assertEqual(self.dump("u", "--schema"), b"id int64 primary key, v int64\n")
        self.assertEqual(self.dump("u", "--header=off").count(b"\n"), number)

    def test_null_words(self):
        file = self.file("a.csv", "id,a,b\n1,NA,2\n2,,3\n3,5,NULL\n4,6,\\N\n")
        self.loads("t", file, "id int64 primary key, a int64 null, b int64 null",
                   "1,,2\n2,,3\n3,5,\n4,6,\n", "--null", "NA", "--null", "NULL", "--null", "",
                   "--null", "\\N")

    def test_decimal_commas(self):
        file = self.file("a.csv", "text;number\nfoo;123,50\nbar;7,25\n")
        self.loads("t", file, "text varchar primary key, number varchar", 'bar,"7,25"\nfoo,"123,50"\n')
        self.loads("u", file, "text varchar primary key, number decimal(18,2)", "bar,7.25\nfoo,123.50\n",
                   "--decimal-comma")
        self.loads("v", self.file("b.csv", "t;n\na;1.234,5\nb;-1.234.567,25\n"),
                   "t varchar primary key, n decimal(18,2)", "a,1234.50\nb,-1234567.25\n",
                   "--decimal-comma", "--thousands", ".")
        done = self.load("w", self.file("c.csv", "t;n\na;1.5\n"), "--decimal-comma", "--schema",
                         "t varchar primary key, n double", code=3)
        self.assertIn('not a number with "," before its decimals', done.stderr.decode())

    def test_thousands(self):
        file = self.file("a.csv", 'text,number\nab,"100,000.00"\ncd,7.50\n')
        self.loads("t", file, "text varchar primary key, number decimal(18,2)",
                   "ab,100000.00\ncd,7.50\n", "--thousands", ",")
        done = self.load("u", self.file("b.csv", 'text,number\nab,"10,00"\n'), "--thousands", ",", "--schema",
                         "text varchar primary key, number int64", code=3)
        self.assertIn("groups of three digits", done.stderr.decode())

    def test_exponents_of_decimals(self):
        file = self.file("a.csv", "id,v\n1,1.5007635628272106E-4\n2,1.5e2\n3,15e-1\n4,1E3\n")
        self.loads("t", file, "id int64 primary key, v decimal(30,20)",
                   "1,0.00015007635628272106\n2,150.00000000000000000000\n3,1.50000000000000000000\n"
                   "4,1000.00000000000000000000\n", "--schema", "id int64 primary key, v decimal(30,20)")
        file = self.file("a.jsonl", '{"id":1,"d":1e2}\n{"id":2,"d":0.000000000000000001}\n')
        self.loads("u", file, "id int64 primary key, d decimal(38,18)",
                   "1,100.000000000000000000\n2,0.000000000000000001\n", "--schema",
                   "id int64 primary key, d decimal(38,18)")

    def test_offsets_of_time_zones(self):
        file = self.file("a.csv", "id,t\n1,2024-01-01T00:00:00+00:00\n2,2024-01-01 00:00:00+00\n"
                         "3,2024-01-01T02:00:00+02:00\n4,2015-12-08T00:46:59.5-0530\n")
        self.loads("t", file, "id int64 primary key, t timestamp",
                   "1,2024-01-01T00:00:00Z\n2,2024-01-01T00:00:00Z\n3,2024-01-01T00:00:00Z\n"
                   "4,2015-12-08T06:16:59.5Z\n")

    def test_forms_of_times(self):
        good = ["2024-02-29T12:34:56Z", "2024-02-29 12:34:56.789", "2024-02-29T12:34:56.123456000Z",
                "2024-02-29T12:34", "2024-02-29", "2024-02-29 12:34:56 UTC"]
        bad = ["2024-02-29T12:34:56.1234567", "2024-02-29T24:00:00", "2016-12-31T23:59:60Z", "2024-02-30",
               "2015-12-08T00:46:59 Europe/Berlin", "12:34:56"]
        file = self.file("a.csv", "id,v\n" + "".join(f"{i},{t}\n" for i, t in enumerate(good + bad)))
        done = self.load("t", file, "--schema", "id int64 primary key, v timestamp", "--max-errors", "6",
                         "--summary", "json")
        self.assertEqual(json.loads(done.stdout)["errors"]["total"], len(bad))
        self.assertEqual(self.dump("t", "--header=off").decode().splitlines(),
                         ["0,2024-02-29T12:34:56Z", "1,2024-02-29T12:34:56.789Z",
                          "2,2024-02-29T12:34:56.123456Z", "3,2024-02-29T12:34:00Z",
                          "4,2024-02-29T00:00:00Z", "5,2024-02-29T12:34:56Z"])

    def test_formats_of_dates(self):
        file = self.file("a.csv", "id,d,t\n1,31.1.2024,1/Feb/2024 9:05:00 +0100\n"
                         "2,01.12.1999,31/Dec/1999 23:59:59 -0000\n")
        self.loads("t", file, "id int64 primary key, d date, t timestamp",
                   "1,2024-01-31,2024-02-01T08:05:00Z\n2,1999-12-01,1999-12-31T23:59:59Z\n",
                   "--date-format", "%d.%m.%Y", "--timestamp-format", "%d/%b/%Y %H:%M:%S %z")
        self.refused(file, "--date-format", arguments=["--date-format", "%q"])


class Texts(Cases):
    """Encodings, JSON, compression, names of files and types."""

    def test_what_is_no_utf8(self):
        latin = self.file("a.csv", "id,name\n1,M\u00fcller\n2,\u00c4pfel\n".encode("latin-1"))
        self.refused(latin, 'a.csv:2:3 (byte 10), column "name"', "no UTF-8", "--encoding", code=3)
        self.loads("t", latin, "id int64 primary key, name varchar", "1,M\u00fcller\n2,\u00c4pfel\n",
                   "--encoding", "latin1")
        self.load("u", latin, "--encoding", "bytes")
        self.assertEqual(self.dump("u", "--header=off"), b"1,M\xfcller\n2,\xc4pfel\n")
        self.refused(self.file("b.csv", "id,gr\u00f6\u00dfe\n1,5\n".encode("latin-1")), "no UTF-8",
                     "--encoding")
        self.refused(latin, "there is no encoding", arguments=["--encoding", "klingon"])
        self.loads("v", self.file("w.csv", "id,v\n1,\u20ac\n".encode("cp1252")),
                   "id int64 primary key, v varchar", "1,\u20ac\n", "--encoding", "windows-1252")

    def test_utf16(self):
        text = "id,name\n1,M\u00fcller\n2,\U0001f600\n"
        expected = ("id int64 primary key, name varchar", "1,M\u00fcller\n2,\U0001f600\n")
        self.loads("t", self.file("a.csv", text.encode("utf-16")), *expected)
        self.loads("u", self.file("b.csv", b"\xfe\xff" + text.encode("utf-16-be")), *expected)
        plain = self.file("c.csv", text.encode("utf-16-le"))
        self.refused(plain, "every other byte is zero", "--encoding utf-16le")
        self.loads("v", plain, *expected, "--encoding", "utf-16le")
        broken = self.load("w", self.file("d.csv", text.encode("utf-16")[:-1]), code=1)
        self.assertIn("is no text in UTF-16", broken.stderr.decode())

    def test_json_arrays(self):
        expected = ("id int64 primary key, v varchar null", "1,a\n2,\n")
        for number, text in enumerate(('[{"id":1,"v":"a"},{"id":2,"v":null}]',
                                       '[\n  {\n    "id": 1,\n    "v": "a"\n  },\n  {"id": 2}\n]\n',
                                       '{"id": 1,\n "v": "a"}\n{"id": 2}\n')):
            self.loads(f"t{number}", self.file(f"{number}.json", text), *expected)
        self.loads("u", self.file("l.json", '{"id":1,"v":"a"}\n{"id":2,"v":null}\n'), *expected)
        bad = self.file("bad.json", '[\n {"id": 1},\n {"id": "x"}\n]\n')
        done = self.load("v", bad, "--schema", "id int64 primary key", code=3)
        self.assertIn('bad.json:3:9 (byte 22), column "id": type error', done.stderr.decode())
        for text, told in (('[{"id":1},', "ends too early"), ('[{"id":1} {"id":2}]', "no object"),
                           ('[{"id":1}] x', "no object"), ('[{"id":1},,]', "no object")):
            done = self.load("v", self.file("cut.json", text), "--schema", "id int64 primary key", code=1)
            self.assertIn(told, done.stderr.decode())
        done = self.load("v", self.file("a.jsonl", '[{"id":1}]\n'), "--format", "jsonl", "--schema",
                         "id int64 primary key", code=3)
        self.assertIn("--format json reads arrays", done.stderr.decode())

    def test_json_in_json(self):
        rows = [{"id": 1, "o": {"a": [1, 2]}}, {"id": 2, "o": ["x"]}, {"id": 3, "o": "text"},
                {"id": 4, "o": 5}, {"id": 5, "o": True}, {"id": 6, "o": None}]
        file = self.file("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        said = self.loads("t", file, "id int64 primary key, o varchar null", None)
        self.assertIn("--keep-nested", said)
        dumped = [json.loads(line) for line in self.dump("t", "--format", "jsonl").splitlines()]
        self.assertEqual([row["o"] for row in dumped],
                         ['{"a": [1, 2]}', '["x"]', "text", "5", "true", None])
        done = self.load("u", file, "--schema", "id int64 primary key, o varchar null", code=3)
        self.assertIn("--keep-nested", done.stderr.decode())
        done = self.load("u", self.file("b.jsonl", '{"id":1,"o":{"a":nonsense}}\n'), "--keep-nested",
                         "--schema", "id int64 primary key, o varchar null", code=3)
        self.assertIn("parse error", done.stderr.decode())

    def test_members_that_the_table_has_not(self):
        schema = ["--schema", "id int64 primary key, v varchar null"]
        file = self.file("a.jsonl", '{"id":1,"v":"a","extra":5}\n{"id":2,"n":1}\n')
        self.refused(file, 'no column "extra"', "--ignore-unknown", arguments=schema, code=3)
        self.loads("t", file, schema[1], "1,a\n2,\n", "--ignore-unknown", *schema)
        self.refused(file, "--ignore-unknown", arguments=["--columns", "id", *schema])

    def test_compression(self):
        text = b"id,v\n1,a\n2,b\n"
        expected = ("id int64 primary key, v varchar", "1,a\n2,b\n")
        files = [self.file("a.csv.xz", lzma.compress(text)), self.file("a.csv.bz2", bz2.compress(text)),
                 self.file("a", gzip.compress(text)),
                 self.file("two.csv.xz", lzma.compress(text[:9]) + lzma.compress(text[9:])),
                 self.file("two.csv.bz2", bz2.compress(text[:9]) + bz2.compress(text[9:])), self.path("a.zip")]
        with zipfile.ZipFile(files[-1], "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data/", b"")
            archive.writestr("data/a.csv", text)
        for number, file in enumerate(files):
            self.loads(f"t{number}", file, *expected)
        for name in ("a.csv.xz", "a.csv.bz2"):
            whole = self.content(name)
            done = self.load("u", self.file("cut-" + name, whole[:-6]), "--schema", expected[0], code=1)
            self.assertRegex(done.stderr.decode(), r"corruption: .*(ends too early|is damaged)")
        with zipfile.ZipFile(self.path("b.zip"), "w") as archive:
            archive.writestr("a.csv", text)
            archive.writestr("b.csv", text)
        self.refused(self.path("b.zip"), "the zip archive has 2 files: a.csv, b.csv")
        self.refused(self.file("a.parquet", b"PAR1" + bytes(50)), "it is a Parquet file")
        self.refused(self.file("a.lz4", b"\x04\x22\x4d\x18" + bytes(50)), "lz4 -dc")

    def test_forms_of_zstd(self):
        if shutil.which("zstd") is None:
            self.skipTest("there is no zstd")
        text = b"id,v\n" + b"".join(b"%d,%d\n" % (n, n % 9) for n in range(20_000))
        for number, options in enumerate((["--long=31"], ["--check"], ["-19"])):
            packed = subprocess.run(["zstd", "-q", "-c", *options], input=text, capture_output=True,
                                    timeout=60, check=True).stdout
            skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
            self.load(f"t{number}", self.file(f"{number}.zst", skipped + packed), "--memory", "64M")
            self.assertEqual(self.dump(f"t{number}", "--header=off").count(b"\n"), 20_000)

    def test_dumps_are_compressed_by_their_names(self):
        self.load("t", self.file("a.csv", "id,v\n1,a\n"))
        self.dump("t", "--output", self.path("o.csv.gz"))
        self.assertEqual(gzip.decompress(self.content("o.csv.gz")), b"id,v\n1,a\n")
        self.dump("t", "--output", self.path("o.csv.zst"))
        self.assertTrue(self.content("o.csv.zst").startswith(b"\x28\xb5\x2f\xfd"))
        self.assertEqual(gzip.decompress(self.dump("t", "--compress", "gzip")), b"id,v\n1,a\n")
        self.loads("u", self.path("o.csv.zst"), "id int64 primary key, v varchar", "1,a\n")
        for name in ("o.csv.xz", "o.parquet", "o.xlsx"):
            self.dump("t", "--output", self.path(name), code=2)
            self.assertFalse(os.path.exists(self.path(name)))
        self.load("t", self.file("b.csv", "id,v\nx,1\n"), "--max-errors", "5", "--reject-file",
                  self.path("r.csv.gz"), code=2)

    def test_names_of_files(self):
        self.load("t", self.file("C.CSV", "1,a\n"), "--schema", "id int64 primary key, v varchar")
        for name, text in (("T.TSV", "3\tc\n"), ("x.tab", "5\te\n"), ("p.psv", "6|f\n"), ("q.txt", "7,g\n"),
                           ("d.dat", "8|h\n"), ("j.json", '{"id":2,"v":"b"}\n'),
                           ("l.jsonlines", '{"id":9,"v":"i"}\n')):
            self.load("t", self.file(name, text))
        self.assertEqual(self.dump("t", "--header=off"), b"1,a\n2,b\n3,c\n5,e\n6,f\n7,g\n8,h\n9,i\n")
        self.dump("t", "--output", self.path("o.json"))
        self.assertEqual(json.loads(self.content("o.json"))[0], {"id": 1, "v": "a"})
        self.dump("t", "--output", self.path("o.TSV"))
        self.assertTrue(self.content("o.TSV").startswith(b"id\tv\n"))

    def test_types_as_sql_names_them(self):
        file = self.file("a.csv", "")
        for number, (text, schema) in enumerate((
                ("id integer primary key, v text", "id int32 primary key, v varchar"),
                ("id int primary key, v varchar(10)", "id int32 primary key, v varchar(10)"),
                ("id bigint primary key, v string", "id int64 primary key, v varchar"),
                ("create table t (id smallint not null primary key, v numeric(10,2));",
                 "id int16 primary key, v decimal(10,2)"),
                ("(id tinyint primary key, v real, w double precision)",
                 "id int8 primary key, v float, w double"),
                ("id serial primary key, a timestamptz, b datetime, c blob, d bytea, e character varying(5)",
                 "id int32 primary key, a timestamp, b timestamp, c bytes, d bytes, e varchar(5)"),
                ("id int64 primary key, v timestamp with time zone, w numeric",
                 "id int64 primary key, v timestamp, w decimal(38,10)"))):
            self.loads(f"t{number}", file, schema, "", "--schema", text)
        self.refused(file, "int8, int16, int32, int64", arguments=["--schema", "id uuid primary key"])


class Outcomes(Cases):
    """Files of bad records, full disks, what is said."""

    def test_rejected_records_of_two_headers(self):
        files = [self.file("a.csv", "id,x,y\n1,10,20\n"), self.file("b.csv", "id,y,x\n2,21,11\nthree,22,12\n")]
        self.load("t", *files, "--header=match", "--schema", "id int64 primary key, x int64, y int64",
                  "--max-errors", "5", "--reject-file", self.path("r.csv"))
        self.file("r.csv", self.content("r.csv").replace(b"three", b"3"))
        self.load("t", self.path("r.csv"))
        self.assertEqual(self.dump("t", "--header=off"), b"1,10,20\n2,11,21\n3,12,22\n")
        files[0] = self.file("a.csv", "id,x,y\nfour,10,20\n")
        done = self.load("t", *files, "--max-errors", "9", "--reject-file", self.path("r.csv"))
        self.assertIn("r-2.csv", done.stderr.decode())
        self.assertEqual((self.content("r.csv"), self.content("r-2.csv")),
                         (b"id,x,y\nfour,10,20\n", b"id,y,x\n2,21,11\nthree,22,12\n"))

    def test_one_file_for_both(self):
        file = self.file("a.csv", "id,v\n1,a\nx,b\n")
        for log in (self.path("q"), os.path.join(self.folder, ".", "q")):
            self.refused(file, "would be written twice",
                         arguments=["--max-errors", "9", "--reject-file", self.path("q"), "--reject-log", log])

    def test_a_full_disk_leaves_no_database(self):
        alone = ["unshare", "--user", "--map-root-user", "--mount"]
        os.mkdir(self.path("m"))
        mount = f"mount -t tmpfs -o size=64k none {self.path('m')}"
        if shutil.which("unshare") is None or subprocess.run(
                [*alone, "sh", "-c", mount], capture_output=True, timeout=60, check=False).returncode != 0:
            self.skipTest("nothing can be mounted here")
        self.file("a.csv", "id,v\n1,a\n")
        load = f"{TOOL} load {self.path('m/db')} t {self.path('a.csv')}"
        done = subprocess.run([*alone, "sh", "-c", f"{mount}; {load}; echo $?; ls {self.path('m')}"],
                              capture_output=True, timeout=60, check=False)
        self.assertTrue(done.stdout.endswith(b"\n1\n"), (done.stdout, done.stderr))
        self.assertIn(b"no_space", done.stderr)

    def test_json_of_every_outcome(self):
        good = self.file("a.csv", "id,v\n1,a\n")
        summary = json.loads(self.load("t", good, "--json").stdout)
        self.assertEqual((summary["status"], summary["rows_added"]), ("done", 1))
        self.assertIn("--header=match", summary["command"])
        usage = json.loads(self.load("t", good, "--infer", "--json", code=2).stdout)
        self.assertEqual((usage["status"], usage["exit_code"]), ("usage", 2))
        self.assertEqual(json.loads(self.load("t", good, "--json", code=3).stdout)["status"],
                         "too_many_errors")
        failed = json.loads(self.load("t", self.path("none.csv"), "--json", code=1).stdout)
        self.assertEqual((failed["status"], failed["exit_code"]), ("not_found", 1))

    def test_preview(self):
        done = self.load("t", self.file("a.csv", "id,name,day\n1,Ada,2024-01-31\n2,,2024-02-01\n"), "--preview")
        lines = [line.split() for line in done.stdout.decode().splitlines()]
        self.assertIn(["id", "int64", "(key)", "1,", "2"], lines)
        self.assertIn(["name", "varchar", "null", '"Ada",', "null"], lines)
        self.assertFalse(os.path.exists(self.database))

    def test_help(self):
        for words in (["help", "load"], ["load", "--help"], ["help", "dump"], ["help"]):
            self.run_tool(*words)
        self.assertEqual(self.run_tool("help", "load").stdout, self.run_tool("load", "--help").stdout)
        self.assertIn(b"palimpsest load DB TABLE FILE", self.run_tool("help", "load").stdout)
        done = self.run_tool("load", "db", "t", "f", "--heder", code=2)
        self.assertIn(b"did you mean --header?", done.stderr)


class Directories(Cases):
    """A database as files in a directory, and back."""

    def setUp(self):
        super().setUp()
        numbers = random.Random(3).sample(range(5000), 5000)
        self.load("t", self.file("t.csv", "id,v\n" + "".join(f"{n},{n * 7}\n" for n in numbers)))
        self.load("odd name/\u00fc", self.file("u.csv", "k,v,w\n1,,a\n2,\"\",b\n"), "--schema",
                  "k int64 primary key, v varchar null, w varchar(3), unique index by_w (w)")
        self.load("empty", self.file("e.csv", ""), "--schema", "k int64 primary key")
        self.load("latin", self.file("l.csv", b"1,\xfc\n"), "--encoding", "bytes", "--schema",
                  "k int64 primary key, v varchar")
        self.out = self.path("out")

    def moved(self, *arguments):
        self.run_tool("dump", self.database, "--directory", self.out, *arguments)
        self.run_tool("load", self.path("db2"), "--directory", self.out, "--progress", "none")
        for table in ("t", "odd name/\u00fc", "empty", "latin"):
            again = self.run_tool("dump", self.path("db2"), table).stdout
            self.assertEqual(again, self.dump(table))
            self.assertEqual(self.run_tool("dump", self.path("db2"), table, "--schema").stdout,
                             self.dump(table, "--schema"))
        shutil.rmtree(self.path("db2"))
        names = sorted(os.listdir(self.out))
        shutil.rmtree(self.out)
        return names

    def test_there_and_back(self):
        self.assertEqual(self.moved(), ["empty.csv", "latin.csv", "odd%20name%2f%c3%bc.csv",
                                        "palimpsest-tables.json", "t.csv"])
        self.assertIn("t.tsv.zst", self.moved("--format", "tsv", "--compress", "zstd", "--threads", "3"))

    def test_some_tables(self):
        self.run_tool("dump", self.database, "t", "empty", "--directory", self.out)
        self.assertEqual(sorted(os.listdir(self.out)), ["empty.csv", "palimpsest-tables.json", "t.csv"])
        self.run_tool("dump", self.database, "t", "empty", code=2)
        self.run_tool("dump", self.database, "none", "--directory", self.path("other"), code=1)

    def test_going_on(self):
        self.run_tool("dump", self.database, "--directory", self.out)
        self.run_tool("dump", self.database, "--directory", self.out, code=2)
        manifest = json.loads(self.content("out/palimpsest-tables.json"))
        manifest["complete"] = False
        manifest["tables"] = [table for table in manifest["tables"] if table["name"] != "t"]
        self.file("out/palimpsest-tables.json", json.dumps(manifest))
        os.remove(self.path("out/t.csv"))
        self.run_tool("load", self.path("db2"), "--directory", self.out, code=2)
        done = self.run_tool("dump", self.database, "--directory", self.out, "--resume")
        self.assertEqual(done.stdout, b"t.csv: 5000 rows\n")
        self.run_tool("load", self.path("db2"), "t", self.path("out/t.csv"))
        self.run_tool("load", self.path("db2"), "--directory", self.out, code=2)
        done = self.run_tool("load", self.path("db2"), "--directory", self.out, "--resume")
        self.assertIn(b'5000 rows into table "t" were there', done.stdout)
        self.assertEqual(self.run_tool("dump", self.path("db2"), "t").stdout, self.dump("t"))

    def test_files_that_are_cut(self):
        self.run_tool("dump", self.database, "t", "--directory", self.out)
        lines = self.content("out/t.csv").splitlines(keepends=True)
        self.file("out/t.csv", b"".join(lines[:-1]))
        done = self.run_tool("load", self.path("db2"), "--directory", self.out, code=1)
        self.assertIn(b"it has 4999 rows, 5000 were dumped", done.stderr)
        self.run_tool("dump", self.path("db2"), "t", code=1)

    def test_a_database_that_has_changed(self):
        self.run_tool("dump", self.database, "--directory", self.out)
        self.load("t", self.file("more.csv", "id,v\n9999,1\n"))
        done = self.run_tool("dump", self.database, "--directory", self.out, "--resume", code=2)
        self.assertIn(b"the database has changed since", done.stderr)

    def test_memory_and_keys(self):
        rows = self.dump("t", "--memory", "64M", "--where-key", "10..12", "--header=off")
        self.assertEqual(rows, b"10,70\n11,77\n12,84\n")
        self.assertEqual(self.dump("t", "--where-key", "4998..", "--header=off"), b"4998,34986\n4999,34993\n")
        self.assertEqual(self.dump("t", "--where-key", "..1", "--header=off"), b"0,0\n1,7\n")
        for keys in ("5", "a..b", "1,2..3", '"1..2'):
            self.dump("t", "--where-key", keys, code=2)
        self.load("pairs", self.file("p.csv", "1,a,x\n1,b,y\n2,a,z\n"), "--schema",
                  "n int64, s varchar, v varchar, primary key (n, s)")
        self.assertEqual(self.dump("pairs", "--where-key", "1,b..2", "--header=off"), b"1,b,y\n2,a,z\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
