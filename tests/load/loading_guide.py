"""Runs the commands of docs/loading.md on the data that Debian's packages bring; skips those that this
machine lacks. usage: loading_guide.py PALIMPSEST DOCUMENT"""
import os
import re
import shutil
import subprocess
import sys

from command import Command, TOOL, main

DOCUMENT = sys.argv[2]
WORDS = "/usr/share/dict/american-english"
CHARACTERS = "/usr/share/unicode/UnicodeData.txt"
ZONES = "/usr/share/zoneinfo/zone1970.tab"
PACKAGES = "/var/lib/dpkg/status"


def blocks():
    """The document's sh blocks."""
    with open(DOCUMENT, encoding="utf-8") as file:
        return re.findall(r"^```sh\n(.*?)^```", file.read(), re.M | re.S)


def records(path):
    with open(path, "rb") as file:
        return [line for line in file.read().splitlines() if not line.startswith(b"#")]


class LoadingGuide(Command):
    def run_guide(self, table, source):
        if not os.path.exists(source):
            self.skipTest(f"there is no {source}")
        outputs = []
        chosen = [block for block in blocks() if f" load lexicon {table} " in block]
        self.assertNotEqual(chosen, [])
        path = os.pathsep.join([os.path.dirname(os.path.abspath(TOOL)), os.environ["PATH"]])
        for block in chosen:
            done = subprocess.run(["sh", "-e", "-c", block], cwd=self.folder, capture_output=True,
                                  timeout=120, check=False, env={**os.environ, "PATH": path})
            self.assertEqual(done.returncode, 0, (block, done.stderr))
            outputs.append(done.stdout.decode())
        self.database = self.path("lexicon")
        self.run_tool("check", self.database)
        return outputs

    def test_people(self):
        outputs = self.run_guide("people", "/")
        with open(DOCUMENT, encoding="utf-8") as file:
            said = re.search(r"^```text\n(schema: id.*?)^```", file.read(), re.M | re.S).group(1)
        self.assertTrue(outputs[0].startswith(said), outputs[0])
        self.assertEqual(self.content("again.csv"), self.content("people.csv"))

    def test_words(self):
        self.run_guide("words", WORDS)
        self.assertEqual(self.content("words.tsv").splitlines(), sorted(records(WORDS)))

    def test_characters(self):
        outputs = self.run_guide("characters", CHARACTERS)
        count = len(records(CHARACTERS))
        self.assertTrue(outputs[0].startswith("schema: c1 varchar primary key, c2 varchar, "))
        self.assertIn(f"{count} rows into table \"characters\" (new)", outputs[1])
        self.assertEqual(len(self.content("characters.jsonl").splitlines()), count)
        self.assertIn(b'{"code":"0041","name":"LATIN CAPITAL LETTER A","lower":"0061"}',
                      self.content("characters.jsonl"))
        again = self.dump("characters", "--header=off", "--delimiter", ";", "--quote", "none")
        expected = sorted(records(CHARACTERS), key=lambda line: line.split(b";")[0])
        mirrored = [b"true" if line.split(b";")[9] == b"Y" else b"false" for line in expected]
        expected = [b";".join(line.split(b";")[:9] + [is_mirrored] + line.split(b";")[10:])
                    for line, is_mirrored in zip(expected, mirrored)]
        self.assertEqual(again.splitlines(), expected)

    def test_zones(self):
        self.run_guide("zones", ZONES)
        self.assertEqual(len(self.dump("zones", "--header=off").splitlines()), len(records(ZONES)))
        rest = [line for line in records(ZONES) if line.count(b"\t") == 2]
        self.assertEqual(records(self.path("rest.tab")), rest)
        self.assertEqual(len(self.content("rest.log").splitlines()), len(rest))

    def test_packages(self):
        if shutil.which("dpkg-query") is None:
            self.skipTest("there is no dpkg-query")
        outputs = self.run_guide("packages", PACKAGES)
        fields = "${Package}\\t${Architecture}\\t${Version}\\t${Installed-Size}\\t${Section}\\n"
        expected = subprocess.run(["dpkg-query", "-W", "-f", fields], capture_output=True, timeout=60,
                                  check=True).stdout.splitlines()
        self.assertIn(f'{len(expected)} rows into table "packages" (new)', outputs[0])
        expected = sorted(expected, key=lambda line: line.split(b"\t")[:2])
        self.assertEqual(self.dump("packages", "--format", "tsv", "--null", "", "--header=off")
                         .splitlines(), expected)
        self.assertEqual(len(self.content("packages.csv").splitlines()), len(expected) + 1)


if __name__ == "__main__":
    main()
