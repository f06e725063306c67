"""What the checks of the `palimpsest` tool have in common. The tool is the first argument."""
import os
import subprocess
import sys


def run(*arguments):
    return subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, timeout=60,
                          check=False)


def contents(folder):
    """The bytes of its files, by name."""
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found
