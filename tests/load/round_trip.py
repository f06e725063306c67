"""What `palimpsest dump` writes, `load` reads as the same rows: every type, every format."""
import gzip
import json
import random

from command import Command, main

SCHEMA = ("k int64 primary key, i8 int8 null, i16 int16 null, i32 int32 null, f float null, "
          "d double null, dec decimal(38,10) null, small decimal(5,2) null, b bool null, "
          "day date null, at timestamp null, c char(8) null, v varchar null, w varchar(6), "
          "x bytes null, index by_w (w, k), unique index by_k (k)")

VALUES = {
    "i8": ["-128", "127", "0"],
    "i16": ["-32768", "32767"],
    "i32": ["-2147483648", "2147483647"],
    "f": ["NaN", "Infinity", "-Infinity", "3.4028235e+38", "1e-45", "-0"],
    "d": ["NaN", "Infinity", "-Infinity", "1.7976931348623157e+308", "5e-324", "-0", "0.1"],
    "dec": ["9999999999999999999999999999.9999999999", "-0.0000000001", "0.0000000000"],
    "small": ["-999.99", "0.01"],
    "b": ["true", "false"],
    "day": ["-5877641-06-23", "+5881580-07-11", "0000-01-01", "2024-02-29"],
    "at": ["-290308-12-21T19:59:05.224192Z", "+294247-01-10T04:00:54.775807Z",
           "1969-12-31T23:59:59.999999Z"],
    "c": ["", "a b", "\N{LATIN SMALL LETTER U WITH DIAERESIS}"],
    "v": ["", "NULL", "\\N", "\\", "\\x00", "a,b", "\"", "\"\"", "a\"b", "line\nline", "\r\n", "\r",
          "\ttab\t", " spaces ", "#", "-", "null", "\N{SNOWMAN}\N{GRINNING FACE}", "\x00\x01\x7f",
          "\ufeff", "|", "'", "a" * 5000],
    "w": ["", "x", "\"\n"],
    "x": ["\\x", "\\x00", "\\x" + bytes(range(256)).hex()],
}


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def source():
    """Rows with each value once, and null everywhere once, in no order, as csv."""
    names = [column.split()[0] for column in SCHEMA.split(", ") if "index" not in column]
    names = ["k"] + [name for name in names if name in VALUES]
    count = max(len(values) for values in VALUES.values()) + 1
    keys = [-2**63, 2**63 - 1, 0] + list(range(1, count - 2))
    lines = []
    for row, key in enumerate(keys):
        fields = [str(key)]
        for name in names[1:]:
            value = VALUES[name][row] if row < len(VALUES[name]) else None
            if value is None and name == "w":
                value = ""
            fields.append("" if value is None else quoted(value))
        lines.append(",".join(fields) + "\n")
    random.Random(1).shuffle(lines)
    return ",".join(names) + "\n" + "".join(lines), len(lines)


class RoundTrip(Command):
    def setUp(self):
        super().setUp()
        text, self.rows = source()
        self.load("t", self.file("source.csv", text), "--header", "--schema", SCHEMA)
        self.csv = self.dump("t")

    def again(self, *options, dump=(), load=()):
        written = self.dump("t", *options, *dump)
        name = "again" + str(random.random())
        self.load(name, self.file("dump", written), *options, *load, "--schema", SCHEMA)
        self.assertEqual(self.dump(name), self.csv, options)
        return written

    def test_schema(self):
        self.assertEqual(self.dump("t", "--schema").decode(), SCHEMA + "\n")

    def test_order_of_the_keys(self):
        rows = [json.loads(line) for line in self.dump("t", "--format", "jsonl").splitlines()]
        keys = [row["k"] for row in rows]
        self.assertEqual(len(keys), self.rows)
        self.assertEqual(keys, sorted(keys))

    def test_values_are_as_they_were(self):
        rows = {row["k"]: row for row in
                map(json.loads, self.dump("t", "--format", "jsonl").splitlines())}
        order = [-2**63, 2**63 - 1, 0] + list(range(1, self.rows - 2))
        for name in ("v", "w", "x", "day", "at", "c"):
            self.assertEqual([rows[key][name] for key in order[:len(VALUES[name])]], VALUES[name])

    def test_csv(self):
        self.again("--header")
        self.again("--header=off")
        self.again("--header", dump=["--columns", "w,v,x,k,c,i8,i16,i32,f,d,dec,small,b,day,at"],
                   load=["--header=match"])
        self.again("--header", "--delimiter", ";", "--quote", "'")
        self.again("--header", "--escape", "\\")
        self.again("--header", "--null", "NULL")
        self.again("--header", "--null", "NaN")
        self.again("--header", "--bytes", "raw")
        self.again("--header", "--delimiter", "tab")

    def test_tsv(self):
        self.again("--header", "--format", "tsv")
        self.again("--header", "--format", "tsv", "--null", "nothing")

    def test_jsonl(self):
        self.again("--format", "jsonl", "--header=off")

    def test_compressed(self):
        self.load("z", self.file("dump.csv.gz", gzip.compress(self.csv)), "--header", "--schema",
                  SCHEMA)
        self.assertEqual(self.dump("z"), self.csv)

    def test_tbl_says_what_it_cannot_write(self):
        done = self.run_tool("dump", self.database, "t", "--format", "tbl", code=1)
        self.assertRegex(done.stderr.decode(), 'table "t", column ".*": tbl cannot write')
        self.load("plain", self.file("plain.tbl", "1|a b|2.50|\n2||-1.00|\n"), "--schema",
                  "id int32 primary key, t varchar null, d decimal(4,2)")
        self.assertEqual(self.dump("plain", "--format", "tbl", "--header=off"),
                         b"1|a b|2.50|\n2||-1.00|\n")

    def test_no_json_of_what_is_no_text(self):
        self.load("latin", self.file("latin.csv", b"1,a\xff\n"), "--encoding", "bytes", "--schema",
                  "id int32 primary key, t varchar")
        self.assertEqual(self.dump("latin", "--header=off"), b"1,a\xff\n")
        done = self.run_tool("dump", self.database, "latin", "--format", "jsonl", code=1)
        self.assertIn(b'column "t": a value is no UTF-8', done.stderr)

    def test_to_a_file(self):
        self.dump("t", "--output", self.path("out.jsonl"))
        self.assertEqual(self.content("out.jsonl"), self.dump("t", "--format", "jsonl"))


if __name__ == "__main__":
    main()
