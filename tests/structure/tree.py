"""What the structure checks share: the folders of the repository and the sources in them."""
import argparse
import os
import sys

# From the ground up: a folder may include itself and what stands before it (docs/architecture.md).
# A folder within another is a layer of its own.
LAYERS = ["include", "base", "base/io", "wal", "buffer", "versioning",
          "btree/node", "btree/large", "btree/log", "btree", "txn", "bulk/sort", "bulk",
          "engine/format", "engine/table", "engine/catalog", "engine/recovery", "engine/backup",
          "engine/space", "engine/salvage", "engine", "engine/api"]
# Above all layers; they use the public API, with the exceptions named in include_exceptions.txt.
USERS = ["tools", "experiments", "examples"]


def folder_of(path):
    """The layer, or the top folder, that a repository-relative path belongs to."""
    parts = path.split("/")
    inner = "/".join(parts[:2])
    return inner if len(parts) > 2 and inner in LAYERS else parts[0]


def is_within(layer, folder):
    """Whether a layer is the folder, or one of the folders in it."""
    return layer == folder or layer.startswith(folder + "/")


def sources(root, suffixes=(".h", ".cc"), tops=None):
    """Repository-relative paths of the sources under the layers, users and tests."""
    tops = tops or sorted({layer.split("/")[0] for layer in LAYERS} | set(USERS) | {"tests"})
    found = []
    for top in tops:
        for folder, _, names in os.walk(os.path.join(root, top)):
            found += [os.path.relpath(os.path.join(folder, name), root)
                      for name in names if name.endswith(suffixes)]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def exceptions(root, name):
    """Lines `path value` of an exceptions file beside the checks: {path: [value, ...]}."""
    named = {}
    for line in read(root, os.path.join("tests/structure", name)).split("\n"):
        words = line.split("#")[0].split()
        if words:
            named.setdefault(words[0], []).extend(words[1:])
    return named


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", required=True, help="the repository")
    return parser


def finish(problems, examined):
    """Prints the problems and ends the process: 0 if there is none, 1 otherwise."""
    for problem in problems:
        print(problem)
    if not examined:
        print("nothing was examined")
        sys.exit(1)
    print(f"{len(problems)} problems in {examined} files")
    sys.exit(1 if problems else 0)
