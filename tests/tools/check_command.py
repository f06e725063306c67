"""Checks `palimpsest check` as people and programs meet it: damage found, refusals, exit codes."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from tool_command import contents, run

MAKE_DATABASE, MAKE_TABLES = sys.argv[2:4]
PAGE = 4096
LEAF, INNER, SPACE_MAP, EXTENT_BLOCK = 1, 2, 3, 4


class Checked(unittest.TestCase):
    """A database that is made once, and a copy of it for each test."""
    MAKER, HOW = None, None

    @classmethod
    def setUpClass(cls):
        cls.original = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.original)
        cls.make(cls.original, cls.HOW)

    @classmethod
    def make(cls, folder, how):
        subprocess.run([cls.MAKER, folder, how], check=True, timeout=60)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(self.original, self.folder, dirs_exist_ok=True)
        self.pages = os.path.join(self.folder, "pages")

    def checked(self, *options, code=0, says=""):
        before = contents(self.folder)
        done = run("check", self.folder, *options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertTrue(contents(self.folder) == before, "looking changes nothing")
        if code == 0:
            self.assertRegex(done.stderr, f"^{says}$")
        return done

    def json(self, code=0):
        lines = [json.loads(line) for line in self.checked("--json", code=code).stdout.splitlines()]
        if code != 3:
            self.assertEqual(lines[-1]["kind"], "result")
            self.assertEqual(lines[-1]["sound"], code == 0)
        return lines

    def findings(self):
        lines = self.json(code=1)
        found = [line for line in lines if line["kind"] == "finding"]
        self.assertGreaterEqual(lines[-1]["findings"], len(found))
        self.assertNotEqual(found, [])
        return found

    def kind(self, lines, kind):
        return [line for line in lines if line["kind"] == kind]

    def flip(self, offset, path=None):
        with open(path or self.pages, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 0x20]))


class CheckCommand(Checked):
    MAKER, HOW = MAKE_DATABASE, "close"

    def first_page(self):
        lines = self.json()
        scan = self.kind(lines, "pages")[0]
        return self.kind(lines, "file")[0]["pages"] - scan["in_use"] - scan["free"]

    def page_of(self, page_type):
        """The last page in use of a type (buffer/page_header.h, buffer/space_map_page.h)."""
        first = self.first_page()
        with open(self.pages, "rb") as file:
            image = file.read()
        for page in range(len(image) // PAGE - 1, first - 1, -1):
            bit = page - first
            in_use = image[first * PAGE + 64 + bit // 8] >> bit % 8 & 1
            if in_use and image[page * PAGE + 46] == page_type:
                return page
        return self.fail("no such page")

    def test_sound(self):
        done = self.checked()
        self.assertEqual(done.stderr, "")
        self.assertRegex(done.stdout, r"^page file: \d+ pages of 4096 bytes")
        self.assertRegex(done.stdout, r'\ntree "first": 1999 records in \d+ nodes on 2 levels; '
                                      r'8 large values of 240000 bytes\n')
        self.assertTrue(done.stdout.endswith("sound\n"))
        lines = self.json()
        self.assertEqual([tree["name"] for tree in self.kind(lines, "tree")],
                         ["catalog", 'tree "first"', 'tree "second"'])
        self.assertEqual([(tree["name"], tree["state"], tree["records"])
                          for tree in self.kind(lines, "unused_tree")],
                         [("first", "other", 1999), ("second", "other", 1999)])
        self.assertEqual(self.kind(lines, "pages")[0]["damaged"], 0)

    def test_little_memory(self):
        self.checked("--memory-mib", "1")

    def test_a_damaged_page_of_each_type(self):
        for page_type, where in ((LEAF, 'tree "second"'), (INNER, 'tree "second"'),
                                 (EXTENT_BLOCK, 'tree "second"')):
            with self.subTest(page_type=page_type):
                page = self.page_of(page_type)
                self.flip(page * PAGE + 2000)
                found = self.findings()
                by_scan = [line for line in found if line["where"] == "pages"]
                self.assertEqual(len(by_scan), 1)
                self.assertIn(f"page {page} is damaged (", by_scan[0]["message"])
                self.assertIn(where, [line["where"] for line in found])
                self.assertEqual(len(self.kind(self.json(code=1), "left_out")), 1)
                done = self.checked(code=1)
                self.assertRegex(done.stdout, r"\npages: \d+ in use, 1 of them damaged")
                self.assertRegex(done.stdout, r"\ndamaged: \d+ findings\n$")
                self.flip(page * PAGE + 2000)
        self.checked()

    def test_a_damaged_free_page_is_none(self):
        first = self.first_page()
        last = self.kind(self.json(), "file")[0]["pages"] - 1
        self.assertGreater(last, first)
        self.flip(last * PAGE + 100)
        self.checked()

    def test_a_damaged_map_page(self):
        self.flip(self.first_page() * PAGE + 70)
        found = self.findings()
        self.assertEqual([line["where"] for line in found], ["space map"])
        self.assertIn("is damaged (", found[0]["message"])

    def test_a_wrong_space_map(self):
        self.make(self.folder, "leak")
        found = [line["message"] for line in self.findings() if line["where"] == "space map"]
        self.assertEqual(len(found), 1)
        self.assertRegex(found[0], "^pages .*: in use, but no tree reaches them")
        self.make(self.folder, "lose")
        found = [line["message"] for line in self.findings() if line["where"] == 'tree "first"']
        self.assertEqual(len(found), 1)
        self.assertRegex(found[0], r"page \d+: used by a node, but free in the space map")

    def test_a_truncated_file(self):
        os.truncate(self.pages, os.path.getsize(self.pages) // 2)
        found = self.findings()
        self.assertEqual([line["where"] for line in found], ["page file"])
        os.truncate(self.pages, 100)
        self.assertEqual([line["where"] for line in self.findings()], ["page file"])

    def test_one_header_of_three_may_be_damaged(self):
        with open(self.pages, "rb") as file:
            blocks = file.read(3 * 4096)
        sequences = [int.from_bytes(blocks[at + 56:at + 64], "little") for at in (0, 4096, 8192)]
        oldest = sequences.index(min(sequences))
        self.flip(4096 * oldest + 20)
        self.checked()
        for copy in range(3):
            if copy != oldest:
                self.flip(4096 * copy + 20)
        self.findings()

    def test_a_damaged_log(self):
        for offset in (100, 4196, 8292):
            self.flip(offset, os.path.join(self.folder, "log-control"))
        found = self.findings()
        self.assertEqual([line["where"] for line in found], ["log"])
        os.remove(os.path.join(self.folder, "log-control"))
        self.assertIn("does not hold a log", self.findings()[0]["message"])

    def test_the_log_of_another_database(self):
        other = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, other)
        self.make(other, "close")
        for name in os.listdir(other):
            if name.startswith("log-"):
                shutil.copy(os.path.join(other, name), self.folder)
        self.assertIn("another database", self.findings()[0]["message"])

    def refused(self, message):
        done = self.checked(code=3)
        self.assertRegex(done.stderr, "^palimpsest: the database cannot be checked: .*" + message)
        self.assertNotIn("sound", done.stdout)
        self.assertEqual(self.kind(self.json(code=3), "result"), [])
        return self.kind(self.json(code=3), "error")[0]["code"]

    def test_not_closed(self):
        self.make(self.folder, "crash")
        recovered = "palimpsest check: .* was not closed cleanly: .*recover it\n"
        done = self.checked(says=recovered)
        self.assertIn("sound", done.stdout)
        self.assertIn("1999 records", done.stdout)
        again = self.checked("--json", says=recovered)
        self.assertTrue(json.loads(again.stdout.splitlines()[-1])["sound"])

    def test_not_closed_and_damaged(self):
        self.make(self.folder, "crash")
        control = os.path.join(self.folder, "log-control")
        for offset in range(100, os.path.getsize(control), 4096):
            self.flip(offset, control)
        self.assertEqual([found["where"] for found in self.findings()], ["log"])

    def test_in_use(self):
        with subprocess.Popen([MAKE_DATABASE, self.folder, "hold"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as holder:
            self.assertEqual(holder.stdout.readline(), "held\n")
            done = run("check", self.folder)
            holder.communicate("\n", timeout=60)
        self.assertEqual(done.returncode, 3)
        self.assertIn("is in use", done.stderr)
        self.checked()

    def test_no_database(self):
        for name in os.listdir(self.folder):
            os.remove(os.path.join(self.folder, name))
        self.assertEqual(self.refused(f'"{self.folder}" does not hold a database'), "not_found")
        self.assertEqual(run("check", os.path.join(self.folder, "nowhere")).returncode, 3)
        with open(self.pages, "wb") as file:
            file.write(b"what somebody else calls pages\n" * 1000)
        self.assertEqual(self.refused(f'"{self.folder}" does not hold a database: .*PLMPSEST'),
                         "not_a_database")

    def test_a_file(self):
        done = run("check", self.pages)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (3, "", "palimpsest: the database cannot be checked: not_a_database: "
                                 f'"{self.pages}" is not a directory\n'))
        done = run("check", self.folder, "--log-directory", self.pages)
        self.assertEqual((done.returncode, done.stderr),
                         (3, "palimpsest: the database cannot be checked: not_a_database: "
                             f'"{self.pages}" is not a directory\n'))

    def test_foreign_pages_beside_a_log(self):
        with open(self.pages, "r+b") as file:
            file.write(b"x" * 3 * 4096)
        self.assertEqual([line["where"] for line in self.findings()], ["page file"])

    def test_usage(self):
        for arguments in (["check"], ["check", "a", "b"], ["check", "--colour", "a"],
                          ["check", "--memory-mib", "0", self.folder]):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertNotEqual(done.stderr, "")
        done = run("check", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"(?s)0 sound; 1 damaged; 2 usage; 3 cannot be checked")


class CheckTables(Checked):
    MAKER, HOW = MAKE_TABLES, "make"
    PEOPLE = 'table "people"'
    BY_NAME = 'table "people", index "by_name"'

    def found(self):
        return [(line["where"], line["message"]) for line in self.findings()]

    def tables(self, lines):
        return ([(line["name"], line["rows"], line["damaged_rows"])
                 for line in self.kind(lines, "table")],
                [(line["table"], line["name"], line["unique"], line["entries"])
                 for line in self.kind(lines, "index")])

    def test_sound(self):
        done = self.checked()
        self.assertIn('\ntable "notes": 3000 rows, 0 of them damaged\n'
                      'table "people": 3000 rows, 0 of them damaged\n'
                      'table "people", index "by_city": 3000 entries\n'
                      'table "people", unique index "by_name": 3000 entries\n', done.stdout)
        self.assertTrue(done.stdout.endswith("sound\n"))
        self.checked("--memory-mib", "1")
        lines = self.json()
        self.assertEqual(self.tables(lines), ([("notes", 3000, 0), ("people", 3000, 0)],
                                              [("people", "by_city", False, 3000),
                                               ("people", "by_name", True, 3000)]))
        self.assertEqual(self.kind(lines, "unused_tree"), [])

    def test_a_tree_that_waits_to_be_emptied(self):
        self.make(self.folder, "drop")
        lines = self.json()
        self.assertEqual(self.tables(lines)[1], [("people", "by_name", True, 3000)])
        unused = self.kind(lines, "unused_tree")
        self.assertEqual([(tree["state"], tree["records"]) for tree in unused], [("waiting", 3000)])
        self.assertIn(f'tree "{unused[0]["name"]}": of no table: its 3000 records will be removed',
                      self.checked().stdout)

    def test_entries(self):
        for damage, findings in (
                ("missing", [(self.BY_NAME, 'the entry ("name 7") of the row (7) is missing')]),
                ("stray", [(self.BY_NAME,
                            'the entry ("name 9000") leads to the row (9000), which does '
                            'not exist')]),
                ("moved", [(self.BY_NAME, 'the entry ("name 8") of the row (8) is missing'),
                           (self.BY_NAME,
                            'the entry ("name 8") leads to the row (9), which has other '
                            'values')]),
                ("twins", [(self.BY_NAME, 'the rows (42) and (5000) both have ("name 42")')])):
            with self.subTest(damage=damage):
                self.setUp()
                self.make(self.folder, damage)
                self.assertEqual(self.found(), findings)
                done = self.checked(code=1)
                self.assertIn(f"\n{findings[0][0]}: DAMAGED: {findings[0][1]}\n", done.stdout)
                self.assertTrue(done.stdout.endswith(f"damaged: {len(findings)} findings\n"))

    def test_a_row_that_does_not_decode(self):
        self.make(self.folder, "row")
        self.assertEqual(self.found(), [(self.PEOPLE, "the row (11) is damaged: a row of 2 bytes is too "
                                                      "short: the shortest has 3")])
        tables, indexes = self.tables(self.json(code=1))
        self.assertIn(("people", 3000, 1), tables)
        self.assertIn(("people", "by_name", True, 3000), indexes)

    def test_definitions(self):
        for damage, message, other_tables in (
                ("record", 'the record of table "people": ', ["notes"]),
                ("tree", "also belongs to another table or index", ["notes"])):
            with self.subTest(damage=damage):
                self.setUp()
                self.make(self.folder, damage)
                found = self.found()
                self.assertEqual([where for where, _ in found], [self.PEOPLE])
                self.assertIn(message, found[0][1])
                lines = self.json(code=1)
                self.assertEqual([table[0] for table in self.tables(lines)[0]], other_tables)
                self.assertEqual(self.kind(lines, "unused_tree"), [])
                self.assertEqual([line["what"] for line in self.kind(lines, "left_out")],
                                 ["trees of no table"])

    def leaf_of(self, tree):
        """A leaf in use, by its tree's id (buffer/page_header.h); the checksum says that it is."""
        with open(self.pages, "rb") as file:
            image = file.read()
        for page in range(len(image) // PAGE - 1, 0, -1):
            header = image[page * PAGE:page * PAGE + 48]
            if (header[46] == LEAF and int.from_bytes(header[40:44], "little") == tree
                    and int.from_bytes(header[8:16], "little") == page):
                return page
        return self.fail("no such page")

    def test_what_lies_in_damaged_trees_is_left_out(self):
        rows, definitions, by_name = 2, 3, 6  # as make_tables makes them
        for tree, left_out, tables in ((by_name, self.BY_NAME, ["notes", "people"]),
                                       (rows, self.PEOPLE, ["notes"]),
                                       (definitions, "tables", [])):
            with self.subTest(tree=tree):
                page = self.leaf_of(tree)
                self.flip(page * PAGE + 2000)
                lines = self.json(code=1)
                self.assertEqual([line["what"] for line in self.kind(lines, "left_out")],
                                 ["space map", left_out])
                self.assertEqual([table[0] for table in self.tables(lines)[0]], tables)
                self.flip(page * PAGE + 2000)
        self.checked()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
