"""Man pages and completion know the options that the command has, and no others.
usage: help_pages.py PALIMPSEST TOOLS_FOLDER"""
import os
import re
import shutil
import subprocess
import sys
import unittest

TOOL, TOOLS = sys.argv[1:3]
COMPLETION = os.path.join(TOOLS, "completion", "palimpsest.bash")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def options_of(command):
    text = subprocess.run([TOOL, command, "--help"], capture_output=True, text=True, timeout=60,
                          check=True).stdout
    return set(OPTION.findall("\n".join(re.findall(r"^  (-\S*)", text, re.M))))


def completed(*words):
    """What bash offers for the last of the words."""
    script = f'. {COMPLETION}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _palimpsest; ' \
             'printf "%s\\n" "${COMPREPLY[@]}"'
    return subprocess.run(["bash", "-c", script, "bash", "palimpsest", *words], timeout=60,
                          capture_output=True, text=True, check=True).stdout.split()


class HelpPages(unittest.TestCase):
    def test_man_pages(self):
        for command in ("load", "dump", "backup", "salvage", "stat", "tables"):
            with open(os.path.join(TOOLS, "man", f"palimpsest-{command}.1"), encoding="utf-8") as file:
                text = file.read().replace("\\-", "-")
            named = re.findall(r"^\.TP\n\.[A-Z]+ (.*)", text, re.M)
            self.assertEqual(set(OPTION.findall("\n".join(named))), options_of(command))

    def test_man_pages_are_well_formed(self):
        if shutil.which("groff") is None:
            self.skipTest("there is no groff")
        for name in os.listdir(os.path.join(TOOLS, "man")):
            done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8",
                                   os.path.join(TOOLS, "man", name)],
                                  capture_output=True, text=True, timeout=60, check=True)
            self.assertEqual(done.stderr, "", name)

    def test_completion(self):
        for command in ("backup", "check", "dump", "load", "log", "salvage", "stat", "tables"):
            offered = {word.split("=")[0] for word in completed(command, "--")}
            self.assertEqual(offered, options_of(command), command)
        self.assertEqual(completed("l"), ["load", "log"])
        self.assertEqual(completed("t"), ["tables"])
        self.assertEqual(completed("--v"), ["--version"])
        self.assertEqual(completed("load", "db", "t", "--format", "t"), ["tsv", "tbl"])
        self.assertEqual(completed("dump", "db", "t", "--compress", "z"), ["zstd"])
        self.assertEqual(completed("load", "--on-duplicate", "s"), ["skip"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
