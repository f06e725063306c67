"""Checks `palimpsest tables` as people and programs meet it: schemas that can be used again, tables that
are not there, damaged ones, refusals. usage: tables_command.py PALIMPSEST MAKE_DATABASE MAKE_TABLES"""
import os

from closed_command import ClosedCommand, MAKE_DATABASE, Refusals, main
from tool_command import run

PEOPLE = """-- table people
id    int32,
name  varchar(40),
city  varchar(40) null,
primary key (id),
index by_city (city),
unique index by_name (name)
"""
NOTES = """-- table notes
key    bytes(8192),
value  bytes,
primary key (key)
"""
EVERY_TYPE = ("a int8, b int16 null, c int32, d int64, e float null, f double, g decimal(12,2), "
              "h bool null, i date, j timestamp null, k char(3), l varchar(7), m varchar null, "
              'n bytes(5) null, "o p" bytes, "index" int8, "in ""quotes""" int16 null, '
              "größe int32 null, primary key (c, k), index z (j, d), "
              'unique index "an index" ("o p", "in ""quotes""")')


class TablesCommand(Refusals, ClosedCommand):
    COMMAND = "tables"

    def test_tables_by_name(self):
        self.make("make")
        self.assertEqual(self.looked().stdout, NOTES + "\n" + PEOPLE)
        self.assertEqual(self.looked("people").stdout, PEOPLE)
        self.assertEqual(self.looked("people", "notes", "people").stdout, NOTES + "\n" + PEOPLE)

    def test_json(self):
        self.make("make")
        notes, people = self.lines()
        self.assertEqual(people, {
            "kind": "table", "name": "people",
            "columns": [{"name": "id", "type": "int32", "nullable": False},
                        {"name": "name", "type": "varchar(40)", "nullable": False},
                        {"name": "city", "type": "varchar(40) null", "nullable": True}],
            "primary_key": ["id"],
            "indexes": [{"name": "by_city", "unique": False, "columns": ["city"]},
                        {"name": "by_name", "unique": True, "columns": ["name"]}],
            "schema": "id int32 primary key, name varchar(40), city varchar(40) null, "
                      "index by_city (city), unique index by_name (name)"})
        self.assertEqual((notes["name"], notes["indexes"]), ("notes", []))
        self.assertEqual(self.lines("notes"), [notes])

    def test_an_index_that_was_dropped(self):
        self.make("make")
        self.make("drop")
        self.assertEqual([index["name"] for index in self.lines("people")[0]["indexes"]], ["by_name"])

    def test_no_tables(self):
        """Trees alone are none."""
        self.make("close", MAKE_DATABASE)
        self.assertEqual(self.looked().stdout, "-- no tables\n")
        self.assertEqual(self.lines(), [])

    def test_every_type_can_be_used_again(self):
        """The text of a table, and its schema in JSON, make the same table."""
        self.load("every", EVERY_TYPE, "")
        dumped = run("dump", self.folder, "every", "--schema").stdout
        self.assertNotEqual(dumped, "")
        file = os.path.join(self.new_folder(), "every.schema")
        with open(file, "w", encoding="utf-8") as written:
            written.write(self.looked("every").stdout)
        rows = os.path.join(self.new_folder(), "rows.csv")
        with open(rows, "w", encoding="utf-8"):
            pass
        line = self.lines()[0]
        for schema in (["--schema-file", file], ["--schema", line["schema"]]):
            copy = os.path.join(self.new_folder(), "db")
            done = run("load", copy, "every", rows, "--quiet", *schema)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(run("dump", copy, "every", "--schema").stdout, dumped)
        self.assertEqual(line["primary_key"], ["c", "k"])
        self.assertEqual([column["name"] for column in line["columns"]],
                         [*"abcdefghijklmn", "o p", "index", 'in "quotes"', "größe"])
        self.assertEqual([column["type"] for column in line["columns"]][6:14],
                         ["decimal(12,2)", "bool null", "date", "timestamp null", "char(3)",
                          "varchar(7)", "varchar null", "bytes(5) null"])

    def test_a_table_that_is_not_there(self):
        """Those that are there are shown."""
        self.make("make")
        done = self.looked("nowhere", "people", "Notes", code=1)
        self.assertEqual(done.stdout, PEOPLE)
        self.assertEqual(done.stderr, 'palimpsest tables: not_found: there is no table "nowhere"\n'
                                      'palimpsest tables: not_found: there is no table "Notes"\n')
        self.assertEqual(self.lines("nowhere", code=1), [])

    def test_a_damaged_definition(self):
        """The others are shown; of those that were asked for, nothing is said."""
        self.make("make")
        self.make("record")
        done = self.looked(code=1)
        self.assertEqual(done.stdout, NOTES)
        self.assertRegex(done.stderr, '^palimpsest tables: corruption: table "people": the record of ')
        self.assertEqual(self.looked("notes").stdout, NOTES)
        done = self.looked("people", code=1)
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1))


if __name__ == "__main__":
    main()
