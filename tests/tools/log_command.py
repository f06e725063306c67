"""Checks `palimpsest log` as people and programs meet it: text, JSON, exit codes, messages."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from tool_command import contents, run

MAKE_LOG = sys.argv[2]


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0x20]))


class LogCommand(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def make(self, folder=None):
        subprocess.run([MAKE_LOG, folder or self.folder], check=True, timeout=60)

    def listed(self, *options, code=0):
        done = run("log", self.folder, *options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def json(self, *options, code=0):
        lines = [json.loads(line)
                 for line in self.listed("--json", *options, code=code).stdout.splitlines()]
        return {kind: [line for line in lines if line["kind"] == kind]
                for kind in ("control", "segments", "stream", "record", "error")}

    def first_segment(self):
        return os.path.join(self.folder, self.json()["segments"][0]["in_use"][0]["file"])

    def test_text(self):
        self.make()
        before = contents(self.folder)
        done = self.listed()
        self.assertEqual(done.stderr, "")
        self.assertIn("control: database abcd0000", done.stdout)
        self.assertIn("in use or crashed, incarnation 1 from batch 1 on", done.stdout)
        self.assertIn("replay starts at 69632 in the stream, with batch 1\n", done.stdout)
        self.assertIn("4 segments, 3 of them spare; 262144 bytes\n", done.stdout)
        self.assertRegex(done.stdout, r"whole: 3 batches of \d+ bytes up to segment 1 offset \d+; "
                                      r"next is batch 4; incarnation 1, durable GSN \d+\n$")
        self.assertEqual(contents(self.folder), before, "looking changes nothing")

    def test_records(self):
        self.make()
        lines = self.listed("--records").stdout.splitlines()
        records = lines[[i for i, line in enumerate(lines) if line.startswith("whole")][0] + 1:]
        self.assertEqual(len(records), 7)
        for record, part in zip(records, ["apple", "pear", "commit", "plum",
                                          "compensation space of 1/0/", "rolled_back 1/0/",
                                          "quince"]):
            self.assertIn(part, record)
        self.assertRegex(records[0], r"^1/0/0 GSN \d+: change tree back 0: insert tree 7 .*apple")
        self.assertIn("5 bytes", records[4])
        self.assertRegex(records[6], r"^1/1/0 GSN ")

    def test_json(self):
        self.make()
        found = self.json("--records")
        self.assertEqual(found["error"], [])
        control, segments, stream = (found[kind][0] for kind in ("control", "segments", "stream"))
        self.assertEqual(control["uuid"], "abcd" + "0" * 28)
        self.assertEqual(control["start"], {"position": 65536 + 4096, "sequence": 1,
                                            "incarnation": 0})
        self.assertIs(control["clean"], False)
        self.assertEqual([segment["number"] for segment in segments["in_use"]], [1])
        self.assertEqual(segments["spare"], 3)
        self.assertEqual((stream["batches"], stream["next_sequence"]), (3, 4))
        records = found["record"]
        self.assertEqual([record["slot"] for record in records], [0, 0, 0, 0, 0, 0, 1])
        self.assertTrue(all(record["counts"] for record in records))
        self.assertTrue(all(record["gsn"] <= stream["durable_gsn"] for record in records))
        self.assertEqual(records[2]["text"], "commit")
        self.assertEqual(self.json()["record"], [])

    def test_the_log_may_lie_in_a_folder_of_its_own(self):
        os.mkdir(os.path.join(self.folder, "log"), mode=0o700)
        self.make(os.path.join(self.folder, "log"))
        self.assertEqual(self.json()["stream"][0]["batches"], 3)

    def test_page_size(self):
        self.make()
        with_page_file = self.json("--records")["record"][-1]["text"]
        self.assertIn('"quince": 1500 bytes', with_page_file)
        self.assertIn("no record of a tree",
                      self.json("--records", "--page-bytes=4096")["record"][-1]["text"])
        flip(os.path.join(self.folder, "pages"), 20)
        self.assertIn('"quince": 1500 bytes', self.json("--records")["record"][-1]["text"])
        for offset in (4116, 8212):
            flip(os.path.join(self.folder, "pages"), offset)
        done = self.listed("--records")
        self.assertIn("assuming pages of 4096 bytes: ", done.stderr)
        self.assertIn("no record of a tree", done.stdout)

    def test_torn_tail_is_no_damage(self):
        self.make()
        stream = self.json()["stream"][0]
        flip(self.first_segment(), stream["end"] % 65536 - stream["bytes"] // 3 + 70)
        self.assertIn(" batches of ", self.listed().stdout)
        self.assertEqual(self.json()["stream"][0]["batches"], 2)

    def test_damaged_middle(self):
        self.make()
        flip(self.first_segment(), 4096 + 70)
        done = self.listed("--records", code=1)
        self.assertRegex(done.stderr, '^palimpsest: log segment ".*/log-[0-9]{4}": batch 1 at offset 4096 '
                                      "is damaged or missing")
        self.assertIn("control: ", done.stdout)
        self.assertNotIn("whole", done.stdout)
        found = self.json(code=1)
        self.assertEqual(found["error"][0]["code"], "corruption")
        self.assertIn("batch 1 at offset 4096", found["error"][0]["message"])
        self.assertEqual((found["stream"], len(found["control"])), ([], 1))

    def test_damaged_control_file(self):
        self.make()
        for offset in (100, 4196, 8292):
            flip(os.path.join(self.folder, "log-control"), offset)
        self.assertIn("neither copy is whole", self.listed(code=1).stderr)

    def test_missing_segment(self):
        self.make()
        os.remove(self.first_segment())
        self.assertIn("is missing", self.listed(code=1).stderr)

    def test_no_log(self):
        done = self.listed(code=1)
        self.assertIn("does not hold a log", done.stderr)
        self.assertEqual((done.stdout, os.listdir(self.folder)), ("", []))
        self.assertEqual(self.json(code=1)["error"][0]["code"], "not_found")
        with open(os.path.join(self.folder, "pages"), "wb") as file:
            file.write(bytes(8192))
        done = self.listed("--records", code=1)
        self.assertIn("no log beside the pages; --log-directory says where it is", done.stderr)
        done = run("log", os.path.join(self.folder, "nowhere"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not exist", done.stderr)
        self.assertEqual(run("log", os.path.join(self.folder, "pages")).returncode, 1)

    def test_usage(self):
        for arguments in ([], ["log"], ["lock"], ["log", "a", "b"], ["log", "--colour", "a"],
                          ["log", "--page-bytes", "1000", self.folder]):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertNotEqual(done.stderr, "")
        done = run("log", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--records", done.stdout)

    def test_output_that_cannot_be_written(self):
        self.make()
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([sys.argv[1], "log", self.folder], stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("palimpsest: ", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
