"""Checks that what documents name exists: functions `name()`, sources `file.h`, targets `make name`, flags `--name`
and types and functions written `Class::member`."""
import os
import re

import tree

CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FUNCTION = re.compile(r"^(?:[A-Za-z_]\w*(?:::|\.|->))*(~?[a-z_]\w*)\(")
MEMBER = re.compile(r"^(?:[A-Za-z_]\w*::)+([A-Za-z_]\w*)$")
SOURCE = re.compile(r"^[\w./{},-]*\.(?:h|cc|py|sh)$")
TARGET = re.compile(r"^make ([a-z][a-z-]*)")
FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9_-]+)")
# Other programs' functions, flags and files.
KNOWN = "doc_names_known.txt"
SKIPPED = ("docs/decisions/", "docs/benchmarks/results/")  # they say what was, with the names of that day


def documents(root):
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name not in (".git", "build", ".cache")]
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith(".md") and not path.startswith(SKIPPED):
                yield path


def every_word(root):
    """All words of all files that are not documents: what is named must be one of them."""
    words, names = set(), set()
    for folder, below, files in os.walk(root):
        below[:] = [name for name in below if name not in (".git", "build", ".cache", "mutations")]
        for name in files:
            names.add(name)
            if not name.endswith((".md", ".svg", ".png")):
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    words.update(re.findall(r"[A-Za-z_][\w-]*", file.read()))
    return words, names


def expanded(path):
    match = re.fullmatch(r"(.*)\{([^}]*)\}(.*)", path)
    return [match.group(1) + part + match.group(3) for part in match.group(2).split(",")] if match else [path]


def missing_in(code, words, names, targets):
    """What a piece of code in a document names that is nowhere."""
    if SOURCE.match(code):
        return [part for part in expanded(code) if os.path.basename(part) not in names]
    if match := TARGET.match(code):
        return [] if match.group(1) in targets else [match.group(1)]
    found = [match.group(1) for pattern in (FUNCTION, MEMBER) if (match := pattern.match(code))]
    found += [flag for flag in FLAG.findall(code)]
    return [name for name in found
            if name.lstrip("~") not in words and name.replace("-", "_") not in words]


def main():
    root = tree.arguments(__doc__).parse_args().root
    known = set(tree.read(root, f"tests/structure/{KNOWN}").split())
    words, names = every_word(root)
    targets = set(re.findall(r"^([a-z][a-z-]*):", tree.read(root, "Makefile"), re.M))
    problems, paths = [], sorted(documents(root))
    for path in paths:
        text = re.sub(r"^```.*?^```", lambda block: "\n" * block.group(0).count("\n"), tree.read(root, path),
                      flags=re.M | re.S)
        for number, line in enumerate(text.split("\n"), 1):
            problems += [f"{path}:{number}: `{code}`: there is no {name}"
                         for code in CODE.findall(line)
                         for name in missing_in(code, words, names, targets) if name not in known]
    tree.finish(problems, len(paths))


if __name__ == "__main__":
    main()
