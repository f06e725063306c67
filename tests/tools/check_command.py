"""Checks `palimpsest check` as people and programs meet it: damage found, refusals, exit codes."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from tool_command import contents, run

MAKE_DATABASE = sys.argv[2]
PAGE = 4096
LEAF, INNER, SPACE_MAP, EXTENT_BLOCK = 1, 2, 3, 4


class CheckCommand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.original = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.original)
        cls.make(cls.original, "close")

    @staticmethod
    def make(folder, end):
        subprocess.run([MAKE_DATABASE, folder, end], check=True, timeout=60)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(self.original, self.folder, dirs_exist_ok=True)
        self.pages = os.path.join(self.folder, "pages")

    def checked(self, *options, code=0):
        before = contents(self.folder)
        done = run("check", self.folder, *options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertTrue(contents(self.folder) == before, "looking changes nothing")
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
        self.assertRegex(found[0], "^pages .*: in use, and nothing reaches them")
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
        self.assertIn("holds no log", self.findings()[0]["message"])

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
        self.assertRegex(done.stderr, "^palimpsest: it cannot be checked: .*" + message)
        self.assertNotIn("sound", done.stdout)
        self.assertEqual(self.kind(self.json(code=3), "result"), [])
        return self.kind(self.json(code=3), "error")[0]["code"]

    def test_not_closed(self):
        self.make(self.folder, "crash")
        self.assertEqual(self.refused("not closed cleanly"), "not_closed_cleanly")

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
        self.assertEqual(self.refused("pages"), "not_found")
        self.assertEqual(run("check", os.path.join(self.folder, "nowhere")).returncode, 3)

    def test_usage(self):
        for arguments in (["check"], ["check", "a", "b"], ["check", "--colour", "a"],
                          ["check", "--memory-mib", "0", self.folder]):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertNotEqual(done.stderr, "")
        done = run("check", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"(?s)0 sound; 1 damaged; 2 usage; 3 cannot be checked")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
