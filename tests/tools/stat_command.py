"""Checks `palimpsest stat` as people and programs meet it: that its numbers are those of the files and the
rows, text and JSON, damage, refusals. usage: stat_command.py PALIMPSEST MAKE_DATABASE MAKE_TABLES"""
import json
import os

from closed_command import ClosedCommand, MAKE_DATABASE, Refusals, main
from tool_command import run

PAGE = 4096
SUMMED = ("inner_pages", "leaf_pages", "large_values", "large_value_bytes", "large_value_pages", "pages",
          "bytes")


class StatCommand(Refusals, ClosedCommand):
    COMMAND = "stat"

    def of_kind(self, lines, kind):
        return [line for line in lines if line["kind"] == kind]

    def agree(self, code=0):
        """The lines of JSON, having been compared with the files, with each other and with the text."""
        lines = self.lines(code=code)
        file, log, total = (self.of_kind(lines, kind)[0] for kind in ("file", "log", "total"))
        trees = [line for line in lines if line["kind"] in ("table", "index", "tree")]
        self.assertEqual(file["bytes"], os.path.getsize(self.pages))
        self.assertEqual(file["bytes"], file["pages"] * file["page_bytes"])
        self.assertEqual(file["pages"], sum(file[part + "_pages"] for part in (
            "header", "space_map", "tree", "unreached", "free")))
        segments = [os.path.getsize(os.path.join(self.folder, name))
                    for name in os.listdir(self.folder)
                    if name.startswith("log-") and name != "log-control"]
        self.assertEqual((log["segments"], log["bytes"]), (len(segments), sum(segments)))
        for member in SUMMED:
            self.assertEqual(total[member], sum(tree[member] for tree in trees), member)
        for tree in trees:
            self.assertEqual(tree["pages"], tree["inner_pages"] + tree["leaf_pages"]
                             + tree["large_value_pages"])
            self.assertEqual(tree["bytes"], tree["pages"] * file["page_bytes"])
            self.assertEqual(tree["height"] > 1, tree["inner_pages"] > 0)
        if code == 0:
            self.assertEqual(total["pages"], file["tree_pages"])
            self.assertTrue(total["sound"])
        self.compare_text(self.looked(code=code).stdout, lines, trees)
        return lines

    def compare_text(self, text, lines, trees):
        head, table = text.split("\n\n")
        file, log, total = (self.of_kind(lines, kind)[0] for kind in ("file", "log", "total"))
        self.assertTrue(head.startswith(
            f"page file: {file['pages']} pages of {file['page_bytes']} bytes, {file['bytes']} bytes\n"))
        for part, member in (("header and ring", "header_pages"), ("space map", "space_map_pages"),
                             ("trees", "tree_pages"), ("free", "free_pages")):
            self.assertRegex(head, rf"\n  {part} +{file[member]}\n")
        self.assertEqual("in no tree" in head, file["unreached_pages"] > 0)
        self.assertIn(f"\nlog: {log['segments']} segments, {log['bytes']} bytes", head)
        rows = [row.replace("  damaged: only a part of it could be read", "").rsplit(None, 8)
                for row in table.splitlines()]
        self.assertEqual(len(rows), len(trees) + 2)
        for row, tree in zip(rows[1:], [*trees, total]):
            expected = [tree.get("records"), tree.get("height"), tree["inner_pages"],
                        tree["leaf_pages"], tree.get("leaf_fill_percent"), tree["large_value_pages"],
                        tree["pages"], tree["bytes"]]
            for shown, number in zip(row[1:], expected):
                if shown == "-":
                    self.assertIn(number, (None, 0))
                else:
                    self.assertEqual(float(shown), number, row)

    def named(self, lines):
        return [(line["kind"], line.get("table"), line["name"], line["records"])
                for line in lines if "name" in line]

    def test_tables(self):
        self.make("make")
        lines = self.agree()
        self.assertEqual(self.named(lines), [("table", None, "notes", 3000),
                                             ("table", None, "people", 3000),
                                             ("index", "people", "by_city", 3000),
                                             ("index", "people", "by_name", 3000),
                                             ("tree", None, "catalog", 5),
                                             ("tree", None, "tables", 2)])
        notes, people, by_city, by_name = lines[2:6]
        self.assertEqual((notes["large_values"], notes["large_value_bytes"]), (6, 180_000))
        self.assertGreaterEqual(notes["large_value_pages"] * PAGE, 180_000)
        self.assertEqual((people["large_values"], people["large_value_pages"]), (0, 0))
        self.assertEqual((by_city["unique"], by_name["unique"]), (False, True))
        for tree in (notes, people, by_city, by_name):
            self.assertTrue(30 < tree["leaf_fill_percent"] <= 100, tree)
        self.assertIn("\npeople.by_city ", self.looked().stdout)

    def test_as_check_counts(self):
        """Large values are among the values of trees that belong to no table."""
        self.make("close", MAKE_DATABASE)
        trees = {line["name"]: line for line in self.agree() if line["kind"] == "tree"}
        for line in run("check", self.folder, "--json").stdout.splitlines():
            checked = json.loads(line)
            if checked["kind"] == "tree":
                tree = trees.pop(checked["name"].removeprefix('tree "').removesuffix('"'))
                self.assertEqual((tree["height"], tree["inner_pages"] + tree["leaf_pages"],
                                  tree["records"], tree["large_values"], tree["large_value_bytes"]),
                                 tuple(checked[member] for member in (
                                     "levels", "nodes", "records", "large_values",
                                     "large_value_bytes")))
        self.assertEqual(trees, {})

    def test_an_empty_table(self):
        self.load("t", "id int32 primary key, name varchar, index by_name (name)", "")
        table, index = self.agree()[2:4]
        for tree in (table, index):
            self.assertEqual((tree["records"], tree["height"], tree["pages"], tree["leaf_fill_percent"]),
                             (0, 1, 1, 0))

    def test_names_that_need_quotes(self):
        for table in ("b.c", "a", "(catalog)"):
            self.load(table, 'id int32 primary key, n int32, index "b c" (n)', "1,2\n")
        text = self.looked().stdout
        names = [name for name in ('"(catalog)" ', '"(catalog)"."b c" ', "a ", 'a."b c" ', '"b.c" ',
                                   '"b.c"."b c" ', "(catalog) ") if f"\n{name}" in text]
        self.assertEqual(len(names), 7)
        self.assertEqual(sorted(names, key=lambda name: text.index("\n" + name)), names)
        self.agree()

    def test_a_tree_that_waits_to_be_emptied(self):
        self.make("make")
        self.make("drop")
        lines = self.agree()
        waiting = [line for line in self.of_kind(lines, "tree")
                   if line["name"] not in ("catalog", "tables")]
        self.assertEqual([tree["records"] for tree in waiting], [3000])
        self.assertEqual([index["name"] for index in self.of_kind(lines, "index")], ["by_name"])

    def test_rows_of_a_bulk_that_came_to_nothing_are_not_counted(self):
        self.make("make")
        self.make("abort")
        lines = self.agree()
        people, by_city, by_name = lines[3:6]
        self.assertEqual([tree["records"] for tree in (people, by_city, by_name)], [3000] * 3)
        checked = run("check", self.folder, "--json")
        self.assertEqual(checked.returncode, 0, checked.stdout)
        trees = [json.loads(line) for line in checked.stdout.splitlines()]
        self.assertIn(3500, [tree["records"] for tree in trees if tree["kind"] == "tree"])

    def leaf_of(self, tree):
        """A leaf in use, by its tree's id (buffer/page_header.h)."""
        with open(self.pages, "rb") as file:
            image = file.read()
        for page in range(len(image) // PAGE - 1, 0, -1):
            header = image[page * PAGE:page * PAGE + 48]
            if (header[46] == 1 and int.from_bytes(header[40:44], "little") == tree
                    and int.from_bytes(header[8:16], "little") == page):
                return page
        return self.fail("no such page")

    def test_damaged_trees_are_marked(self):
        rows, definitions = 2, 3  # as make_tables makes them
        self.make("make")
        before = self.agree()
        page = self.leaf_of(rows)
        self.flip(page * PAGE + 2000)
        lines = self.agree(code=1)
        self.assertEqual([line["name"] for line in lines if line.get("sound") is False and "name" in line],
                         ["people"])
        self.assertLess(lines[3]["records"], 3000)
        self.assertEqual(self.of_kind(lines, "total")[0]["sound"], False)
        self.assertEqual([lines[2], *lines[4:8]], [before[2], *before[4:8]])
        done = self.looked(code=1)
        self.assertRegex(done.stderr, rf"^palimpsest stat: corruption: tree \"tree-1\": page {page}: ")
        self.assertRegex(done.stdout, r"\npeople .*  damaged: only a part of it could be read\n")
        self.assertRegex(done.stdout, r"\ntotal .*  damaged: only a part of it could be read\n$")
        self.flip(page * PAGE + 2000)
        self.flip(self.leaf_of(definitions) * PAGE + 2000)
        lines = self.agree(code=1)
        self.assertEqual({line["kind"] for line in lines}, {"file", "log", "tree", "total"})

    def test_a_damaged_definition(self):
        self.make("make")
        self.make("record")
        lines = self.agree(code=1)
        self.assertEqual([line["name"] for line in self.of_kind(lines, "table")], ["notes"])
        self.assertEqual(len(self.of_kind(lines, "tree")), 5)
        self.assertIn('table "people": ', self.looked(code=1).stderr)

    def test_pages_that_nothing_reaches(self):
        self.make("close", MAKE_DATABASE)
        self.make("leak", MAKE_DATABASE)
        file = self.of_kind(self.agree(code=1), "file")[0]
        self.assertEqual(file["unreached_pages"], 1)
        self.assertIn("1 pages are in use, but no tree reaches them", self.looked(code=1).stderr)


if __name__ == "__main__":
    main()
